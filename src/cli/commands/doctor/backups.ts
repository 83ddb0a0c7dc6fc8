/** Backups, for `parley doctor`: whether there are any, how old the last one is, and who could read them. */
import { Failure } from "../../line/errors.ts";
import { attention, type Outcome, ok, unchecked } from "./findings.ts";

/** What the control plane says about backups, as far as doctor uses it. */
export interface BackupEvidence {
  /** Unix seconds of this machine when it was asked. */
  readonly askedAt: number;
  readonly target: { readonly kind: "folder" | "bucket"; readonly isInDataFolder: boolean } | null;
  readonly everySeconds: number | null;
  readonly isEncrypted: boolean;
  readonly hasRecordings: boolean;
  readonly hasDatabase: boolean;
  readonly lastSuccess: { readonly at: number } | null;
  readonly lastSent: number | null;
  /** Why those that are kept cannot be listed. */
  readonly problem: string | null;
}

const DAY_SECONDS = 86_400;
const LATELY_DAYS = 7;
const TRY_IT = 'test one with "parley restore FILE --data ANOTHER_FOLDER"';

/** undefined: the server is of an earlier version. */
export async function backupEvidence(server: {
  get<T extends object>(path: string): Promise<T>;
}): Promise<BackupEvidence | undefined> {
  try {
    const state = await server.get<Omit<BackupEvidence, "askedAt">>("/backups");
    return { ...state, askedAt: Math.floor(Date.now() / 1000) };
  } catch (error) {
    if (error instanceof Failure && error.code === "not_found") return undefined;
    throw error;
  }
}

export function backupOutcome(backups: BackupEvidence): Outcome {
  const { target, everySeconds, isEncrypted, hasDatabase, problem } = backups;
  const age = ageOf(backups);
  if (everySeconds === null && (age === undefined || age > LATELY_DAYS * DAY_SECONDS))
    return attention(
      `no schedule is set, and no backup was made in the last ${LATELY_DAYS} days`,
      `set PARLEY_BACKUP_TO and PARLEY_BACKUP_EVERY, or run "parley backup FILE" regularly; ${TRY_IT}`,
    );
  if (problem !== null)
    return attention(`the backups cannot be listed: ${problem}`, "mount it, or correct its permissions");
  if (target?.isInDataFolder)
    return attention(
      "they are in the data folder: if its disk fails, they are lost too",
      "set PARLEY_BACKUP_TO to another disk or a bucket",
    );
  if (target?.kind === "bucket" && !isEncrypted)
    return attention(
      "they are in a bucket, unencrypted: anyone who can read the bucket can read messages and recordings",
      "set PARLEY_BACKUP_KEY (make one: openssl rand -base64 32), and keep a copy of it somewhere else",
    );
  const made = `${everySeconds === null ? "made by hand" : `scheduled every ${span(everySeconds)}`}, ${
    age === undefined ? "none yet" : `the last one ${span(age)} ago`
  }, ${isEncrypted ? "encrypted" : "not encrypted"}`;
  if (!hasDatabase)
    return unchecked(
      `${made}; they do not include PostgreSQL`,
      `use pg_dump --format=custom just before, and ${TRY_IT}`,
    );
  return ok(made);
}

/** Seconds since the last one, whether it was kept by the service or sent to an operator. */
function ageOf({ lastSuccess, lastSent, askedAt }: BackupEvidence): number | undefined {
  const last = Math.max(lastSuccess?.at ?? 0, lastSent ?? 0);
  return last === 0 ? undefined : Math.max(0, askedAt - last);
}

const UNITS = [
  ["d", DAY_SECONDS],
  ["h", 3600],
  ["min", 60],
] as const;

function span(seconds: number): string {
  const [unit, size] = UNITS.find(([, one]) => seconds >= one) ?? (["s", 1] as const);
  return `${Math.floor(seconds / size)} ${unit}`;
}
