/**
 * The contract of a target: where backups are kept. It is a folder, a bucket, or one file in either.
 *
 * - `write` MUST put the whole backup under its name, or nothing: what fails, is aborted or killed MUST leave no part of it under a name that
 *   `list` returns. It MUST be durable when `write` resolves.
 * - `write` MUST NOT replace a backup, unless the target is one file and was opened with `force`. Where the name is taken, it MUST take the next
 *   one and return it; a single file is refused before any byte is asked for.
 * - `write` MUST NOT hold more than two parts of an upload in memory, and MUST NOT use a chunk after asking for the next one.
 * - Leftovers of killed writes MUST be removed by a later `write`, once their process is gone or they are a day old, and no other file.
 * - `list` MUST NOT return, and `remove` MUST NOT remove, what has not the name of a backup, and what is not finished. The oldest is first.
 * - `read` MUST yield the bytes at the pace of its reader, in chunks that are the reader's to keep.
 * - `remove` MUST NOT fail if there is no such backup.
 * - Only the owner can read what is written to a folder (mode 0600).
 * - All failures of the place are TargetError. They contain no credential. Errors of the source are passed on as they are.
 */
import { StoreError } from "../../store/contract/store.ts";

export interface Backup {
  readonly name: string;
  readonly bytes: number;
  /** When it was begun, by its name; of a single file with another name, when it was written. */
  readonly timeMs: number;
}

export interface WriteOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * About how many bytes it will have, rather too many than too few: an upload to a bucket has a limited number of parts, whose size is fixed
   * when it begins. Without it, a backup in a bucket has at most 78 GB.
   */
  readonly expectedBytes?: number | undefined;
}

export interface Target {
  /** For messages: names the place, without credentials. */
  readonly label: string;
  /** Whether it is one file, with the name that the operator gave. */
  readonly isSingle: boolean;
  /** The name for a backup that begins now. */
  nameAt(nowMs: number): string;
  write(name: string, bytes: AsyncIterable<Uint8Array>, options?: WriteOptions): Promise<Backup>;
  list(): Promise<Backup[]>;
  read(name: string): AsyncGenerator<Uint8Array>;
  remove(name: string): Promise<void>;
}

export type TargetReason =
  /** The text names no place that can be used. */
  | "bad-address"
  /** There is a file already, and it was not to be replaced. */
  | "exists"
  /** The folder, the bucket, or the backup does not exist. */
  | "missing"
  | "full"
  | "forbidden"
  /** The place does not answer, or answers with an error. */
  | "unavailable"
  /** The caller's signal ended it. */
  | "aborted";

/** The message tells the operator what happened and what to do. */
export class TargetError extends StoreError {
  constructor(
    readonly reason: TargetReason,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new TargetError("aborted", "the backup was stopped before it was complete");
}

/** A leftover that was not written to for this long belongs to no running process. */
export const LEFTOVER_AFTER_MS = 24 * 3_600_000;
