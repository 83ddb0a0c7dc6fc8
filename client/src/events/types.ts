/** What the events of the client, of presence and of states give to their listeners; those of a channel are in message.ts. */
import type { ParleyError } from "./errors.ts";
import type { Welcome } from "./frames.ts";

export interface Status {
  readonly state: "connecting" | "connected" | "reconnecting" | "closed";
  /** Why it is not connected. */
  readonly error?: ParleyError | undefined;
  /** In how many milliseconds the next attempt begins; `connect()` begins it at once. */
  readonly retryInMs?: number;
  /** While it is connected: `http` where something on the way blocks WebSockets. */
  readonly transport?: "websocket" | "http";
}

export interface Direct<T = unknown, M = unknown> {
  readonly from: string;
  readonly data: T;
  readonly fromMetadata?: M;
  readonly id?: string;
}

export interface ParleyEvents {
  direct: Direct;
  status: Status;
  /** The connection is made: with what the token carries for this peer alone. */
  welcome: Welcome;
  /** A renewal of the token has brought other metadata, such as new TURN credentials; `parley.metadata` has it. */
  metadata: unknown;
  /** Something went wrong that no call was waiting for. */
  error: ParleyError;
}

export interface Member<M = unknown> {
  readonly peerId: string;
  readonly metadata?: M;
}

export interface PresenceEvents<M = unknown> {
  joined: Member<M>;
  left: Member<M>;
  /** The list has changed, also by new metadata. */
  changed: readonly Member<M>[];
}

export interface MemberState<S> {
  readonly peerId: string;
  readonly state: S | null;
  /** Its connection was lost; it may come back. */
  readonly lost?: true;
}

export interface StateEvents<S> {
  changed: MemberState<S>;
}
