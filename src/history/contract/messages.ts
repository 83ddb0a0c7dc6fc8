/** Messages of streams: as they are appended, where they are stored, and as they are read. */
import type { SpaceId } from "../../base/ids.ts";
import type { Retention } from "../../protocol/patterns/channel-rules.ts";
import type { Position } from "../../protocol/position.ts";

export interface NewMessage {
  readonly spaceId: SpaceId;
  readonly channel: string;
  readonly keep: Retention;
  readonly from: string;
  readonly metadataJson: string | undefined;
  readonly dataJson: string;
  /** The id of the connection that publishes it; `undefined` for REST. */
  readonly connection: string | undefined;
  readonly id: string | undefined;
  /** Within which ids are unique: the peer id of a token, or the id of a key. Ignored without an id. */
  readonly idScope: string;
  /** How much it counts: see size.ts. */
  readonly bytes: number;
}

/** Messages that are appended in one transaction. */
export interface Batch {
  /** Random, in base 36: stored with each message, and identifies the batch for `settle`. */
  readonly check: string;
  readonly messages: readonly NewMessage[];
}

/** Where a message of a batch is. */
export interface Appended extends Position {
  /** Unix ms. */
  readonly time: number;
  /** The message was published before under the same id: this is where the first one is, and nothing was stored. */
  readonly isDuplicate: boolean;
  /** The first one was removed with the history of its channel: its epoch is over. */
  readonly isRemoved?: true;
}

export interface StoredMessage {
  readonly offset: number;
  readonly check: string;
  /** Unix ms. */
  readonly time: number;
  readonly from: string;
  readonly metadataJson: string | undefined;
  readonly dataJson: string;
  readonly connection: string | undefined;
  readonly id: string | undefined;
  /** As that of the new message. */
  readonly bytes: number;
}

/** A stream without its messages. It holds the offsets from `first` to `top`; `first` is `top + 1` if it holds none. */
export interface StreamState {
  readonly epoch: string;
  readonly top: number;
  /** The check of the message at `top`. */
  readonly topCheck: string;
  readonly first: number;
  /** The check of the message at `first - 1`, which is no longer stored. */
  readonly firstCheck: string;
}

/** Which messages of a stream, and how much of them. At least one message is returned even if it is longer than `maxBytes`. */
export interface Range {
  /** Behind this offset, oldest first. */
  readonly after?: number;
  /** Before this offset, newest first. With neither: the newest. */
  readonly before?: number;
  /** Only messages of this time or later, Unix ms. */
  readonly sinceMs?: number;
  /** Only messages up to this offset. */
  readonly upTo?: number;
  readonly limit: number;
  readonly maxBytes: number;
}

export interface Page {
  readonly state: StreamState;
  /** The check at `after` or `before`; `undefined` if that offset is not between `first - 1` and `top`, or neither was given. */
  readonly check: string | undefined;
  readonly messages: readonly StoredMessage[];
  /** More messages follow in the direction of reading. */
  readonly more: boolean;
}
