/**
 * Appends the messages of this node to the store, in batches: one batch at a time, in the order in which the messages came. What
 * arrives while a batch is under way is the next batch, so that batches grow with the load.
 *
 * When the store is not responding for a batch, its messages are reported as not known to be stored. Nothing more is appended until
 * the store has said what became of that batch: a message that was stored after all must not come behind later ones, and its
 * channels must get it.
 */
import type { Clock } from "../base/clock.ts";
import type { Appended, Batch, HistoryStore, NewMessage } from "./contract/history.ts";
import { randomBase36 } from "./contract/random.ts";

/** One batch. */
const BATCH_MAX_MESSAGES = 256;
/** An embedded store occupies the event loop until a batch is stored: 32 messages of as many streams take about a millisecond. */
const EMBEDDED_BATCH_MAX_MESSAGES = 32;
const BATCH_MAX_BYTES = 1_000_000;
/** Messages that wait for the store, over all applications. */
const QUEUE_MAX_BYTES = 32 * 1024 * 1024;
/** The share of one application, so that it cannot make the messages of others be refused. */
const QUEUE_PER_APP_MAX_BYTES = QUEUE_MAX_BYTES / 4;
/** How long the store may take for a batch, and how long a message may wait for its batch. */
const APPEND_MAX_MS = 2000;
/** How long the store may take to say what became of a batch before it is asked again. */
const SETTLE_MAX_MS = 5000;
const SETTLE_AGAIN_MIN_MS = 100;
const SETTLE_AGAIN_MAX_MS = 2000;

/** A message that is to be stored. */
export interface Append {
  readonly message: NewMessage;
  /** When it arrived, monotonic ms. */
  readonly sinceMs: number;
  /**
   * Gets `undefined` if it is not known whether the message is stored. Called once, never within `append` itself. `nowMs`: read once
   * for all messages of a batch.
   */
  done(appended: Appended | undefined, nowMs: number): void;
}

interface AppenderParts {
  readonly store: Pick<HistoryStore, "append" | "settle" | "isShared">;
  readonly clock: Pick<Clock, "monotonicMs" | "after">;
  /** Calls back when what has arrived already has been read from its sockets, so that it is one batch. */
  readonly defer: (callback: () => void) => void;
  /** A message that was reported as not known to be stored is stored. */
  readonly lateStored: (message: NewMessage, appended: Appended) => void;
  /** A callback has thrown. */
  readonly failed: (error: unknown) => void;
}

/** A batch that is at the store. */
interface Sent {
  readonly batch: Batch;
  readonly appends: readonly Append[];
  readonly sinceMs: number;
  /** Its messages were reported as not known to be stored. */
  isUnknown: boolean;
}

/** How often a wait for the store is checked. */
const CHECK_EVERY_MS = 250;

export class Appender {
  /** Bound: QUEUE_MAX_BYTES, a quarter of it of one application; beyond it `backend_error`, as after 2 s. */
  private queue: Append[] = [];
  private queuedBytes = 0;
  /** The same by application. Bound: applications in `queue`. */
  private readonly queuedBytesOf = new Map<string, number>();
  private sent: Sent | undefined;
  private isScheduled = false;
  private isTimerSet = false;
  private isClosed = false;
  /** Calls that wait until nothing is on its way to the store. Bound: one, when the node stops. */
  private idle: (() => void)[] = [];

  constructor(private readonly parts: AppenderParts) {}

  /** Returns false if too much waits already: `done` is not called then. */
  append(one: Append): boolean {
    const { spaceId, bytes } = one.message;
    const ofApp = (this.queuedBytesOf.get(spaceId) ?? 0) + bytes;
    const isFull = this.queuedBytes + bytes > QUEUE_MAX_BYTES || ofApp > QUEUE_PER_APP_MAX_BYTES;
    if (this.isClosed || isFull) return false;
    this.queue.push(one);
    this.queuedBytes += bytes;
    this.queuedBytesOf.set(spaceId, ofApp);
    this.schedule();
    return true;
  }

  /** The check of the batch that the store has not answered for; `undefined` if there is none. */
  get unanswered(): string | undefined {
    return this.sent?.batch.check;
  }

  /** Bytes of messages that wait for the store. */
  get waitingBytes(): number {
    return this.queuedBytes;
  }

  /** Resolves when nothing waits any more, at the latest when the last message was given up. From then on nothing is appended. */
  async close(): Promise<void> {
    if (this.queue.length > 0 || (this.sent && !this.sent.isUnknown))
      await new Promise<void>((resolve) => this.idle.push(resolve));
    this.isClosed = true;
  }

  private schedule(): void {
    if (this.isScheduled || this.sent || this.queue.length === 0) return;
    this.isScheduled = true;
    this.parts.defer(() => {
      this.isScheduled = false;
      this.flush();
    });
  }

  private flush(): void {
    if (this.sent || this.queue.length === 0) return;
    const appends = this.take();
    const batch: Batch = { check: randomBase36(), messages: appends.map(({ message }) => message) };
    const sent: Sent = { batch, appends, sinceMs: this.parts.clock.monotonicMs(), isUnknown: false };
    this.sent = sent;
    this.watch();
    void this.send(sent);
  }

  private take(): Append[] {
    const maxCount = this.parts.store.isShared ? BATCH_MAX_MESSAGES : EMBEDDED_BATCH_MAX_MESSAGES;
    let count = 0;
    let bytes = 0;
    for (const { message } of this.queue) {
      if (count === maxCount || (count > 0 && bytes + message.bytes > BATCH_MAX_BYTES)) break;
      bytes += message.bytes;
      count++;
    }
    this.queuedBytes -= bytes;
    if (count === this.queue.length) {
      const all = this.queue;
      this.queue = [];
      this.queuedBytesOf.clear();
      return all;
    }
    const taken = this.queue.splice(0, count);
    for (const { message } of taken) this.countTaken(message);
    return taken;
  }

  private countTaken({ spaceId, bytes }: NewMessage): void {
    const left = (this.queuedBytesOf.get(spaceId) ?? 0) - bytes;
    if (left > 0) this.queuedBytesOf.set(spaceId, left);
    else this.queuedBytesOf.delete(spaceId);
  }

  private async send(sent: Sent): Promise<void> {
    try {
      this.known(sent, await this.parts.store.append(sent.batch));
    } catch {
      // The calls of the store are counted and logged elsewhere (metered.ts, trimming.ts).
      this.unknown(sent);
    }
  }

  /** The fate of a batch is known; `undefined`: none of it is stored. */
  private known(sent: Sent, appended: readonly Appended[] | undefined): void {
    if (this.sent !== sent) return;
    this.sent = undefined;
    let at = 0;
    const nowMs = this.parts.clock.monotonicMs();
    for (const one of sent.appends) {
      const result = appended?.[at++];
      if (!sent.isUnknown) this.done(one, result, nowMs);
      else if (result && !result.isDuplicate) this.lateStored(one, result);
    }
    this.schedule();
    this.reportIdle();
  }

  private unknown(sent: Sent): void {
    if (this.sent !== sent || sent.isUnknown) return;
    sent.isUnknown = true;
    const nowMs = this.parts.clock.monotonicMs();
    for (const one of sent.appends) this.done(one, undefined, nowMs);
    this.reportIdle();
    this.settle(sent, SETTLE_AGAIN_MIN_MS);
  }

  /** Asks until the store answers. An attempt that is not answered is followed by the next one: any answer counts. */
  private settle(sent: Sent, againMs: number): void {
    if (this.sent !== sent || this.isClosed) return;
    const { store, clock } = this.parts;
    let isOver = false;
    const retry = (): void => {
      if (isOver) return;
      isOver = true;
      clock.after(againMs, () => this.settle(sent, Math.min(againMs * 2, SETTLE_AGAIN_MAX_MS)));
    };
    clock.after(SETTLE_MAX_MS, retry);
    store.settle(sent.batch).then((appended) => {
      isOver = true;
      this.known(sent, appended);
    }, retry);
  }

  /** One timer for everything that waits, whatever the number of batches. */
  private watch(): void {
    if (this.isTimerSet || (!this.sent && this.queue.length === 0)) return;
    this.isTimerSet = true;
    this.parts.clock.after(CHECK_EVERY_MS, () => {
      this.isTimerSet = false;
      this.check();
      this.watch();
    });
  }

  private check(): void {
    const nowMs = this.parts.clock.monotonicMs();
    const sinceMs = nowMs - APPEND_MAX_MS;
    const { sent } = this;
    if (sent && sent.sinceMs <= sinceMs) this.unknown(sent);
    let expired = 0;
    for (const one of this.queue) {
      if (one.sinceMs > sinceMs) break;
      this.queuedBytes -= one.message.bytes;
      this.countTaken(one.message);
      expired++;
    }
    for (const one of this.queue.splice(0, expired)) this.done(one, undefined, nowMs);
    this.reportIdle();
  }

  /** A callback that throws must not cost the other messages of its batch their answer. */
  private done(one: Append, appended: Appended | undefined, nowMs: number): void {
    try {
      one.done(appended, nowMs);
    } catch (error) {
      this.parts.failed(error);
    }
  }

  private lateStored({ message }: Append, appended: Appended): void {
    try {
      this.parts.lateStored(message, appended);
    } catch (error) {
      this.parts.failed(error);
    }
  }

  private reportIdle(): void {
    if (this.idle.length === 0 || this.queue.length > 0 || (this.sent && !this.sent.isUnknown)) return;
    for (const resolve of this.idle.splice(0)) resolve();
  }
}
