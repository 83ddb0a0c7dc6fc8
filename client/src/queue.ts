/**
 * `parley-client/queue`: keeps messages while there is no connection, and sends them in their order when there is one.
 *
 *     new Parley({ url, token, queue: new OfflineQueue({ messages: 500, ttl: 60_000 }) })
 *
 * `await publish()` then means: accepted once. A message of a channel with history whose connection ended before the ack is sent
 * again under its id, which the service stores once, and a direct message likewise, which is delivered once to each client of the
 * peer. In a channel without history that is not possible: such a message is rejected with `connection_lost`, because it might be
 * delivered twice.
 */
import { steadyClock } from "./connection/steady-clock.ts";
import { ParleyError } from "./events/errors.ts";
import type { Frame } from "./events/frames.ts";
import type { Outbox, QueuedOptions } from "./outbox.ts";

export interface QueueOptions {
  /** Messages that may wait; 1000 by default. One more is rejected with `queue_full`. */
  readonly messages?: number;
  /** How long a message may wait, in ms, if it does not say; without a limit by default. */
  readonly ttl?: number;
}

interface Waiting {
  readonly send: () => Promise<Frame>;
  readonly options: QueuedOptions;
  readonly resolve: (ack: Frame) => void;
  readonly reject: (error: unknown) => void;
  /** Steady ms. */
  readonly untilMs: number;
  /** When it was sent first, steady ms. */
  sentMs: number | undefined;
  /** Why its fate is not known, if it was sent. */
  failure: ParleyError | undefined;
}

const MESSAGES_MAX = 1000;
/** The service remembers ids for two minutes: a message that is sent again later could be stored twice. */
const REPEAT_WITHIN_MS = 100_000;
/** Timers cannot wait for as long as a ttl may be. */
const LOOK_MAX_MS = 3_600_000;
/** After an error that may pass. */
const AGAIN_MS = 500;
/** The service may have accepted the message, or accept it later. */
const IS_UNKNOWN: readonly string[] = ["connection_lost", "timeout", "backend_error", "rate_limited"];
/** The service ends connections that send more than 100 frames per second, after a burst of 500: the application sends some, too. */
const PER_SECOND = 80;
const BURST = 250;

export class OfflineQueue implements Outbox {
  private readonly waiting: Waiting[] = [];
  private isConnected = false;
  private isSending = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  // Times of a clock that is never set: the queue would wait for hours when the one on the wall is set back.
  /** Nothing is sent before. */
  private notBeforeMs = Number.NEGATIVE_INFINITY;
  /** When the burst is available again, in the time of the messages that were sent. */
  private paidUntilMs = Number.NEGATIVE_INFINITY;
  private readonly steadyMs = steadyClock();
  private end: Error | undefined;

  constructor(private readonly options: QueueOptions = {}) {}

  /** How many messages wait. */
  get size(): number {
    return this.waiting.length;
  }

  add(send: () => Promise<Frame>, options: QueuedOptions): Promise<Frame> {
    if (this.end) return Promise.reject(this.end);
    const { messages = MESSAGES_MAX } = this.options;
    const { ttl = this.options.ttl } = options;
    if (this.waiting.length >= messages)
      return Promise.reject(new ParleyError("queue_full", `${messages} messages are already waiting.`));
    return new Promise((resolve, reject) => {
      const untilMs = ttl === undefined ? Number.POSITIVE_INFINITY : this.steadyMs() + ttl;
      this.waiting.push({ send, options, resolve, reject, untilMs, sentMs: undefined, failure: undefined });
      void this.work();
    });
  }

  connected(isConnected: boolean): void {
    this.isConnected = isConnected;
    // It may be the client after the one that has ended: a provider of React makes another when it is shown again.
    this.end = undefined;
    void this.work();
  }

  ended(error: Error): void {
    this.end = error;
    clearTimeout(this.timer);
    for (const { reject } of this.waiting.splice(0)) reject(error);
  }

  /** One after the other: the next is sent when this one is answered, so that their order stays when one has to be sent again. */
  private async work(): Promise<void> {
    if (this.isSending) return;
    this.isSending = true;
    for (let first = this.next(); first; first = this.next()) await this.sendOne(first);
    this.isSending = false;
    this.lookAgain();
  }

  /** `undefined`: nothing can be sent now. */
  private next(): Waiting | undefined {
    this.expire();
    const nowMs = performance.now();
    if (!this.isConnected || nowMs < this.notBeforeMs) return undefined;
    const [first] = this.waiting;
    if (!first) return undefined;
    this.paidUntilMs = Math.max(this.paidUntilMs, nowMs - (BURST * 1000) / PER_SECOND) + 1000 / PER_SECOND;
    this.notBeforeMs = this.paidUntilMs;
    return first;
  }

  private async sendOne(first: Waiting): Promise<void> {
    const { failure } = first;
    try {
      if (failure && !(await this.isRepeatable(first))) return this.refuse(first, failure);
      first.sentMs ??= this.steadyMs();
      const ack = await first.send();
      this.remove(first);
      first.resolve(ack);
    } catch (error) {
      const code = codeOf(error);
      if (code === "not_connected") this.isConnected = false;
      else if (!IS_UNKNOWN.includes(code) || first.options.isIdempotent() === false) this.refuse(first, error);
      else {
        first.failure ??= error as ParleyError;
        if (code !== "connection_lost") this.notBeforeMs = performance.now() + AGAIN_MS;
      }
    }
  }

  /** Throws if that cannot be found out now. */
  private async isRepeatable({ options, sentMs = 0 }: Waiting): Promise<boolean> {
    try {
      const isIdempotent = options.isIdempotent() ?? (await options.findOut?.()) ?? false;
      return isIdempotent && this.steadyMs() - sentMs < REPEAT_WITHIN_MS;
    } catch (error) {
      if (codeOf(error) === "not_connected" || IS_UNKNOWN.includes(codeOf(error))) throw error;
      // A client that may not read the history cannot know.
      return false;
    }
  }

  private refuse(one: Waiting, error: unknown): void {
    this.remove(one);
    one.reject(error);
  }

  private expire(): void {
    const nowMs = this.steadyMs();
    for (const one of this.waiting.filter(({ untilMs }) => untilMs <= nowMs)) {
      this.remove(one);
      one.reject(one.failure ?? new ParleyError("message_expired", "The message waited longer than its ttl."));
    }
  }

  private lookAgain(): void {
    clearTimeout(this.timer);
    const nowMs = this.steadyMs();
    const waits = this.waiting.map(({ untilMs }) => untilMs - nowMs).filter(Number.isFinite);
    if (this.isConnected && this.waiting.length > 0) waits.push(this.notBeforeMs - performance.now());
    if (waits.length === 0) return;
    const waitMs = Math.min(LOOK_MAX_MS, Math.max(1, Math.min(...waits)));
    this.timer = setTimeout(() => void this.work(), waitMs);
  }

  private remove(one: Waiting): void {
    const at = this.waiting.indexOf(one);
    if (at >= 0) this.waiting.splice(at, 1);
  }
}

const codeOf = (error: unknown): string => (error instanceof ParleyError ? error.code : "");
