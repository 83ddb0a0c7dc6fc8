/** Server frames as tests read them (protocol.md 3). */
import type { Json } from "../http.ts";

export interface Entry {
  readonly peerId: string;
  readonly metadata?: Json;
}

/** A message in a page of history. */
export interface StoredEntry {
  readonly from: string;
  readonly fromMetadata?: Json;
  readonly data: unknown;
  readonly pos: string;
  readonly time: number;
  readonly id?: string;
}

interface Shapes {
  readonly welcome: {
    readonly peerId: string;
    readonly expiresAt: number | null;
    readonly serverTime: number;
    readonly maxMessageSize: number;
    readonly metadata?: Json;
  };
  readonly ack: {
    readonly requestId: string;
    readonly pos?: string;
    readonly recovered?: boolean;
    readonly replay?: number;
    readonly duplicate?: true;
    readonly expiresAt?: number;
  };
  readonly error: {
    readonly requestId?: string;
    readonly channel?: string;
    readonly code: string;
    readonly message: string;
  };
  readonly message: {
    readonly channel: string;
    readonly from: string;
    readonly fromMetadata?: Json;
    readonly data: unknown;
    readonly pos?: string;
    readonly time?: number;
    readonly id?: string;
    readonly replay?: true;
  };
  readonly direct: {
    readonly from: string;
    readonly fromMetadata?: Json;
    readonly data: unknown;
    readonly id?: string;
  };
  readonly history: {
    readonly requestId?: string;
    readonly channel: string;
    readonly pos?: string;
    readonly messages: readonly StoredEntry[];
    readonly more: boolean;
  };
  readonly presence: {
    readonly channel: string;
    readonly joined: Entry[];
    readonly left: Entry[];
    readonly snapshot?: true;
  };
  readonly state: {
    readonly channel: string;
    readonly changed: readonly { readonly peerId: string; readonly state: Json | null; readonly lost?: true }[];
  };
  readonly going_away: { readonly retryAfterMs: number };
  readonly pong: { readonly requestId?: string };
}

export type FrameType = keyof Shapes;
export type Frame<T extends FrameType> = { readonly type: T } & Shapes[T];
export type AnyFrame = { [T in FrameType]: Frame<T> }[FrameType];

export const ids = (entries: readonly Entry[]): string[] => entries.map(({ peerId }) => peerId).sort();
