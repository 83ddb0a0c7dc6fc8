/** Server frames as tests read them (protocol.md 3). */
import type { Json } from "../../../support/http.ts";

export interface Entry {
  readonly peerId: string;
  readonly metadata?: Json;
}

interface Shapes {
  readonly welcome: {
    readonly peerId: string;
    readonly expiresAt: number | null;
    readonly serverTime: number;
    readonly maxMessageSize: number;
    readonly metadata?: Json;
  };
  readonly ack: { readonly requestId: string };
  readonly error: { readonly requestId?: string; readonly code: string; readonly message: string };
  readonly message: {
    readonly channel: string;
    readonly from: string;
    readonly fromMetadata?: Json;
    readonly data: unknown;
  };
  readonly direct: { readonly from: string; readonly fromMetadata?: Json; readonly data: unknown };
  readonly presence: {
    readonly channel: string;
    readonly joined: Entry[];
    readonly left: Entry[];
    readonly snapshot?: true;
  };
  readonly going_away: { readonly retryAfterMs: number };
  readonly pong: { readonly requestId?: string };
}

export type FrameType = keyof Shapes;
export type Frame<T extends FrameType> = { readonly type: T } & Shapes[T];
export type AnyFrame = { [T in FrameType]: Frame<T> }[FrameType];

export const ids = (entries: readonly Entry[]): string[] => entries.map(({ peerId }) => peerId).sort();
