/** What applications have used this period: messages and connections, counted here, kept by the store. */
import { USAGE_FLUSH_MS } from "../protocol/limits.ts";
import type { Store, UsageRow } from "../store/store.ts";
import type { Log } from "../telemetry/log.ts";
import type { Clock } from "./clock.ts";

class Count {
  /** Of this period, what the store knows and what is not flushed yet. */
  messages = 0;
  unflushed = 0;
  connections = 0;
  peak = 0;
  peakChanged = false;
}

export interface Period {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** A calendar month, UTC. */
export function periodOf(nowMs: number): Period {
  const now = new Date(nowMs);
  const month = (offset: number): number => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1) / 1000;
  return { startSeconds: month(0), endSeconds: month(1) };
}

export class Usage {
  private readonly counts = new Map<string, Count>();
  private period: Period;
  private stopped = false;
  private flushing: Promise<void> = Promise.resolve();
  /** What the store would not take: tried again with the next flush. */
  private unwritten: UsageRow[] = [];

  constructor(
    private readonly store: Store,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {
    this.period = periodOf(clock.nowMs());
  }

  async load(): Promise<void> {
    for (const row of await this.store.usage(this.period.startSeconds)) {
      const count = this.of(row.app);
      count.messages = row.messages;
      count.peak = row.peakConnections;
    }
    this.flushLater();
  }

  of(app: string): Count {
    let count = this.counts.get(app);
    if (!count) {
      count = new Count();
      this.counts.set(app, count);
    }
    return count;
  }

  connected(app: string): void {
    const count = this.of(app);
    count.connections++;
    if (count.connections > count.peak) {
      count.peak = count.connections;
      count.peakChanged = true;
    }
  }

  disconnected(app: string): void {
    this.of(app).connections--;
  }

  /** An accepted publish or send. */
  message(app: string): void {
    const count = this.of(app);
    count.messages++;
    count.unflushed++;
  }

  messagesUsed(app: string): number {
    return this.counts.get(app)?.messages ?? 0;
  }

  current(): Period {
    if (this.clock.nowMs() / 1000 >= this.period.endSeconds) this.turn();
    return this.period;
  }

  /** Resolves when everything counted so far is in the store, or the attempt has failed. */
  flush(): Promise<void> {
    const rows = this.take();
    if (rows.length > 0) this.flushing = this.flushing.then(() => this.write(rows));
    return this.flushing;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.flush();
  }

  private flushLater(): void {
    this.clock.after(USAGE_FLUSH_MS, () => {
      if (this.stopped) return;
      this.current();
      void this.flush().then(() => this.flushLater());
    });
  }

  private take(): UsageRow[] {
    const rows = this.unwritten;
    this.unwritten = [];
    for (const [app, count] of this.counts) {
      if (count.unflushed === 0 && !count.peakChanged) continue;
      rows.push({ app, period: this.period.startSeconds, messages: count.unflushed, peakConnections: count.peak });
      count.unflushed = 0;
      count.peakChanged = false;
    }
    return rows;
  }

  private async write(rows: readonly UsageRow[]): Promise<void> {
    try {
      await this.store.addUsage(rows);
    } catch (error) {
      this.log.error({ err: error }, "usage could not be written; it is kept for the next attempt");
      this.unwritten.push(...rows);
    }
  }

  /** A new month: what belongs to the old one is written under it, then everything begins anew. */
  private turn(): void {
    void this.flush();
    this.period = periodOf(this.clock.nowMs());
    for (const count of this.counts.values()) {
      count.messages = 0;
      count.peak = count.connections;
      count.peakChanged = count.connections > 0;
    }
  }
}
