/**
 * Makes events of what nodes write of their connections and members. Only the holder of the lease does: each turn reads what has changed,
 * compares it with what was said, and writes the events.
 */
import type { Clock } from "../../base/clock.ts";
import type { AppId } from "../../base/ids.ts";
import type { Derived, TrackingStore } from "../../store/contract/tracking.ts";
import type { Lost, WebhookEventType, WebhookLease } from "../../store/contract/webhooks.ts";
import { type Asked, type AskingBook, askedBy } from "../tracking/asked.ts";
import {
  CLOCK_SET_MS,
  DERIVE_AT_ONCE,
  DERIVE_ROWS,
  LEFT_ROWS_EVERY_MS,
  PAUSE_MAX_MS,
  RECONCILED_AFTER_MS,
  SILENT_MS,
  VACATED_HELD_MS,
} from "./limits.ts";

interface DerivingParts {
  readonly store: TrackingStore;
  readonly book: AskingBook;
  readonly clock: Pick<Clock, "monotonicMs" | "wallMs">;
}

export class Deriving {
  /** What endpoints ask for. Bound: applications with such endpoints. */
  private readonly asked = new Map<AppId, Asked>();
  /** Monotonic ms at which what was said of an application is compared with its rows. Bound: applications. */
  private readonly reconcileAt = new Map<AppId, number>();
  private lease = 0;
  /** Since when all turns have come in time. */
  private steadySinceMs = 0;
  private lastTurnMs = Number.NEGATIVE_INFINITY;
  /** What the time was ahead of the clock that no one sets. */
  private aheadMs = 0;
  private leftRowsAtMs = Number.NEGATIVE_INFINITY;
  /** Applications whose rows no one asks about. Bound: applications. */
  private readonly left = new Set<AppId>();

  constructor(private readonly parts: DerivingParts) {
    const { book } = parts;
    book.onChange((app) => this.changed(app));
    for (const app of book.apps) this.changed(app);
  }

  /** There is something to derive, or rows to remove: `turn` is worth calling. */
  get isAsked(): boolean {
    return this.asked.size > 0 || this.left.size > 0 || this.lease === 0;
  }

  private changed(app: AppId): void {
    const asked = askedBy(this.parts.book.of(app));
    if (asked.types.length > 0) this.asked.set(app, asked);
    else this.asked.delete(app);
    this.reconcileAt.set(app, this.parts.clock.monotonicMs() + RECONCILED_AFTER_MS);
    if (!asked.connections || !asked.members) this.left.add(app);
  }

  /** Called about every 100 ms. Returns how many events were written. */
  async turn(lease: WebhookLease): Promise<number | Lost> {
    this.began(lease);
    let events = 0;
    for (let i = 0; i < DERIVE_AT_ONCE; i++) {
      const derived = await this.parts.store.derive(lease, {
        limit: DERIVE_ROWS,
        silentMs: this.silentMs(),
        vacatedMs: VACATED_HELD_MS,
        asked: this.types,
      });
      if (derived === "lost") return this.lost();
      events += derived.events;
      if (!derived.more) break;
    }
    const reconciled = await this.reconcile(lease);
    if (reconciled === "lost") return this.lost();
    await this.forget();
    this.lastTurnMs = this.parts.clock.monotonicMs();
    return events + reconciled;
  }

  private lost(): Lost {
    this.lease = 0;
    return "lost";
  }

  private began({ number }: WebhookLease): void {
    const nowMs = this.parts.clock.monotonicMs();
    const aheadMs = this.parts.clock.wallMs() - nowMs;
    const isSet = Math.abs(aheadMs - this.aheadMs) > CLOCK_SET_MS;
    this.aheadMs = aheadMs;
    if (nowMs - this.lastTurnMs > PAUSE_MAX_MS || number !== this.lease || isSet) this.steadySinceMs = nowMs;
    if (number === this.lease) return;
    this.lease = number;
    // The holder before may not have come to it.
    for (const app of this.asked.keys()) this.reconcileAt.set(app, nowMs + RECONCILED_AFTER_MS);
    this.leftRowsAtMs = nowMs;
  }

  /** While the store, or this process, was away, no node could beat; and an embedded store has the clock of this machine, which may have been set. */
  private silentMs(): number | null {
    const isSteady = this.parts.clock.monotonicMs() - this.steadySinceMs >= SILENT_MS;
    return isSteady ? SILENT_MS : null;
  }

  private get types(): readonly (readonly [AppId, readonly WebhookEventType[]])[] {
    return [...this.asked].map(([app, { types }]) => [app, types] as const);
  }

  /** One application per turn. */
  private async reconcile(lease: WebhookLease): Promise<number | Lost> {
    const nowMs = this.parts.clock.monotonicMs();
    for (const [app, atMs] of this.reconcileAt) {
      if (atMs > nowMs) continue;
      const derived: Derived | Lost = this.asked.get(app)?.members
        ? await this.parts.store.reconcile(lease, app, { asked: this.types })
        : { events: 0, more: false };
      if (derived === "lost") return "lost";
      if (!derived.more) this.reconcileAt.delete(app);
      return derived.events;
    }
    return 0;
  }

  /** Removes rows that no one asks about: those of one application per turn, some at a time. */
  private async forget(): Promise<void> {
    const { store, clock } = this.parts;
    const nowMs = clock.monotonicMs();
    if (nowMs >= this.leftRowsAtMs) {
      this.leftRowsAtMs = nowMs + LEFT_ROWS_EVERY_MS;
      for (const app of await store.trackedApps()) this.left.add(app);
    }
    const [app] = this.left;
    if (app === undefined) return;
    const asked = this.asked.get(app);
    const hasConnections = !asked?.connections && (await store.forgetRows(app, "connections", DERIVE_ROWS));
    const hasMembers = !asked?.members && (await store.forgetRows(app, "members", DERIVE_ROWS));
    if (!hasConnections && !hasMembers) this.left.delete(app);
  }
}
