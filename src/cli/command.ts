/** What a command is: parsing, help and dispatch are all made from these declarations. */
import type { Given } from "./given.ts";

export interface Flag {
  readonly name: string;
  /** What its value is called in the help. Absent: a switch. */
  readonly value?: string;
  readonly meaning: string;
  readonly required?: true;
  /** May be given several times. */
  readonly many?: true;
}

export interface Operand {
  readonly name: string;
  readonly meaning: string;
  readonly optional?: true;
  /** Any number of words. */
  readonly many?: true;
}

export interface Command {
  /** Its words: "keys create". */
  readonly name: string;
  readonly summary: string;
  readonly operands?: readonly Operand[];
  readonly flags: readonly Flag[];
  /** What one has to know beyond the flags. */
  readonly details?: string;
  /** To copy and paste, at least one. */
  readonly examples: readonly [string, ...string[]];
  /** Brings the module that does it only when it is asked for, so that help is quick. */
  readonly load: () => Promise<Run>;
}

export type Run = (given: Given) => Promise<Answer | undefined>;

/** What a command has to say. undefined instead of one: it goes on running and speaks for itself. */
export interface Answer {
  /** For --json. */
  readonly value: object;
  /** For people; whole lines. */
  readonly text: string;
  /** For people, beside the result: on stderr. */
  readonly notes?: readonly string[];
  /** The question was answered, and the answer is no: exit code 1. */
  readonly refused?: boolean;
}
