/**
 * The contract of a storage, which holds the bytes of recordings.
 *
 * A place is written from its beginning by one writer at a time (uploads/locks.ts ensures that), finished once, and then only read or
 * removed.
 *
 * - `append` MUST keep the bytes that it has accepted when the source ends early or fails: what `storedBytes` returns afterwards MUST be durable.
 *   It MUST NOT hold more than a few megabytes in memory, and MUST NOT use a chunk after asking for the next one, because its
 *   memory is freed then. It MUST confirm its lease before each write, so that a writer that was overtaken has at most one write under
 *   way.
 * - `takeOver` is called for a place whose writer lost its lease but may still write. Nothing that this writer does afterwards MUST
 *   change what is held under the new locator.
 * - `finish` MUST be all or nothing, and durable when it resolves; a second call MUST succeed. A finished place MUST NOT be opened for
 *   writing.
 * - `remove` MUST remove a place completely, in whatever state it is; it MUST NOT fail if there is none.
 * - `contents` MUST list every place that has bytes and is not in quarantine. The caller decides which of them belong to a recording.
 * - `quarantine` MUST keep the bytes, and `restore` MUST put them back unchanged.
 * - A storage without free space MUST throw StorageFull, and keep what it has.
 */
import type { AppId } from "../../base/ids.ts";
import type { Lease } from "../../store/contract/leases.ts";
import { StoreError } from "../../store/contract/store.ts";

export interface Place {
  readonly app: AppId;
  readonly id: string;
  /** Returned by `begin` or `takeOver`. A finished place is also found with "". */
  readonly locator: string;
}

/** What a writer needs of its lease while it writes. */
export type WriterLease = Pick<Lease, "generation" | "confirm" | "keep" | "note">;

export interface LinkWanted {
  readonly disposition: string;
  readonly contentType: string;
  readonly seconds: number;
}

/** The place of the same bytes after a takeover. */
export interface Takeover {
  readonly locator: string;
  /** Removes the bytes under the earlier locator. Called once the row has the new one. */
  readonly clear: () => Promise<void>;
}

/** A place that has bytes. */
export interface StoredEntry {
  readonly place: Place;
  /** Not finished: bytes of an upload. */
  readonly isOpen: boolean;
  readonly modifiedMs: number;
}

export interface Quarantined {
  readonly place: Place;
  readonly sinceMs: number;
}

export interface Storage {
  /** For log lines: names the storage, without credentials. */
  readonly name: string;
  /** Whether `storedBytes` also counts bytes that are not flushed yet, which a takeover does not keep. */
  readonly losesUnflushed: boolean;
  /**
   * Throws if it cannot be read and written at the moment: StorageFull, StorageMissing, StorageUnwritable, or any other error if it does not
   * answer. It MUST leave nothing behind, and MUST NOT retry.
   */
  check(): Promise<void>;
  /** Throws StorageFull if there is no space for this many more bytes; 0: for any more. */
  checkSpace(bytes: number): Promise<void>;
  /** Returns the locator under which the place is found. The row of the upload stores it. */
  begin(app: AppId, id: string): Promise<string>;
  /** How many bytes the place has. */
  storedBytes(place: Place): Promise<number>;
  /** Appends to the first `offset` bytes, which the place has. */
  append(place: Place, offset: number, bytes: AsyncIterable<Uint8Array>, lease: WriterLease): Promise<void>;
  /**
   * Moves the bytes out of reach of the earlier writer. `kept`: how many bytes that writer had flushed; later ones MUST NOT be used,
   * because a network file system may have lost some of them.
   */
  takeOver(place: Place, generation: number, kept: number | undefined): Promise<Takeover>;
  finish(place: Place, size: number): Promise<void>;
  remove(place: Place): Promise<void>;
  /** Removes the leftover bytes of an upload, and nothing that is finished. */
  discard(place: Place): Promise<void>;
  /** The first bytes of a finished place. */
  head(place: Place, count: number): Promise<Uint8Array>;
  /** The bytes from `first` to `last`, both included, of a finished place that has them; undefined: there is no such place. */
  read(place: Place, first: number, last: number): Promise<Uint8Array | undefined>;
  /** The path of a finished place, if it is a file of this machine. The file MUST NOT be changed. */
  path(place: Place): string | undefined;
  /** The bytes of a finished place, if this process serves them. */
  file(place: Place): Promise<Blob | undefined>;
  /** The bytes that an open place has now, if they can be read; undefined in a bucket, whose parts cannot. */
  openFile(place: Place): Promise<Blob | undefined>;
  /** A link to a finished place, if another service serves it. */
  link(place: Place, wanted: LinkWanted): string | undefined;

  contents(): AsyncIterable<StoredEntry>;
  /** Sets a finished place aside, to be removed later. */
  quarantine(place: Place, nowMs: number): Promise<void>;
  quarantined(): AsyncIterable<Quarantined>;
  restore(one: Quarantined): Promise<void>;
  /** Removes the bytes. */
  purge(one: Quarantined): Promise<void>;
  /** The mark that names the owner of this storage (ownership.ts). undefined: there is none. */
  readMark(): Promise<string | undefined>;
  writeMark(text: string): Promise<void>;
}

/** The storage does not answer, or answers with an error that the client cannot fix. The message has no credential in it. */
export class StorageUnavailable extends Error {}

/** The folder or the bucket does not exist. */
export class StorageMissing extends StorageUnavailable {}

/** It answers and refuses to be written to. */
export class StorageUnwritable extends StorageUnavailable {}

/** There is no space for more bytes. */
export class StorageFull extends Error {}

/** The storage cannot be used as it is configured; the message tells the operator what to do. */
export class StorageError extends StoreError {}

/** Paths and keys are built from ids of this form only, so that no input can lead to another path. */
export const isObjectId = (text: string): boolean => /^[0-9a-f]{24}$/.test(text);

export function checkedPlace({ app, id }: Pick<Place, "app" | "id">): void {
  if (!isObjectId(app) || !isObjectId(id))
    throw new Error("a place is named by the ids of an application and a recording");
}

/** Removes the bytes of a discarded upload, and nothing that is finished. */
export async function discardBytes(storage: Pick<Storage, "discard">, place: Place): Promise<void> {
  await storage.discard(place);
  // Without a locator: the file from before a takeover, or the last bytes behind the parts of a multipart upload.
  if (place.locator !== "") await storage.discard({ ...place, locator: "" });
}

/** Name of the mark in the folder, or below the bucket's prefix. */
export const MARK_NAME = "parley-storage.json";
/** Name of what is written to find out whether the storage can be written to. The same each time, so that a kill leaves at most one. */
export const CHECK_NAME = "parley-check";
