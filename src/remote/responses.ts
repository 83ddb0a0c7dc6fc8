/** What the server answers to one worker: collected, and written together at the end of a turn. */
import type { Appended } from "../history/contract/history.ts";
import { StoreError } from "../store/contract/store.ts";
import { maxBytesOfResults, writeResults } from "./append-frames.ts";
import { encodeError } from "./errors.ts";
import { APPEND, type ByteSink, CALLS, encode, FrameWriter } from "./frames.ts";
import { RESPONSE_MAX_BYTES, UNREAD_MAX_BYTES } from "./limits.ts";

/** Kinds of responses. An event has the number 0, which no call has. */
export const ANSWERED = 0;
export const FAILED = 1;
export const REWOUND = 2;
/** Another worker has changed what the revisions count. */
export const CHANGED = 3;

export class Responses {
  private readonly writer: FrameWriter;
  /** Number, kind and value of each. Bound: UNANSWERED_MAX_CALLS. */
  private collected: unknown[] = [];
  private isFlushing = false;
  private isEnded = false;

  constructor(
    socket: ByteSink,
    private readonly cut: (why: string) => void,
  ) {
    this.writer = new FrameWriter(socket);
  }

  add(nr: number, kind: number, value: unknown): void {
    this.collected.push(nr, kind, value);
    if (this.isFlushing) return;
    this.isFlushing = true;
    // No boundary: it catches what encoding throws.
    setImmediate(() => {
      this.isFlushing = false;
      this.flush();
    });
  }

  /** The results of a batch; several are followed by one `flush`. */
  addResults(nr: number, results: readonly Appended[]): void {
    // In the order of events: the worker must know that the history was rewound before it knows of a message after that.
    this.addCollected();
    const one = { nr, results };
    this.writer.addWritten(APPEND, maxBytesOfResults(one), one, writeResults);
  }

  /** One write for everything that was answered. */
  flush(): void {
    if (this.isEnded) return;
    if (this.writer.waitingBytes > UNREAD_MAX_BYTES)
      return this.cut(`it does not read its responses, of which ${this.writer.waitingBytes} bytes wait`);
    this.addCollected();
    this.writer.flush();
  }

  drained(): void {
    this.writer.drained();
  }

  /** The connection is gone. */
  end(): void {
    this.isEnded = true;
    this.collected = [];
  }

  /** One frame for all responses so far. */
  private addCollected(): void {
    const { collected } = this;
    if (collected.length === 0) return;
    this.collected = [];
    try {
      const payload = encode(collected);
      if (payload.length <= RESPONSE_MAX_BYTES) return this.writer.add(CALLS, payload);
    } catch {
      // One of them cannot be encoded, or all together are too long: each by itself.
    }
    for (let at = 0; at < collected.length; at += 3) this.addAlone(collected.slice(at, at + 3));
  }

  private addAlone([nr, kind, value]: unknown[]): void {
    const failed = (message: string): void =>
      this.writer.add(CALLS, encode([nr, FAILED, encodeError(new StoreError(message))]));
    try {
      const payload = encode([nr, kind, value]);
      if (payload.length <= RESPONSE_MAX_BYTES) this.writer.add(CALLS, payload);
      else failed(`a response of the store has ${payload.length} bytes, and ${RESPONSE_MAX_BYTES} are allowed`);
    } catch (error) {
      failed(`a response of the store cannot be sent: ${(error as Error).message}`);
    }
  }
}
