/**
 * The contract of mending: what a browser's recorder wrote has neither a duration nor an index, so players cannot seek in it.
 *
 * - `mend` MUST write the whole result to `output` before it resolves with `mended`, and MUST NOT change the input.
 * - Paths are absolute: the process that mends works in another folder.
 * - It MUST resolve with `as_it_came` for whatever the input is, within bounds of time, memory and space. It throws only MendingStopped.
 */
import type { RecordingFormat } from "../../store/contract/recordings.ts";

export interface MenderInput {
  readonly path: string;
  /** By the first bytes (signature.ts). */
  readonly format: RecordingFormat;
  readonly size: number;
}

export type Mended =
  | { readonly outcome: "mended"; readonly durationMs: number; readonly size: number }
  | {
      readonly outcome: "as_it_came";
      /** A sentence for the log. */
      readonly why: string;
      /** Because of what is in the file, which says nothing about whether others can be mended. */
      readonly isOfFile?: boolean;
    };

export interface Mender {
  /** `output`: the path of a file that does not exist yet, alone in a folder for this call. */
  mend(input: MenderInput, output: string): Promise<Mended>;
  /** Ends what is under way, which throws MendingStopped. */
  stop(): Promise<void>;
}

/** The service ends: the file is mended after the next start. */
export class MendingStopped extends Error {
  constructor() {
    super("mending has stopped, because the service ends");
  }
}
