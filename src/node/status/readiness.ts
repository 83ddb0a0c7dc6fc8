/** The checks behind /readyz. It needs no credential, so no text here names an address, a path or a cause: those are in the log. */
import type { Keyring } from "../../access/keys/keyring.ts";
import type { BackupHealth } from "../../durable/schedule/due.ts";
import { type CheckResult, OK, type ReadyChecks } from "../../http/server/operations.ts";
import type { StorageState } from "../../recordings/storage/health.ts";
import { type Store, StoreReadOnly } from "../../store/contract/store.ts";
import { sharedCheck } from "../../telemetry/shared-check.ts";
import type { Team } from "../parts/team.ts";
import { degraded, failing, MENDING_BROKEN, type OwnChecks } from "./own-checks.ts";

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
  /** Whether the storage of recordings can be used. */
  readonly recordings: () => Promise<StorageState>;
  /** Whether a recording can be mended. */
  readonly canMend: () => Promise<boolean>;
  /** undefined: none are scheduled. */
  readonly backups: () => BackupHealth | undefined;
  readonly ownChecks: OwnChecks;
  /** The workers of this machine, if there are several. */
  readonly team?: Pick<Team, "state"> | undefined;
  readonly monotonicMs: () => number;
  /** Gets the reason why the store cannot be written to; the response does not show it. */
  readonly failed: (error: unknown) => void;
}

export function readyChecks(parts: ReadinessParts): ReadyChecks {
  const { team } = parts;
  const storeChecks = checksOfStore(parts);
  return async () => {
    const [{ store, writes }, recordings, canMend] = await Promise.all([
      storeChecks(),
      parts.recordings(),
      parts.canMend(),
    ]);
    const { mending, ...own } = parts.ownChecks();
    const backups = parts.backups();
    const isBehind = store.state === "ok" && !parts.isFollowing();
    const found = {
      store: isBehind ? failing("the store has just recovered") : store,
      writes,
      keys: keysOf(parts.keyring),
      recordings: RECORDINGS[recordings],
      mending: canMend ? mending : MENDING_BROKEN,
      ...(backups && { backups: BACKUPS[backups] }),
      ...own,
    };
    return {
      ...(team ? withReports(found, team) : found),
      ...(team && { workers: workersOf(team) }),
      shutdown: parts.isDraining() ? failing("this node is shutting down") : OK,
    };
  };
}

interface StoreChecks {
  readonly store: CheckResult;
  readonly writes: CheckResult;
}

function checksOfStore({ store, monotonicMs, failed }: ReadinessParts): () => Promise<StoreChecks> {
  const isOk = ({ state }: CheckResult): boolean => state === "ok";
  const trialWrite = sharedCheck<CheckResult>({
    check: () => store.tryWrite().then(() => OK, cannotWrite(failed)),
    validMs: (result) => (isOk(result) ? TRIAL_WRITE_EVERY_MS.afterSuccess : TRIAL_WRITE_EVERY_MS.afterFailure),
    isGood: isOk,
    monotonicMs,
  });
  const answer = (): Promise<CheckResult> => store.revisions().then(() => OK, noAnswer);
  return sharedCheck<StoreChecks>({
    check: async () => {
      const found = await answer();
      // If it does not answer, that it cannot be written to either goes without saying.
      return { store: found, writes: isOk(found) ? await trialWrite() : OK };
    },
    validMs: () => CHECK_EVERY_MS,
    isGood: (found) => isOk(found.store) && isOk(found.writes),
    monotonicMs,
  });
}

const RECORDINGS: Readonly<Record<StorageState, CheckResult>> = {
  ok: OK,
  full: degraded("too little free disk space: recordings are refused"),
  missing: degraded("the recording storage is missing: is its volume mounted? Recordings are refused"),
  unwritable: degraded("the recording storage cannot be written to: recordings are refused"),
  unreachable: degraded("the recording storage is not responding: recordings are refused, and none can be played"),
};

const BACKUPS: Readonly<Record<BackupHealth, CheckResult>> = {
  ok: OK,
  failed: degraded("the last backup failed; trying again. The log says why"),
  late: degraded("no backup has succeeded for twice the scheduled interval"),
};

const noAnswer = (error: unknown): CheckResult =>
  failing(
    error instanceof StoreReadOnly
      ? "the store refuses changes: it is read-only, or a standby"
      : "the store is not responding",
  );

const cannotWrite =
  (report: (error: unknown) => void) =>
  (error: unknown): CheckResult => {
    report(error);
    return failing("the store cannot be written to; is the disk full?");
  };

/** A problem that another worker has counts as well: requests and connections reach all of them. */
function withReports(
  found: Readonly<Record<string, CheckResult>>,
  { state: { reports } }: Pick<Team, "state">,
): Readonly<Record<string, CheckResult>> {
  const own = Object.entries(found).filter(([, { state }]) => state !== "ok");
  const others = Object.entries(reports).map(([name, text]) => [name, degraded(text)] as const);
  return { ...found, ...Object.fromEntries(others), ...Object.fromEntries(own) };
}

/** Never failing: the workers that are left answer, and this response is one of theirs. */
function workersOf({ state: { ready, count } }: Pick<Team, "state">): CheckResult {
  return ready === count ? OK : degraded(`${ready} of ${count} workers are ready`);
}

/** Failing only if no secret key is usable: while some are, their clients must still reach this node. */
function keysOf({ secretKeys: { usable, sealed } }: Pick<Keyring, "secretKeys">): CheckResult {
  if (sealed === 0) return OK;
  const text = `the master key cannot decrypt ${sealed} of ${usable + sealed} secret keys: they answer 503`;
  return usable === 0 ? failing(text) : degraded(text);
}
