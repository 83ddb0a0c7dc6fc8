/** What /readyz looks at. It is asked without a credential, so what it costs is bounded here and not by who asks. */
import type { Keyring } from "../access/keyring.ts";
import { type CheckResult, OK, type ReadyChecks } from "../http/operations.ts";
import type { Store } from "../store/store.ts";

/** Looks are shared by all who ask within that time. */
const LOOK_EVERY_MS = 500;
/** A trial is a write to the disk, so a good one counts for longer; a bad one is repeated soon, to see its end. */
const TRY_AGAIN_MS = { good: 5000, bad: 1000 };

export interface ReadinessParts {
  readonly store: Pick<Store, "revisions" | "tryWrite">;
  /** false: the shared store is back, but what has changed meanwhile is not known yet. */
  readonly isFollowing: () => boolean;
  readonly keyring: Pick<Keyring, "secretKeys">;
  readonly isDraining: () => boolean;
  /** Whether the storage of recordings takes more. */
  readonly recordings: () => Promise<"ok" | "full" | "missing">;
  readonly monotonicMs: () => number;
  /** The store cannot be written to, and why: the answer to strangers does not say. */
  readonly failed: (error: unknown) => void;
}

export function readyChecks(parts: ReadinessParts): ReadyChecks {
  const { store, keyring, monotonicMs } = parts;
  const written = shared(
    () => store.tryWrite().then(() => OK, cannotWrite(parts.failed)),
    ({ state }) => (state === "ok" ? TRY_AGAIN_MS.good : TRY_AGAIN_MS.bad),
    monotonicMs,
  );
  const looked = shared(
    async () => {
      const isThere = await store.revisions().then(
        () => true,
        () => false,
      );
      return {
        store: isThere ? OK : failing("the store does not answer"),
        // A store that is away is told of once.
        writes: isThere ? await written() : OK,
        keys: keysOf(keyring),
        recordings: RECORDINGS[await parts.recordings()],
      };
    },
    () => LOOK_EVERY_MS,
    monotonicMs,
  );
  return async () => {
    const found = await looked();
    const isBehind = found.store.state === "ok" && !parts.isFollowing();
    return {
      ...found,
      ...(isBehind && { store: failing("the store has just come back") }),
      shutdown: parts.isDraining() ? failing("this node is shutting down") : OK,
    };
  };
}

const failing = (text: string): CheckResult => ({ state: "failing", text });
const degraded = (text: string): CheckResult => ({ state: "degraded", text });

const RECORDINGS = {
  ok: OK,
  full: degraded("there is too little free disk: no recording is taken"),
  missing: degraded("the storage of recordings is missing, is its volume mounted? No recording is taken"),
};

const cannotWrite =
  (tell: (error: unknown) => void) =>
  (error: unknown): CheckResult => {
    tell(error);
    return failing("the store cannot be written to; is the disk full?");
  };

/** Where no secret key can be used, hardly anything works; where some can, others' clients must not suffer for it. */
function keysOf({ secretKeys: { usable, sealed } }: Pick<Keyring, "secretKeys">): CheckResult {
  if (sealed === 0) return OK;
  const text = `the master key does not open ${sealed} of ${usable + sealed} secret keys: they answer 503`;
  return usable === 0 ? failing(text) : degraded(text);
}

/** One at a time, and its result for all who ask soon after. */
function shared<T>(look: () => Promise<T>, goodForMs: (result: T) => number, nowMs: () => number): () => Promise<T> {
  let running: Promise<T> | undefined;
  let last: { readonly result: T; readonly untilMs: number } | undefined;
  return async () => {
    if (last && nowMs() < last.untilMs) return last.result;
    running ??= look()
      .then((result) => {
        last = { result, untilMs: nowMs() + goodForMs(result) };
        return result;
      })
      .finally(() => {
        running = undefined;
      });
    return running;
  };
}
