/** Errors of commands, with the message and the exit code of each. */
import { ConfigError } from "../../config/load.ts";
import { TargetError } from "../../durable/targets/target.ts";
import { StoreError, StoreUnreachable, WrongTarget } from "../../store/contract/store.ts";

/** A wrong command line; the message names what is wrong. */
export class UsageError extends Error {}

/** A valid command that did not succeed. `code` is for scripts: the code of the API where the API refused. */
export class Failure extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** The service does not accept the credential of the command. */
export class CredentialRefused extends Failure {}

export interface FailureReport {
  readonly exitCode: 1 | 2;
  readonly code: string;
  readonly message: string;
}

/** What another process of ours has reported. */
export class ReportedFailure extends Error {
  constructor(readonly report: FailureReport) {
    super(report.message);
  }
}

/** Of SQLite, of the system, and of a quota. */
const DISK_FULL: readonly string[] = ["SQLITE_FULL", "ENOSPC", "EDQUOT"];

/** Returns undefined for an unexpected error, whose stack must be shown. */
export function reportOf(error: unknown): FailureReport | undefined {
  if (error instanceof ReportedFailure) return error.report;
  if (error instanceof UsageError) return { exitCode: 2, code: "usage", message: error.message };
  // The command line names the wrong file or lacks --force, as with `recordings download`.
  if (error instanceof WrongTarget || (error instanceof TargetError && error.reason === "exists"))
    return { exitCode: 2, code: "usage", message: error.message };
  if (error instanceof ConfigError) return { exitCode: 2, code: "settings", message: error.message };
  if (error instanceof StoreUnreachable)
    return { exitCode: 1, code: "store", message: `the store is not responding: ${error.message}` };
  if (error instanceof StoreError) return { exitCode: 1, code: "store", message: error.message };
  if (error instanceof Failure) return { exitCode: 1, code: error.code, message: error.message };
  if (error instanceof Error && "code" in error && DISK_FULL.includes(String(error.code)))
    return {
      exitCode: 1,
      code: "system",
      message: `the disk is full (${error.message}); free some space, or choose another data folder with --data`,
    };
  // Errors of the system (a port in use, a folder without write permission) have a sufficient message.
  if (error instanceof Error && "code" in error && /^E[A-Z0-9]+$/.test(String(error.code)))
    return { exitCode: 1, code: "system", message: error.message };
  return undefined;
}
