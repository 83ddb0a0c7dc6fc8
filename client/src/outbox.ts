/** What the core asks of a queue for messages (queue.ts is one). Without one, a message that cannot be sent now is rejected. */
import type { Frame } from "./events/frames.ts";

export interface SendOptions {
  /** The id of the message: random if the channel keeps history, and for direct messages. */
  readonly id?: string;
  /** How long it may wait, in ms. Only with a queue. */
  readonly ttl?: number;
}

export interface QueuedOptions extends SendOptions {
  /** Whether it can be sent again after a connection that ended before the answer; `undefined`: that is not known yet. */
  isIdempotent(): boolean | undefined;
  /** Asks the service. */
  findOut?(): Promise<boolean>;
}

export interface Outbox {
  add(send: () => Promise<Frame>, options: QueuedOptions): Promise<Frame>;
  /** There is a connection, or none any more. */
  connected(isConnected: boolean): void;
  /** The client has ended: everything that waits is rejected. */
  ended(error: Error): void;
}
