/**
 * The contract of created streams: channels whose rule has `stream`, and writes over HTTP to them and to channels with history. A created
 * stream exists from `create` until it is deleted or expires. Its messages are kept by the same store as history, in a space of their own
 * (streamSpaceOf), never trimmed and never forgotten. testing/created-streams.suite.ts is the suite of all implementations.
 *
 * - Each write is one transaction, or part of one: its conditions are checked and its messages stored together, or nothing is.
 * - Writes of a batch MUST be decided in their order, each on its own: that one is refused does not affect the others.
 * - If `write` rejects, its batch may be stored or not. `settle` MUST find out which, and MUST prevent a batch that it reports as not
 *   stored from being stored later. A writer has one batch under way at a time, so the store MAY remember the last one of each writer only.
 * - What `read`, `describe` and `write` see MUST be of one moment each; `list` MAY miss or have streams that come or go meanwhile. A stream that has expired MUST NOT be seen, also before
 *   `expire` has removed it.
 * - The epoch of a stream MUST be new and random with each creation. A fork has an epoch of its own; the offsets and checks of what it has
 *   copied stay those of its source.
 * - A stream with forks that is deleted or expires MUST be `gone` until the last of them is: its name cannot be used. Its messages MAY be
 *   removed at once.
 * - A fork MUST be seen only when all of it is copied. One that was not completed is removed, at the latest by `expire` after FORK_COPY_MAX_MS.
 * - No call may occupy the event loop for longer than a few milliseconds: forks are copied in slices.
 * - Calls MUST reject with HistoryUnavailable when the store cannot be used at the moment.
 */
import type { SpaceId } from "../../base/ids.ts";
import type { Retention } from "../../protocol/patterns/channel-rules.ts";
import type { Position } from "../../protocol/position.ts";
import type { Appended, NewMessage, Page, Range, StreamState } from "./messages.ts";

/** The content type of a stream that is created without one. */
export const DEFAULT_TYPE = "application/octet-stream";

/** What a stream was created with. Two creations agree if these, and what it is a fork of, are equal. */
export interface StreamConfig {
  /** A media type in lower case, with its parameters. Types are compared without them. */
  readonly contentType: string;
  /** Since its last use. */
  readonly ttlSeconds: number | undefined;
  /** Unix ms. */
  readonly expiresAtMs: number | undefined;
}

/** A created stream as it is now. */
export interface CreatedStream extends StreamState {
  readonly config: StreamConfig;
  readonly isClosed: boolean;
  /** Unix ms. */
  readonly createdMs: number;
  /** When a use of it was last noted, Unix ms. A use that follows by less than a tenth of its time to live need not be noted. */
  readonly usedMs: number;
  /** When it expires if it is not used before, Unix ms. */
  readonly endsMs: number;
  readonly bytes: number;
  /** Earlier epochs whose positions are positions of this stream, each up to an offset: those of the streams it was forked from. */
  readonly lineage: readonly (readonly [epoch: string, upTo: number])[];
}

/** Which stream. */
export interface StreamName {
  /** streamSpaceOf the application. */
  readonly spaceId: SpaceId;
  readonly channel: string;
}

/** Where a fork begins. */
export interface ForkPoint {
  readonly source: string;
  readonly at: Position | "start" | "end";
  /** Messages (JSON) or bytes (anything else) behind that position. 0: none. */
  readonly more: number;
}

export interface Creation extends StreamName {
  /** `undefined`: that of the source of a fork, or application/octet-stream. */
  readonly contentType: string | undefined;
  /** Both `undefined`: those of the source of a fork, or none. */
  readonly ttlSeconds: number | undefined;
  readonly expiresAtMs: number | undefined;
  /** It expires, at the latest, when it was not used for this long. */
  readonly idleSeconds: number;
  readonly isClosed: boolean;
  /** Stored with each message. */
  readonly check: string;
  readonly messages: readonly NewMessage[];
  readonly fork: ForkPoint | undefined;
  readonly limits: CreatedLimits;
}

export interface CreatedLimits {
  /** What one stream may hold, in bytes as messages count (size.ts). */
  readonly streamBytes: number;
  /** What all streams of the application may hold. */
  readonly appBytes: number;
  /** How many streams an application may have. */
  readonly streams: number;
}

/**
 * `exists`: with this configuration. `conflict`: with another one, or its name is that of a stream that is gone but has forks.
 * `no source`, `source gone`, `bad fork point`, `other type`: of a fork. `fork too large`: see FORK_MAX_MESSAGES and FORK_MAX_BYTES.
 */
export type Creating =
  | { readonly outcome: "created" | "exists"; readonly stream: CreatedStream; readonly appended: readonly Appended[] }
  | {
      readonly outcome:
        | "conflict"
        | "too many streams"
        | "stream full"
        | "application full"
        | "no source"
        | "source gone"
        | "bad fork point"
        | "other type"
        | "fork too large";
    };

/** Who writes, exactly once: the number of a write among those of its producer. */
export interface Producer {
  /** The key or the peer that the producer belongs to: others may use the same id. */
  readonly owner: string;
  readonly id: string;
  readonly epoch: number;
  readonly seq: number;
}

export interface Write extends StreamName {
  /** What a channel with history keeps: it begins with its first message. `undefined`: a created stream, which must exist. */
  readonly keep: Retention | undefined;
  /** As of the request; `undefined` if it has none. Compared if there are messages. Channels with history have application/json. */
  readonly contentType: string | undefined;
  /** Empty only if it closes the stream, or with `isMalformed`. */
  readonly messages: readonly NewMessage[];
  /** The body is not what its content type says: refused as `malformed`, in the order of Refusal. */
  readonly isMalformed: boolean;
  readonly closes: boolean;
  /** Greater than that of the last write which had one, compared by bytes. Created streams only. */
  readonly seq: string | undefined;
  readonly producer: Producer | undefined;
  readonly limits: Pick<CreatedLimits, "streamBytes" | "appBytes">;
}

/** Writes that are decided in one transaction. */
export interface WriteBatch {
  /** Random, the same for all batches of a process. */
  readonly writer: string;
  /** Random, in base 36: stored with each message. */
  readonly check: string;
  readonly writes: readonly Write[];
}

/**
 * Where the stream ends after the write, or as it was found by one that was refused: the position that the next read begins from.
 * Not with `not found` and `gone`, and not with `malformed` and `other type` of a history that has not begun.
 */
export interface End {
  readonly end: Position;
  readonly isClosed: boolean;
}

/** Why nothing was stored, in the order in which it is checked. */
export type WriteRefusal =
  | { readonly outcome: "not found" | "gone" }
  /** `epoch`: the current one of the producer. */
  | ({ readonly outcome: "stale epoch"; readonly epoch: number } & End)
  /** Closed, and not by this very write. */
  | ({ readonly outcome: "closed" } & End)
  | { readonly outcome: "other type" | "malformed" }
  /** `expected`: the next number of the producer. `bad epoch`: a new epoch begins with 0. */
  | { readonly outcome: "gap"; readonly expected: number }
  | {
      readonly outcome: "bad epoch" | "too many producers" | "seq not increasing" | "stream full" | "application full";
    };

/** `duplicate`: the producer's write with this number was stored before, or the stream is closed already and this would only close it. */
export type Written =
  | ({
      readonly outcome: "written" | "duplicate";
      /** The messages that were stored now. */
      readonly appended: readonly Appended[];
      /** The highest number of the producer. */
      readonly producerSeq: number | undefined;
    } & End)
  | WriteRefusal;

/** A page of a stream, and the stream, as of one moment. */
export interface CreatedPage {
  readonly stream: CreatedStream;
  readonly page: Page;
}

/** What has changed in streams lately: where each ends, or that it has ended. */
export interface StreamChange extends StreamName {
  /** `undefined`: there is no such stream any more. */
  readonly now: Pick<CreatedStream, "epoch" | "top" | "topCheck" | "isClosed"> | undefined;
}

export interface ListedStream extends CreatedStream {
  readonly channel: string;
  readonly producers: number;
}

export interface ListedProducer extends Producer {
  /** Unix ms. */
  readonly usedMs: number;
}

export interface CreatedStreamStore {
  create(creation: Creation): Promise<Creating>;
  write(batch: WriteBatch): Promise<readonly Written[]>;
  /** The fate of a batch whose `write` has rejected: `undefined` if it is not stored, and never will be. */
  settle(batch: WriteBatch): Promise<readonly Written[] | undefined>;
  describe(name: StreamName): Promise<CreatedStream | "gone" | undefined>;
  read(name: StreamName, range: Range): Promise<CreatedPage | "gone" | undefined>;
  /** Notes that the stream is in use: its time to live begins again. */
  use(name: StreamName): Promise<void>;
  delete(name: StreamName): Promise<"deleted" | "gone" | "not found">;
  /** By name, behind `after`. */
  list(
    spaceId: SpaceId,
    page: { readonly after?: string; readonly contains?: string; readonly limit: number },
  ): Promise<readonly ListedStream[]>;
  /** Those used last first, also of a channel with history. */
  producers(name: StreamName, limit: number): Promise<readonly ListedProducer[]>;
  /** Created streams that were written to, closed, created or deleted, or that have expired, within the last `agoMs`. May contain older ones. */
  changes(agoMs: number): Promise<readonly StreamChange[]>;
  /** After a change of rules: deletes the streams whose channel has no such rule any more, also those with forks. */
  applyRules(spaceId: SpaceId, isStream: (channel: string) => boolean): Promise<void>;
  /** Removes some of what has expired, and producers of channels with history that were not used for PRODUCER_KEPT_MS. True: there is more. */
  expire(): Promise<boolean>;
}
