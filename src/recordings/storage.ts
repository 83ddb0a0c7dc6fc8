/**
 * The contract of what keeps the bytes of recordings.
 *
 * A place is filled from its beginning on by one writer at a time (uploads.ts sees to that), finished once, then only read and
 * removed.
 *
 * - `append` MUST keep what it has taken when the bytes end early or their source fails, and MUST NOT have taken anything in
 *   vain: what `held` says afterwards is there, also after a crash of ours. It MUST NOT hold more than a few megabytes in memory.
 * - `finish` MUST be all or nothing, and durable when it resolves; a second call for what is finished MUST succeed.
 * - `remove` MUST leave nothing of a place, in whatever state it is; of one that is not there it MUST NOT complain.
 * - `strays` MUST name every place that has bytes and no sign of life since that time, and MAY name others. It decides
 *   nothing: whether a place belongs to somebody is for the caller to say.
 * - A storage that has no room left MUST say so with StorageFull, and keep what it has.
 */
import { StoreError } from "../store/store.ts";

export interface Place {
  readonly app: string;
  readonly id: string;
  /** What `begin` gave. "" will do for what is finished. */
  readonly ticket: string;
}

export interface LinkWanted {
  readonly disposition: string;
  readonly contentType: string;
  readonly seconds: number;
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
  append(place: Place, offset: number, bytes: AsyncIterable<Uint8Array>): Promise<void>;
  finish(place: Place, size: number): Promise<void>;
  remove(place: Place): Promise<void>;
  /** The first bytes of what is finished. */
  head(place: Place, count: number): Promise<Uint8Array>;
  /** The bytes of what is finished, if it is us who serve them. */
  file(place: Place): Promise<Blob | undefined>;
  /** A link to what is finished, if somebody else serves it. */
  link(place: Place, wanted: LinkWanted): string | undefined;
  strays(before: number): AsyncIterable<Place>;
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
