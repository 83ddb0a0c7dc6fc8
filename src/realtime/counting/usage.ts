/** The messages and peak connections of each application in this period: counted here, stored by the store. */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import type { AppId } from "../../base/ids.ts";
import type { Store, UsageRow } from "../../store/contract/store.ts";
import type { Log } from "../../telemetry/log.ts";
import { ReachedQuotas } from "./reached-quotas.ts";

const USAGE_FLUSH_MS = 5000;

export class Count {
  /** Messages of all nodes in this period, as the store had them when it was last read. */
  stored = 0;
  /** Messages counted here that are not in `stored` yet: waiting for a flush, or being written. */
  unstored = 0;
  /** Those of `unstored` that wait for a flush. */
  unflushed = 0;
  /** Those of the three above that guests of rooms have sent. */
  readonly guests = { stored: 0, unstored: 0, unflushed: 0 };
  /** Connections on this node. */
  connections = 0;
  /** The most connections on all nodes together. */
  peak = 0;
  peakChanged = false;

  get messages(): number {
    return this.stored + this.unstored;
  }

  /** An accepted publish or send. */
  countMessage(): void {
    this.unstored++;
    this.unflushed++;
  }

  countGuestMessage(): void {
    this.countMessage();
    this.guests.unstored++;
    this.guests.unflushed++;
  }

  /** There are this many connections on all nodes together. */
  recordConnections(connections: number): void {
    if (connections <= this.peak) return;
    this.peak = connections;
    this.peakChanged = true;
  }
}

export interface Period {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** A month that the clock was set back out of by less goes on: around its first moment it must not change again and again. */
const SET_BACK_SECONDS = 3600;

/** A calendar month, UTC. */
export function periodOf(nowMs: number): Period {
  const now = new Date(nowMs);
  const month = (offset: number): number => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1) / 1000;
  return { startSeconds: month(0), endSeconds: month(1) };
}

/** One row per application and period: a store that is unreachable for long must not leave one for every attempt. */
const summed = (rows: readonly UsageRow[]): UsageRow[] =>
  [...Map.groupBy(rows, ({ app, period }) => `${app} ${period}`).values()].map((same) => ({
    ...(same[0] as UsageRow),
    messages: same.reduce((sum, row) => sum + row.messages, 0),
    guestMessages: same.reduce((sum, row) => sum + row.guestMessages, 0),
    peakConnections: Math.max(...same.map((row) => row.peakConnections)),
  }));

/** What is written at once. */
interface Batch {
  readonly seq: number;
  readonly rows: readonly UsageRow[];
}

export class Usage {
  /** The usage of this month. Bound: one per application. */
  private readonly counts = new Map<AppId, Count>();
  private period: Period;
  readonly reached = new ReachedQuotas(() => this.period.startSeconds);
  private stopped = false;
  private flushing: Promise<void> = Promise.resolve();
  private next: Promise<void> | undefined;
  /** Rows for the next batch. Bound: one row per application and period. */
  private taken: UsageRow[] = [];
  /**
   * The batch that is being written, or whose write has failed. The store may have it in spite of that, so it is repeated unchanged: then
   * the store recognises it by its number. Bound: as `taken`.
   */
  private batch: Batch | undefined;
  /** Batches are numbered for the store under this id. */
  private readonly writer = randomUUID();
  private lastSeq = 0;
  /** What the store has of this period was read since it began. */
  private isRead = false;

  constructor(
    private readonly store: Store,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {
    this.period = periodOf(clock.wallMs());
  }

  async load(): Promise<void> {
    await this.read();
    this.flushLater();
  }

  /** Reads what the store has: where it is shared, other nodes have written to it too. */
  private async read(): Promise<void> {
    const { startSeconds } = this.period;
    const rows = await this.store.usage(startSeconds);
    // A new month has begun meanwhile.
    if (startSeconds !== this.period.startSeconds) return;
    for (const row of rows) {
      const count = this.of(row.app);
      count.stored = row.messages;
      count.guests.stored = row.guestMessages;
      count.peak = Math.max(count.peak, row.peakConnections);
    }
    this.isRead = true;
  }

  /** The same object as long as the process runs. */
  of(app: AppId): Count {
    let count = this.counts.get(app);
    if (!count) {
      count = new Count();
      this.counts.set(app, count);
    }
    return count;
  }

  /** `elsewhere`: connections of the application on other nodes. */
  connected(app: AppId, elsewhere = 0): void {
    const count = this.of(app);
    count.connections++;
    count.recordConnections(count.connections + elsewhere);
  }

  /** An application has this many connections on all nodes together. */
  recordConnections(app: AppId, connections: number): void {
    this.of(app).recordConnections(connections);
  }

  disconnected(app: AppId): void {
    this.of(app).connections--;
  }

  /** An accepted publish or send. */
  message(app: AppId, isOfGuest = false): void {
    if (isOfGuest) this.of(app).countGuestMessage();
    else this.of(app).countMessage();
  }

  messagesUsed(app: AppId): number {
    return this.counts.get(app)?.messages ?? 0;
  }

  /** Those of `messagesUsed` that guests of rooms have sent. */
  usedByGuests(app: AppId): number {
    const guests = this.counts.get(app)?.guests;
    return guests ? guests.stored + guests.unstored : 0;
  }

  current(): Period {
    const { startSeconds, endSeconds } = this.period;
    const nowSeconds = this.clock.wallMs() / 1000;
    if (nowSeconds >= endSeconds || nowSeconds < startSeconds - SET_BACK_SECONDS) this.startPeriod();
    return this.period;
  }

  /** Resolves when everything counted so far is in the store, or the attempt has failed. */
  flush(): Promise<void> {
    this.taken = summed([...this.taken, ...this.take()]);
    if (!this.batch && this.taken.length === 0 && !this.store.isShared && this.isRead) return this.flushing;
    // Calls share a flush that has not begun yet, so that a slow store causes no queue.
    this.next ??= this.flushing.then(() => {
      this.next = undefined;
      this.flushing = this.write();
      return this.flushing;
    });
    return this.next;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.flush();
  }

  private flushLater(): void {
    this.clock.after(USAGE_FLUSH_MS, async () => {
      if (this.stopped) return;
      try {
        this.current();
        await this.flush();
      } finally {
        // Even after an exception: without the next flush usage would stay in memory until the process ends.
        this.flushLater();
      }
    });
  }

  private take(): UsageRow[] {
    const rows: UsageRow[] = [];
    for (const [app, count] of this.counts) {
      if (count.unflushed === 0 && !count.peakChanged) continue;
      const { unflushed: messages, guests, peak: peakConnections } = count;
      const guestMessages = guests.unflushed;
      rows.push({ app, period: this.period.startSeconds, messages, guestMessages, peakConnections });
      count.unflushed = 0;
      guests.unflushed = 0;
      count.peakChanged = false;
    }
    return rows;
  }

  private async write(): Promise<void> {
    try {
      if (this.batch) await this.writeBatch(this.batch);
      if (this.taken.length > 0) {
        const batch = { seq: ++this.lastSeq, rows: this.taken };
        this.taken = [];
        await this.writeBatch(batch);
      }
    } catch (error) {
      this.log.error({ err: error }, "usage could not be written; keeping it for the next attempt");
      return;
    }
    if (!this.store.isShared && this.isRead) return;
    try {
      await this.read();
    } catch (err) {
      this.log.error({ err }, "usage of other nodes, or of before the clock was set, could not be read");
    }
  }

  private async writeBatch(batch: Batch): Promise<void> {
    this.batch = batch;
    await this.store.addUsage(batch.rows, { writer: this.writer, seq: batch.seq, atMs: this.clock.wallMs() });
    this.batch = undefined;
    for (const { app, period, messages, guestMessages } of batch.rows) {
      if (period !== this.period.startSeconds) continue;
      const count = this.of(app);
      count.stored += messages;
      count.unstored -= messages;
      count.guests.stored += guestMessages;
      count.guests.unstored -= guestMessages;
    }
  }

  /** Another month begins: usage of the old one is written under it, then the counts begin at zero, or go on with what is stored. */
  private startPeriod(): void {
    this.taken = summed([...this.taken, ...this.take()]);
    this.period = periodOf(this.clock.wallMs());
    // Also of a month that should be new: a clock that was ahead may have counted messages in it.
    this.isRead = false;
    for (const count of this.counts.values()) {
      count.stored = 0;
      count.unstored = 0;
      count.guests.stored = 0;
      count.guests.unstored = 0;
      count.peak = count.connections;
      count.peakChanged = count.connections > 0;
    }
    // After the clock was wrong, rows of this month may wait from before: writing them moves their messages from `unstored` to `stored`.
    for (const { app, period, messages, guestMessages } of [...(this.batch?.rows ?? []), ...this.taken]) {
      if (period !== this.period.startSeconds) continue;
      const count = this.of(app);
      count.unstored += messages;
      count.guests.unstored += guestMessages;
    }
    void this.flush();
  }
}
