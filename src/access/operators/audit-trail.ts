/**
 * The audit: every change by operators, applications and commands, kept in the store. Changes by operators are written before they are answered. Changes that
 * applications make with their own secret keys are queued and written in batches, so that their calls do not wait for it.
 */
import type { AppId } from "../../base/ids.ts";
import { otherWork } from "../../base/other-work.ts";
import { Repeating } from "../../base/repeating.ts";
import type { AuditRow } from "../../store/contract/operators.ts";
import type { Store } from "../../store/contract/store.ts";
import { newObjectId } from "../keys/ids.ts";
import { AUDIT_DAYS, AUDIT_PER_APP_MAX } from "../limits.ts";

const FLUSH_EVERY_MS = 1000;
const SWEEP_EVERY_MS = 60_000;
const DAY_MS = 86_400_000;
/** Bounds of the queue: in all, and per application, so that one cannot use it up. */
const PENDING_MAX = 5000;
const PENDING_PER_APP_MAX = 1000;
/** Rows per transaction and per statement of a sweep: other work gets its turn in between. */
const SLICE_ROWS = 100;
/** Slices per sweep and application; the rest is left to the next sweep. */
const SLICES_PER_SWEEP = 100;
const TEXT_MAX_CHARS = 256;
const DETAILS_MAX_CHARS = 16_384;

export interface AuditEntry {
  readonly who: string;
  readonly what: string;
  readonly on: string;
  readonly app?: AppId | undefined;
  readonly address?: string | undefined;
  readonly before?: Readonly<Record<string, unknown>> | undefined;
  readonly after?: Readonly<Record<string, unknown>> | undefined;
}

interface AuditTrailParts {
  readonly store: Pick<Store, "audit">;
  readonly nowMs: () => number;
  /** Unix ms that entries are too old by (base/clock.ts). */
  readonly retentionMs: () => number;
  readonly failed: (error: unknown) => void;
  /** Changes of applications that were not recorded because the queue was full. */
  readonly dropped: (count: number) => void;
}

export class AuditTrail {
  // Bound: PENDING_MAX, and PENDING_PER_APP_MAX of one application; further ones are counted in the log and not recorded.
  private pending: AuditRow[] = [];
  // Bound: the applications of the pending rows.
  private readonly pendingByApp = new Map<AppId, number>();
  // Bound: one per application that has changed something since the last sweep.
  private readonly toTrim = new Set<AppId>();
  private droppedCount = 0;
  private flushing: Promise<void> = Promise.resolve();
  private readonly flusher: Repeating;
  private readonly sweeper: Repeating;

  constructor(private readonly parts: AuditTrailParts) {
    this.flusher = new Repeating(FLUSH_EVERY_MS, () => this.flush(), parts.failed);
    this.sweeper = new Repeating(SWEEP_EVERY_MS, () => this.sweep(), parts.failed);
  }

  start(): void {
    this.flusher.start();
    this.sweeper.start();
  }

  async stop(): Promise<void> {
    await this.flusher.stop();
    await this.sweeper.stop();
    await this.flush().catch(this.parts.failed);
  }

  /** Resolves when it is written. Never rejects: the change was made, and the log has it too. */
  async record(entry: AuditEntry): Promise<void> {
    await this.parts.store.audit.add([this.rowOf(entry, false)]).catch(this.parts.failed);
  }

  /** For changes that an application has made itself. */
  recordByApp(entry: AuditEntry & { readonly app: AppId }): void {
    const ofApp = this.pendingByApp.get(entry.app) ?? 0;
    if (this.pending.length >= PENDING_MAX || ofApp >= PENDING_PER_APP_MAX) {
      this.droppedCount++;
      return;
    }
    this.pending.push(this.rowOf(entry, true));
    this.pendingByApp.set(entry.app, ofApp + 1);
  }

  /** Writes what is pending. If that fails, it stays pending. */
  flush(): Promise<void> {
    this.flushing = this.flushing.catch(() => undefined).then(() => this.writePending());
    return this.flushing;
  }

  /** Removes what is too old, and what applications have beyond their bound. */
  async sweep(): Promise<void> {
    const { audit } = this.parts.store;
    const oldest = this.parts.retentionMs() - AUDIT_DAYS * DAY_MS;
    await inSlices(() => audit.removeBefore(oldest, SLICE_ROWS));
    for (const app of [...this.toTrim]) {
      this.toTrim.delete(app);
      await inSlices(() => audit.trim(app, AUDIT_PER_APP_MAX, SLICE_ROWS));
    }
  }

  private async writePending(): Promise<void> {
    const dropped = this.droppedCount;
    this.droppedCount = 0;
    if (dropped > 0) this.parts.dropped(dropped);
    while (this.pending.length > 0) {
      const slice = this.pending.slice(0, SLICE_ROWS);
      await this.parts.store.audit.add(slice);
      this.pending = this.pending.slice(slice.length);
      for (const { app } of slice) if (app !== null) this.written(app);
      await otherWork();
    }
  }

  private written(app: AppId): void {
    this.toTrim.add(app);
    const left = (this.pendingByApp.get(app) ?? 1) - 1;
    if (left > 0) this.pendingByApp.set(app, left);
    else this.pendingByApp.delete(app);
  }

  private rowOf(entry: AuditEntry, byApp: boolean): AuditRow {
    const at = this.parts.nowMs();
    return {
      id: newObjectId(at),
      at,
      who: bounded(entry.who),
      what: bounded(entry.what),
      on: bounded(entry.on),
      app: entry.app ?? null,
      address: entry.address ?? null,
      before: boundedDetails(entry.before),
      after: boundedDetails(entry.after),
      byApp,
    };
  }
}

async function inSlices(removeSome: () => Promise<number>): Promise<void> {
  for (let i = 0; i < SLICES_PER_SWEEP; i++) {
    const removed = await removeSome();
    await otherWork();
    if (removed < SLICE_ROWS) return;
  }
}

const bounded = (text: string): string => text.slice(0, TEXT_MAX_CHARS).toWellFormed();

function boundedDetails(details: AuditEntry["before"]): AuditRow["before"] {
  if (details === undefined) return null;
  return JSON.stringify(details).length <= DETAILS_MAX_CHARS ? details : { isTooLong: true };
}
