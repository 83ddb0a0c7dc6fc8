/** The declaration of a command, from which parsing, help and dispatch are derived. */
import type { Input } from "./input.ts";

export interface Flag {
  readonly name: string;
  /** The name of its value in the help. Absent: the flag is a switch. */
  readonly value?: string;
  readonly meaning: string;
  readonly required?: true;
  /** The flag may be repeated. */
  readonly many?: true;
  /** The value is a JSON object with these fields. */
  readonly fields?: readonly string[];
  /** All values, for completion. */
  readonly choices?: readonly string[];
  /** The value is the name of a context. */
  readonly isContext?: true;
}

export interface Operand {
  readonly name: string;
  readonly meaning: string;
  readonly optional?: true;
  /** Any number of arguments. */
  readonly many?: true;
  /** All values, for completion. */
  readonly choices?: readonly string[];
  /** The value is the name of a context. */
  readonly isContext?: true;
}

export interface Command {
  /** One or two parts: "up", "keys create". */
  readonly name: string;
  readonly summary: string;
  readonly operands?: readonly Operand[];
  readonly flags: readonly Flag[];
  /** What users have to know beyond the flags. */
  readonly details?: string;
  /** For copy and paste. */
  readonly examples: readonly [string, ...string[]];
  /** Imports the implementation on demand, so that help is quick. */
  readonly load: () => Promise<Run>;
}

export type Run = (input: Input) => Promise<CommandResult | undefined>;

/** The result of a command. A command that keeps running returns undefined instead. */
export interface CommandResult {
  /** For --json: an object, or the objects of a list, which are printed one per line. */
  readonly value: object | readonly object[];
  /** For people, in whole lines. */
  readonly text: string;
  /** For people, in addition to the result, on stderr. */
  readonly notes?: readonly string[];
  /** The command has worked, but its result is negative: exit code 1. */
  readonly refused?: boolean;
  /** Ctrl-C ended the command early, and its result is what it had by then: exit code 130. */
  readonly interrupted?: boolean;
}
