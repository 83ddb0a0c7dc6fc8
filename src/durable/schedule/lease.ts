/**
 * Which process makes a backup: one at a time, over all nodes and workers that share the store. The holder changes the text of its lease while it
 * works. Others take over from a text that has not changed for LEASE_MS, as they see it: clocks of nodes need not agree, and no lock of the store is
 * held for hours. An embedded store has one process; a lease of another one is that of a process that has ended.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import type { Change, Store } from "../../store/contract/store.ts";

const NAME = "backup_lease";
const FREE = "";
const LEASE_MS = 90_000;
export const LEASE_RENEW_EVERY_MS = 30_000;

interface Held {
  /** A random id of the process. */
  readonly by: string;
  /** Raised with every renewal. */
  readonly beat: number;
  /** Unix ms. */
  readonly sinceMs: number;
}

export class BackupLease {
  private readonly id = randomUUID();
  /** The last text of another process, and since when it has been the same. */
  private seen: { readonly text: string; readonly sinceMs: number } | undefined;

  constructor(
    private readonly store: Pick<Store, "meta" | "change" | "isShared">,
    private readonly clock: Pick<Clock, "wallMs" | "monotonicMs">,
  ) {}

  /** Since when another process has it, in Unix ms; undefined: none has. */
  async heldElsewhereSince(): Promise<number | undefined> {
    return this.otherIn(await this.store.meta(NAME))?.sinceMs;
  }

  /** Whether this process has it now. */
  async take(): Promise<boolean> {
    // Without a change, which other nodes would have to read.
    if (this.otherIn(await this.store.meta(NAME))) return false;
    return this.store.change(async (change) => {
      if (this.otherIn(await change.meta(NAME))) return false;
      await put(change, { by: this.id, beat: 0, sinceMs: this.clock.wallMs() });
      return true;
    });
  }

  /** False: another process has taken over. */
  renew(): Promise<boolean> {
    return this.store.change(async (change) => {
      const held = parsed(await change.meta(NAME));
      if (held?.by !== this.id) return false;
      await put(change, { ...held, beat: held.beat + 1 });
      return true;
    });
  }

  /** Within a change of the store. */
  async release(change: Pick<Change, "meta" | "putMeta">): Promise<void> {
    if (parsed(await change.meta(NAME))?.by === this.id) await change.putMeta(NAME, FREE);
  }

  /** undefined: it is free, ours, or of a process that does not renew it. */
  private otherIn(text: string | undefined): Held | undefined {
    const held = parsed(text);
    if (text === undefined || !held || held.by === this.id || !this.store.isShared) return undefined;
    const nowMs = this.clock.monotonicMs();
    if (this.seen?.text !== text) this.seen = { text, sinceMs: nowMs };
    return nowMs - this.seen.sinceMs < LEASE_MS ? held : undefined;
  }
}

const put = (change: Pick<Change, "putMeta">, held: Held): Promise<void> => change.putMeta(NAME, JSON.stringify(held));

const parsed = (text: string | undefined): Held | undefined =>
  text === undefined || text === FREE ? undefined : (JSON.parse(text) as Held);
