/**
 * The contract of what keeps the bytes of recordings.
 *
 * A place is filled from its beginning on by one writer at a time (writers.ts sees to that), finished once, then only read and
 * removed.
 *
 * - `append` MUST keep what it has taken when the bytes end early or their source fails, and MUST NOT have taken anything in
 *   vain: what `held` says afterwards is there, also after a crash of ours. It MUST NOT hold more than a few megabytes in memory,
 *   and MUST NOT touch a chunk once it has asked for the next: its memory is gone then. Before each thing that it writes it MUST
 *   confirm its lease, so that a writer that was overtaken has at most one write under way.
 * - `takeOver` is called for a place whose writer has fallen silent and may wake up at any moment. Whatever that writer still does
 *   MUST NOT change what is held under the new ticket.
 * - `finish` MUST be all or nothing, and durable when it resolves; a second call for what is finished MUST succeed. What is finished
 *   MUST NOT be opened for writing again.
 * - `remove` MUST leave nothing of a place, in whatever state it is; of one that is not there it MUST NOT complain.
 * - `contents` MUST name every place that has bytes, and is not in quarantine. It decides nothing: whether a place belongs to
 *   a recording is for the caller to say.
 * - `quarantine` MUST keep the bytes. `restore` MUST put them back as they were.
 * - A storage that has no room left MUST say so with StorageFull, and keep what it has.
 */
import type { Lease } from "../store/leases.ts";
import { StoreError } from "../store/store.ts";

export interface Place {
  readonly app: string;
  readonly id: string;
  /** What `begin` or `takeOver` gave. "" will do for what is finished. */
  readonly ticket: string;
}

/** What a writer shows while it writes. */
export type WriterLease = Pick<Lease, "generation" | "confirm" | "keep">;

export interface LinkWanted {
  readonly disposition: string;
  readonly contentType: string;
  readonly seconds: number;
}

/** How bytes go on after their writer was overtaken. */
export interface Succession {
  readonly ticket: string;
  /** Removes what only the earlier ticket led to; called when the row has the new one. */
  readonly clear: () => Promise<void>;
}

/** Something that has bytes. */
export interface Found {
  readonly place: Place;
  /** Bytes of an upload that is not finished. */
  readonly isOpen: boolean;
  readonly modifiedMs: number;
}

export interface Quarantined {
  readonly place: Place;
  readonly sinceMs: number;
}

export interface Storage {
  /** For people: which one it is, without credentials. */
  readonly name: string;
  /** Throws if it cannot be used at the moment. */
  check(): Promise<void>;
  /** Throws StorageFull if there is no room for so many bytes; 0: for any at all. */
  roomFor(bytes: number): Promise<void>;
  /** The ticket under which the place is found again. Nothing of it may be lost: it goes into the row of the upload. */
  begin(app: string, id: string): Promise<string>;
  /** How many bytes it has. */
  held(place: Place): Promise<number>;
  /** Adds behind those `offset` bytes that it has. */
  append(place: Place, offset: number, bytes: AsyncIterable<Uint8Array>, lease: WriterLease): Promise<void>;
  /**
   * The ticket of the same bytes, out of reach of the writer before. `kept`: how many that one had flushed for certain; more MUST NOT
   * be relied on where a network file system may have lost some of them.
   */
  takeOver(place: Place, generation: number, kept: number | undefined): Promise<Succession>;
  finish(place: Place, size: number): Promise<void>;
  remove(place: Place): Promise<void>;
  /** Only what is not finished: bytes that an upload has left behind. */
  discard(place: Place): Promise<void>;
  /** The first bytes of what is finished. */
  head(place: Place, count: number): Promise<Uint8Array>;
  /** The bytes of what is finished, if it is us who serve them. */
  file(place: Place): Promise<Blob | undefined>;
  /** A link to what is finished, if somebody else serves it. */
  link(place: Place, wanted: LinkWanted): string | undefined;

  contents(): AsyncIterable<Found>;
  /** What is finished is set aside, to be removed later. */
  quarantine(place: Place, nowMs: number): Promise<void>;
  quarantined(): AsyncIterable<Quarantined>;
  restore(one: Quarantined): Promise<void>;
  /** Removes the bytes for good. */
  purge(one: Quarantined): Promise<void>;
  /** The text that says whose storage this is (ownership.ts). undefined: there is none. */
  readMark(): Promise<string | undefined>;
  writeMark(text: string): Promise<void>;
}

/** It does not answer, or not as it should: nothing that the client could mend. The message has no credential in it. */
export class StorageUnavailable extends Error {}

/** There is no room for more. */
export class StorageFull extends Error {}

/** The storage cannot be used as it is configured; the message tells the operator what to do. */
export class StorageError extends StoreError {}

/** Paths and keys are made of these: nothing else may ever become part of one. */
export const isObjectId = (text: string): boolean => /^[0-9a-f]{24}$/.test(text);

export function checkedPlace({ app, id }: Pick<Place, "app" | "id">): void {
  if (!isObjectId(app) || !isObjectId(id))
    throw new Error("a place is named by the ids of an application and a recording");
}

/** Removes the bytes of an upload that has ended, and nothing that is finished. */
export async function discardUpload(storage: Pick<Storage, "discard">, place: Place): Promise<void> {
  await storage.discard(place);
  // What lies under no ticket: the file before a takeover, or the last bytes behind the parts of a bucket.
  if (place.ticket !== "") await storage.discard({ ...place, ticket: "" });
}

/** In the folder or below the prefix. */
export const MARK_NAME = "parley-storage.json";
