/**
 * Writes of this node to created streams, and over HTTP to channels with history, in batches: one batch at a time, in the order in which
 * the writes came. What arrives meanwhile is the next batch.
 *
 * A client that gets an error of the server repeats its write, some of them without end, and what has no producer would be stored twice. So a
 * batch that the store has not answered for is settled first: its writes are answered when it is known what became of them, and given up
 * only after ANSWER_MAX_MS. Nothing else is written meanwhile: the store remembers the last batch of a writer only.
 */
import type { Clock } from "../base/clock.ts";
import type { CreatedStreamStore, Write, WriteBatch, Written } from "./contract/created-streams.ts";
import { randomBase36 } from "./contract/random.ts";

/** One batch. A single write may have more. */
const BATCH_MAX_WRITES = 64;
const BATCH_MAX_MESSAGES = 1000;
const BATCH_MAX_BYTES = 4 * 1024 * 1024;
/** Writes that wait for the store, over all applications. */
const QUEUE_MAX_BYTES = 32 * 1024 * 1024;
/** The share of one application, so that it cannot make the writes of others be refused. */
const QUEUE_PER_APP_MAX_BYTES = QUEUE_MAX_BYTES / 4;
/** How long a write waits for its answer. */
const ANSWER_MAX_MS = 10_000;
/** How long the store may take for a batch before it is asked what became of it. */
const WRITE_MAX_MS = 2000;
/** How long it may take to say that before it is asked again. */
const SETTLE_MAX_MS = 5000;
const SETTLE_AGAIN_MIN_MS = 100;
const SETTLE_AGAIN_MAX_MS = 2000;
/** What a write takes beside its messages. */
const WRITE_BYTES = 512;
/** How often a wait for the store is checked. */
const CHECK_EVERY_MS = 250;

/** `unconfirmed`: it is not known whether it is stored, or too much waits. */
export type WriteOutcome = Written | "unconfirmed";

interface Waiting {
  readonly write: Write;
  readonly bytes: number;
  /** Monotonic ms. */
  readonly sinceMs: number;
  /** Called once. */
  answer: ((outcome: WriteOutcome) => void) | undefined;
}

interface StreamWritesParts {
  readonly store: Pick<CreatedStreamStore, "write" | "settle">;
  readonly clock: Pick<Clock, "monotonicMs" | "after">;
  /** Calls back when what has arrived already has been read from its sockets, so that it is one batch. */
  readonly defer: (callback: () => void) => void;
  /** Messages of a write are stored: called before it is answered, also if it was given up before. */
  readonly stored: (write: Write, written: Written) => void;
  /** A write was given up: its client does not know whether it is stored. */
  readonly unconfirmed: () => void;
  /** A callback has thrown. */
  readonly failed: (error: unknown) => void;
}

interface Sent {
  readonly batch: WriteBatch;
  readonly waiting: readonly Waiting[];
  readonly sinceMs: number;
  isSettling: boolean;
}

export class StreamWrites {
  private readonly writer = randomBase36();
  /** Bound: QUEUE_MAX_BYTES, a quarter of it of one application. */
  private queue: Waiting[] = [];
  private queuedBytes = 0;
  /** The same by application. Bound: applications in `queue`. */
  private readonly queuedBytesOf = new Map<string, number>();
  private sent: Sent | undefined;
  private isScheduled = false;
  private isTimerSet = false;
  private isClosed = false;
  /** Calls that wait until nothing is on its way to the store. Bound: one, when the node stops. */
  private idle: (() => void)[] = [];

  constructor(private readonly parts: StreamWritesParts) {}

  write(write: Write): Promise<WriteOutcome> {
    const bytes = write.messages.reduce((sum, one) => sum + one.bytes, WRITE_BYTES);
    const ofApp = (this.queuedBytesOf.get(write.spaceId) ?? 0) + bytes;
    const isFull = this.queuedBytes + bytes > QUEUE_MAX_BYTES || ofApp > QUEUE_PER_APP_MAX_BYTES;
    if (this.isClosed || isFull) {
      this.parts.unconfirmed();
      return Promise.resolve("unconfirmed");
    }
    this.queuedBytes += bytes;
    this.queuedBytesOf.set(write.spaceId, ofApp);
    return new Promise((answer) => {
      this.queue.push({ write, bytes, sinceMs: this.parts.clock.monotonicMs(), answer });
      this.schedule();
    });
  }

  /** The check of the batch that the store has not answered for; `undefined` if there is none. */
  get unanswered(): string | undefined {
    return this.sent?.batch.check;
  }

  /** Bytes of writes that wait for the store. */
  get waitingBytes(): number {
    return this.queuedBytes;
  }

  /** Resolves when nothing waits any more, at the latest when the last write was given up. From then on nothing is written. */
  async close(): Promise<void> {
    if (!this.isIdle) await new Promise<void>((resolve) => this.idle.push(resolve));
    this.isClosed = true;
  }

  private get isIdle(): boolean {
    return this.queue.length === 0 && !this.sent?.waiting.some(({ answer }) => answer);
  }

  private schedule(): void {
    this.watch();
    if (this.isScheduled || this.sent || this.queue.length === 0) return;
    this.isScheduled = true;
    this.parts.defer(() => {
      this.isScheduled = false;
      this.flush();
    });
  }

  private flush(): void {
    if (this.sent || this.queue.length === 0) return;
    const waiting = this.take();
    const batch = { writer: this.writer, check: randomBase36(), writes: waiting.map(({ write }) => write) };
    const sent: Sent = { batch, waiting, sinceMs: this.parts.clock.monotonicMs(), isSettling: false };
    this.sent = sent;
    this.parts.store.write(batch).then(
      (results) => this.known(sent, results),
      () => this.settle(sent, SETTLE_AGAIN_MIN_MS),
    );
  }

  private take(): Waiting[] {
    let [count, messages, bytes] = [0, 0, 0];
    for (const one of this.queue) {
      messages += one.write.messages.length;
      bytes += one.bytes;
      const isOver = messages > BATCH_MAX_MESSAGES || bytes > BATCH_MAX_BYTES;
      if (count === BATCH_MAX_WRITES || (count > 0 && isOver)) break;
      count++;
    }
    return this.takeFirst(count);
  }

  private takeFirst(count: number): Waiting[] {
    const taken = this.queue.splice(0, count);
    for (const { write, bytes } of taken) {
      this.queuedBytes -= bytes;
      const left = (this.queuedBytesOf.get(write.spaceId) ?? 0) - bytes;
      if (left > 0) this.queuedBytesOf.set(write.spaceId, left);
      else this.queuedBytesOf.delete(write.spaceId);
    }
    return taken;
  }

  /** The fate of a batch is known; `undefined`: none of it is stored, and what is still waited for is written again. */
  private known(sent: Sent, results: readonly Written[] | undefined): void {
    if (this.sent !== sent) return;
    this.sent = undefined;
    if (results) for (const [at, one] of sent.waiting.entries()) this.answered(one, results[at]);
    else this.putBack(sent.waiting.filter(({ answer }) => answer));
    this.schedule();
    this.reportIdle();
  }

  private answered(one: Waiting, result: Written | undefined): void {
    try {
      if (result && "appended" in result && result.outcome === "written") this.parts.stored(one.write, result);
    } catch (error) {
      this.parts.failed(error);
    }
    this.answer(one, result ?? "unconfirmed");
  }

  private answer(one: Waiting, outcome: WriteOutcome): void {
    const { answer } = one;
    if (!answer) return;
    one.answer = undefined;
    if (outcome === "unconfirmed") this.parts.unconfirmed();
    answer(outcome);
  }

  /** They were first in the queue, and are so again. */
  private putBack(waiting: readonly Waiting[]): void {
    this.queue.unshift(...waiting);
    for (const { write, bytes } of waiting) {
      this.queuedBytes += bytes;
      this.queuedBytesOf.set(write.spaceId, (this.queuedBytesOf.get(write.spaceId) ?? 0) + bytes);
    }
  }

  /** Asks until the store answers. An attempt that is not answered is followed by the next one: any answer counts. */
  private settle(sent: Sent, againMs: number): void {
    if (this.sent !== sent || this.isClosed) return;
    sent.isSettling = true;
    const { store, clock } = this.parts;
    let isOver = false;
    const retry = (): void => {
      if (isOver) return;
      isOver = true;
      clock.after(againMs, () => this.settle(sent, Math.min(againMs * 2, SETTLE_AGAIN_MAX_MS)));
    };
    clock.after(SETTLE_MAX_MS, retry);
    store.settle(sent.batch).then((results) => {
      isOver = true;
      this.known(sent, results);
    }, retry);
  }

  /** One timer for everything that waits. */
  private watch(): void {
    if (this.isTimerSet || this.isIdle) return;
    this.isTimerSet = true;
    this.parts.clock.after(CHECK_EVERY_MS, () => {
      this.isTimerSet = false;
      this.check();
      this.watch();
    });
  }

  private check(): void {
    const { sent } = this;
    const nowMs = this.parts.clock.monotonicMs();
    if (sent && !sent.isSettling && nowMs - sent.sinceMs >= WRITE_MAX_MS) this.settle(sent, SETTLE_AGAIN_MIN_MS);
    const isLate = ({ sinceMs }: Waiting): boolean => nowMs - sinceMs >= ANSWER_MAX_MS;
    for (const one of sent?.waiting ?? []) if (isLate(one)) this.answer(one, "unconfirmed");
    const late = this.queue.findIndex((one) => !isLate(one));
    for (const one of this.takeFirst(late < 0 ? this.queue.length : late)) this.answer(one, "unconfirmed");
    this.reportIdle();
  }

  private reportIdle(): void {
    if (this.isIdle) for (const resolve of this.idle.splice(0)) resolve();
  }
}
