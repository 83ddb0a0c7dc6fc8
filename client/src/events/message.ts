/** What a channel gives to the application. */
import type { ParleyError } from "./errors.ts";

/** `T` is what is published, `M` the metadata of peers. */
export interface Message<T = unknown, M = unknown> {
  readonly channel: string;
  readonly from: string;
  readonly data: T;
  /** Only with the option `senderMetadata`. */
  readonly fromMetadata?: M;
  /** On channels with history: where it is, and when it was stored (Unix ms). */
  readonly pos?: string | undefined;
  readonly time?: number | undefined;
  readonly id?: string | undefined;
  /** It was published before this subscription, or while the client was away. */
  readonly replay?: boolean;
}

/** Messages were missed, and cannot be got back: read what you need anew. */
export interface Gap {
  /** `no_history`: the channel keeps none. `not_recovered`: too much was missed, or the history begins anew. */
  readonly reason: "no_history" | "not_recovered";
}

export interface Subscribed {
  /** Whether everything since the last connection follows, or everything that `rewind` asks for; absent on a plain first subscription. */
  readonly recovered?: boolean | undefined;
  /** How many earlier messages follow. */
  readonly replay: number;
}

export interface Published {
  readonly id?: string | undefined;
  readonly pos?: string | undefined;
  /** The service had accepted a message with this id before, and has not published this one. */
  readonly duplicate?: boolean | undefined;
}

export interface ChannelEvents<T = unknown, M = unknown> {
  message: Message<T, M>;
  gap: Gap;
  subscribed: Subscribed;
  /** The channel is subscribed to by `occupancy`: how many are in it. */
  occupancy: { readonly peers: number; readonly connections: number };
  /** The service does not allow the subscription, or not any more; or the client has ended. */
  error: ParleyError;
}

export interface ChannelOptions {
  /** The first subscription begins with that many earlier messages, or with those of this time: 50, "30s", "5m", "2h". */
  readonly rewind?: number | string;
  /** Messages carry the metadata of their senders. */
  readonly senderMetadata?: boolean;
  /** Counts of peers and connections; with `presence: false` instead of members. */
  readonly occupancy?: boolean;
  readonly presence?: false;
}
