/** The ways a command ends badly: what is said, and with which exit code. */
import { ConfigError } from "../config/load.ts";
import { StoreAway, StoreError } from "../store/store.ts";

/** A wrong command line; the message names what is wrong. */
export class UsageError extends Error {}

/** A command that was understood and did not succeed. `code` is for scripts: the API's own where the API refused. */
export class Failure extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export interface Ending {
  readonly exitCode: 1 | 2;
  readonly code: string;
  readonly message: string;
}

/** undefined: an error nobody foresaw, whose stack somebody must see. */
export function endingOf(error: unknown): Ending | undefined {
  if (error instanceof UsageError) return { exitCode: 2, code: "usage", message: error.message };
  if (error instanceof ConfigError) return { exitCode: 2, code: "settings", message: error.message };
  if (error instanceof StoreAway)
    return { exitCode: 1, code: "store", message: `the store does not answer: ${error.message}` };
  if (error instanceof StoreError) return { exitCode: 1, code: "store", message: error.message };
  if (error instanceof Failure) return { exitCode: 1, code: error.code, message: error.message };
  // The system's own refusals (a port in use, a folder that is not ours to write) say enough in their message.
  if (error instanceof Error && "code" in error && /^E[A-Z0-9]+$/.test(String(error.code)))
    return { exitCode: 1, code: "system", message: error.message };
  return undefined;
}
