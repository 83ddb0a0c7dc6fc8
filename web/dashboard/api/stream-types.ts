/** Answers about streams. Times are in Unix seconds. */
interface Described {
  readonly channel: string;
  readonly contentType: string;
  readonly created: number;
  readonly closed: boolean;
  readonly messages: number;
  readonly bytes: number;
  /** Where it ends. */
  readonly pos: string;
  readonly ttlSec?: number;
  readonly expiresAt?: number;
  /** When it is deleted if it is not used before. */
  readonly endsAt: number;
}

export interface ListedStream extends Described {
  readonly producers: number;
}

export interface StreamProducer {
  /** It belongs to a key or to a peer. */
  readonly keyId?: string;
  readonly peerId?: string;
  readonly id: string;
  readonly epoch: number;
  readonly seq: number;
  readonly used: number;
}

export interface StreamDetail extends Described {
  readonly maxBytes: number;
  readonly idleSec: number;
  /** Those used last. */
  readonly producers: readonly StreamProducer[];
  readonly readers: number;
  readonly subscribers: number;
  readonly isComplete: boolean;
}
