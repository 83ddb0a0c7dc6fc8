/** The checks behind /readyz. It needs no credential, so results are shared and their cost does not grow with requests. */
import type { Keyring } from "../access/keyring.ts";
import { type CheckResult, OK, type ReadyChecks } from "../http/operations.ts";
import type { Store } from "../store/store.ts";
import type { StorageState } from "./recordings.ts";
import type { Team } from "./team.ts";

/** How long results are shared. */
const CHECK_EVERY_MS = 500;
/** A trial write costs a disk write, so a success is valid for longer; after a failure, recovery should be noticed soon. */
const TRIAL_WRITE_EVERY_MS = { afterSuccess: 5000, afterFailure: 1000 };

export interface ReadinessParts {
  readonly store: Pick<Store, "revisions" | "tryWrite">;
  /** false: the shared store is reachable again, but its latest changes have not been read yet. */
  readonly isFollowing: () => boolean;
  readonly keyring: Pick<Keyring, "secretKeys">;
  readonly isDraining: () => boolean;
  /** Whether the storage of recordings accepts more. */
  readonly recordings: () => Promise<StorageState>;
  readonly isHistoryUp: () => boolean;
  /** The workers of this machine, if there are several. */
  readonly team?: Pick<Team, "state"> | undefined;
  readonly monotonicMs: () => number;
  /** Gets the reason why the store cannot be written to; the response does not show it. */
  readonly failed: (error: unknown) => void;
}

export function readyChecks(parts: ReadinessParts): ReadyChecks {
  const { store, keyring, monotonicMs } = parts;
  const trialWrite = shared(
    () => store.tryWrite().then(() => OK, cannotWrite(parts.failed)),
    ({ state }) => (state === "ok" ? TRIAL_WRITE_EVERY_MS.afterSuccess : TRIAL_WRITE_EVERY_MS.afterFailure),
    monotonicMs,
  );
  const storeChecks = shared(
    async () => {
      const isReachable = await store.revisions().then(
        () => true,
        () => false,
      );
      return {
        store: isReachable ? OK : failing("the store does not answer"),
        // An unreachable store is reported by the check above.
        writes: isReachable ? await trialWrite() : OK,
        keys: keysOf(keyring),
        recordings: RECORDINGS[await parts.recordings()],
        history: parts.isHistoryUp() ? OK : HISTORY_DOWN,
      };
    },
    () => CHECK_EVERY_MS,
    monotonicMs,
  );
  return async () => {
    const found = await storeChecks();
    const isBehind = found.store.state === "ok" && !parts.isFollowing();
    return {
      ...found,
      ...(isBehind && { store: failing("the store has just come back") }),
      ...(parts.team && { workers: workersOf(parts.team) }),
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

const HISTORY_DOWN = degraded("the store of histories does not answer: channels with history take no messages");

const cannotWrite =
  (report: (error: unknown) => void) =>
  (error: unknown): CheckResult => {
    report(error);
    return failing("the store cannot be written to; is the disk full?");
  };

/** Never failing: the workers that are left answer, and this response is one of theirs. */
function workersOf({ state: { ready, count } }: Pick<Team, "state">): CheckResult {
  return ready === count ? OK : degraded(`${ready} of ${count} workers are ready`);
}

/** Failing only if no secret key is usable: while some are, their clients must still reach this node. */
function keysOf({ secretKeys: { usable, sealed } }: Pick<Keyring, "secretKeys">): CheckResult {
  if (sealed === 0) return OK;
  const text = `the master key does not open ${sealed} of ${usable + sealed} secret keys: they answer 503`;
  return usable === 0 ? failing(text) : degraded(text);
}

/** Runs `check` at most once at a time, and shares its result for `validMs`. */
function shared<T>(check: () => Promise<T>, validMs: (result: T) => number, nowMs: () => number): () => Promise<T> {
  let running: Promise<T> | undefined;
  let last: { readonly result: T; readonly untilMs: number } | undefined;
  return async () => {
    if (last && nowMs() < last.untilMs) return last.result;
    running ??= check()
      .then((result) => {
        last = { result, untilMs: nowMs() + validMs(result) };
        return result;
      })
      .finally(() => {
        running = undefined;
      });
    return running;
  };
}
