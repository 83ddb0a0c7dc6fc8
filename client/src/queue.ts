/**
 * `parley-client/queue`: keeps messages while there is no connection, and sends them in their order when there is one.
 *
 *     new Parley({ url, token, queue: new OfflineQueue({ messages: 500, ttl: 60_000 }) })
 *
 * `await publish()` then means: accepted once. A message of a channel with history whose connection ended before the ack is sent
 * again under its id, which the service stores once. Without history that is not possible: such a message is rejected with
 * `connection_lost`, because a second one might be delivered twice.
 */
import { ParleyError } from "./errors.ts";
import type { Frame } from "./frames.ts";
import type { Outbox, QueuedOptions } from "./outbox.ts";

export interface QueueOptions {
  /** Messages that may wait; 1000 by default. One more is rejected with `queue_full`. */
  readonly messages?: number;
  /** How long a message may wait, in ms, if it does not say; without a limit by default. */
  readonly ttl?: number;
}

interface Waiting {
  readonly send: () => Promise<Frame>;
  readonly isIdempotent: () => boolean;
  readonly resolve: (ack: Frame) => void;
  readonly reject: (error: unknown) => void;
  readonly untilMs: number;
}

const MESSAGES_MAX = 1000;
/** After an error that may pass. */
const AGAIN_MS = 500;
const MAY_PASS: readonly string[] = ["backend_error", "timeout", "rate_limited"];

export class OfflineQueue implements Outbox {
  private readonly waiting: Waiting[] = [];
  private isConnected = false;
  private isSending = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private end: Error | undefined;

  constructor(private readonly options: QueueOptions = {}) {}

  /** How many messages wait. */
  get size(): number {
    return this.waiting.length;
  }

  add(send: () => Promise<Frame>, { ttl = this.options.ttl, isIdempotent }: QueuedOptions): Promise<Frame> {
    if (this.end) return Promise.reject(this.end);
    const { messages = MESSAGES_MAX } = this.options;
    if (this.waiting.length >= messages)
      return Promise.reject(new ParleyError("queue_full", `${messages} messages wait already.`));
    return new Promise((resolve, reject) => {
      const untilMs = ttl === undefined ? Number.POSITIVE_INFINITY : Date.now() + ttl;
      this.waiting.push({ send, isIdempotent, resolve, reject, untilMs });
      this.work();
    });
  }

  connected(isConnected: boolean): void {
    this.isConnected = isConnected;
    this.work();
  }

  ended(error: Error): void {
    this.end = error;
    clearTimeout(this.timer);
    for (const { reject } of this.waiting.splice(0)) reject(error);
  }

  private work(): void {
    clearTimeout(this.timer);
    if (this.isConnected) void this.sendAll();
    this.expire();
  }

  /** One after the other: the next is sent when this one is answered, so that their order stays when one has to be sent again. */
  private async sendAll(): Promise<void> {
    if (this.isSending) return;
    this.isSending = true;
    while (this.isConnected && this.waiting.length > 0 && (await this.sendFirst()));
    this.isSending = false;
  }

  /** Returns false if the queue has to wait. */
  private async sendFirst(): Promise<boolean> {
    const [first] = this.waiting;
    if (!first) return false;
    try {
      const ack = await first.send();
      this.remove(first);
      first.resolve(ack);
    } catch (error) {
      const code = error instanceof ParleyError ? error.code : "";
      if (code === "not_connected") return false;
      if (code === "connection_lost" && first.isIdempotent()) return false;
      if (MAY_PASS.includes(code) && first.isIdempotent()) {
        this.timer = setTimeout(() => this.work(), AGAIN_MS);
        return false;
      }
      this.remove(first);
      first.reject(error);
    }
    return true;
  }

  private expire(): void {
    const nowMs = Date.now();
    const late = this.waiting.filter((one, at) => one.untilMs <= nowMs && !(this.isSending && at === 0));
    for (const one of late) {
      this.remove(one);
      one.reject(new ParleyError("message_expired", "The message waited longer than its ttl."));
    }
    const nextMs = Math.min(...this.waiting.map(({ untilMs }) => untilMs));
    if (Number.isFinite(nextMs)) this.timer = setTimeout(() => this.work(), Math.max(1, nextMs - nowMs));
  }

  private remove(one: Waiting): void {
    const at = this.waiting.indexOf(one);
    if (at >= 0) this.waiting.splice(at, 1);
  }
}
