/**
 * The sweep, at the start and every hour: ends abandoned uploads, removes bytes whose row is gone, deletes recordings past their application's
 * retention, and handles strays (strays.ts). Recordings of a deleted application are deleted by an extra sweep, and by the next one if
 * that was interrupted.
 *
 * Several nodes may sweep at once: the node whose statement changed a row acts on it, and removing the same bytes twice does no harm.
 */
import type { AppId } from "../base/ids.ts";
import { withBreaks } from "../base/other-work.ts";
import type { RecordingStore } from "../store/contract/recordings.ts";
import type { AppRow } from "../store/contract/store.ts";
import type { Faults } from "../telemetry/faults.ts";
import type { Log } from "../telemetry/log.ts";
import { UPLOAD_ABANDONED_MS } from "./budgets/limits.ts";
import type { RecordingMetrics } from "./budgets/metrics.ts";
import type { Recordings } from "./recordings.ts";
import type { Removals } from "./removals.ts";
import type { Ownership, Standing } from "./storage/ownership.ts";
import { discardBytes, type Place, type Storage } from "./storage/storage.ts";
import type { Strays, SweptStrays } from "./strays.ts";
import { placeOf, type UploadLocks } from "./uploads/locks.ts";

interface SweepParts {
  readonly store: RecordingStore;
  readonly storage: Storage;
  readonly recordings: Recordings;
  readonly strays: Strays;
  readonly ownership: Ownership;
  readonly removals: Pick<Removals, "areHeld">;
  readonly locks: UploadLocks;
  readonly metrics: RecordingMetrics;
  readonly faults: Pick<Faults, "guarded">;
  readonly log: Pick<Log, "info" | "error">;
  readonly nowMs: () => number;
  /** Unix ms that recordings, uploads and files are too old by (base/clock.ts). */
  readonly retentionMs: () => number;
  readonly apps: () => Promise<readonly Pick<AppRow, "id" | "retentionDays">[]>;
}

export interface Swept extends SweptStrays {
  readonly abandoned: number;
  readonly expired: number;
}

const NO_STRAYS: SweptStrays = { strays: 0, leftovers: 0, restored: 0, purged: 0 };

const SWEEP_EVERY_MS = 3_600_000;
/** Strays are searched for in every 24th sweep, because listing all files can take long. */
const STRAYS_EVERY_SWEEPS = 24;
const DAY_MS = 24 * 3_600_000;
const ROWS_AT_ONCE = 200;
/** Uploads that are discarded before other work of the process gets its turn. */
const DISCARDED_AT_ONCE = 10;

export class Sweep {
  private timer: Timer | undefined;
  private running: Promise<unknown> = Promise.resolve();
  private sweeps = 0;
  private isStopped = false;

  constructor(private readonly parts: SweepParts) {}

  /** Does not wait for the first sweep. */
  start(): void {
    this.timer = setInterval(
      this.parts.faults.guarded("timer", () => this.sweep()),
      SWEEP_EVERY_MS,
    );
    this.sweep();
  }

  /** Sweeps in the background, because an application was deleted. */
  soon(): void {
    if (!this.isStopped) this.sweep();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    clearInterval(this.timer);
    await this.running;
  }

  private sweep(): void {
    this.running = this.running.then(async () => {
      const { log, metrics } = this.parts;
      try {
        const swept = await this.run(this.sweeps++ % STRAYS_EVERY_SWEEPS === 0);
        metrics.sweeps.inc();
        if (Object.values(swept).some((count) => count > 0)) log.info(swept, "recordings swept");
      } catch (err) {
        metrics.failedSweeps.inc();
        log.error({ err }, "the storage of recordings could not be swept; the next sweep tries again");
      }
    });
  }

  async run(withStrays: boolean): Promise<Swept> {
    const { ownership, strays } = this.parts;
    const isStopped = (): boolean => this.isStopped;
    // The next one removes what a backup needs now.
    if (await this.parts.removals.areHeld()) return { abandoned: 0, expired: 0, ...NO_STRAYS };
    // In a missing storage nothing can be removed: rows that say otherwise would be wrong once the storage is available again.
    if (await ownership.isMissing(true))
      return { abandoned: 0, expired: 0, ...(await strays.sweep("missing", isStopped)) };
    await this.removeDeleted();
    await this.deleteOfDeletedApps();
    // Before discarded uploads, whose finished files would be set aside instead.
    await this.parts.recordings.removeUnused();
    // After the removals: files that are about to be removed would count as files that the store does not know.
    const standing = await ownership.determine();
    const abandoned = await this.discardAbandoned();
    await this.removeDiscarded(standing);
    return {
      abandoned,
      expired: await this.deleteExpired(),
      ...(withStrays ? await strays.sweep(standing, isStopped) : NO_STRAYS),
    };
  }

  /** Removes the bytes of uploads that were discarded now, or before a crash. */
  private async removeDiscarded(standing: Standing): Promise<void> {
    const { store, log } = this.parts;
    let failed = 0;
    while (!this.isStopped) {
      const rows = await store.discardedUploads(ROWS_AT_ONCE, failed);
      if (rows.length === 0) return;
      for (const row of rows) {
        try {
          await this.removeUpload(placeOf(row), standing);
          await store.forgetUpload(row.id);
        } catch (err) {
          // One failure must not stop the other removals, nor the rest of the sweep.
          failed++;
          log.error({ err }, "the bytes of an upload that has ended could not be removed; the next sweep tries again");
        }
      }
    }
  }

  /** In another store's storage, bytes under the same id may be that store's: its own sweep removes them. */
  private async removeUpload(place: Place, standing: Standing): Promise<void> {
    if (standing !== "own") return;
    await discardBytes(this.parts.storage, place);
    await this.parts.strays.setAsideFinished(place);
  }

  private async removeDeleted(): Promise<void> {
    const { store, recordings } = this.parts;
    let last = "";
    for (;;) {
      const places = await store.deletedRecordings(ROWS_AT_ONCE);
      // The first is the same as before: they cannot be removed at the moment.
      if (places.length === 0 || places[0]?.id === last || this.isStopped) return;
      last = places[0]?.id ?? "";
      await recordings.removeBytes(places.map((place) => ({ ...place, locator: "" })));
    }
  }

  private async deleteOfDeletedApps(): Promise<void> {
    const { store, nowMs } = this.parts;
    for (const app of await store.deletedApps()) {
      for await (const { id } of withBreaks(await store.uploadsOf(app), DISCARDED_AT_ONCE))
        await store.discardUpload(id, nowMs());
      await this.deleteOlder(app, Number.POSITIVE_INFINITY);
    }
  }

  private async discardAbandoned(): Promise<number> {
    const { store, locks, metrics, nowMs, retentionMs } = this.parts;
    const before = retentionMs() - UPLOAD_ABANDONED_MS;
    let discarded = 0;
    const untouched = await store.uploadsTouchedBefore(before, ROWS_AT_ONCE);
    for await (const { id } of withBreaks(untouched, DISCARDED_AT_ONCE)) {
      if (locks.isBusy(id) || !(await store.discardUpload(id, nowMs(), before))) continue;
      discarded++;
      metrics.abandoned.inc();
    }
    return discarded === ROWS_AT_ONCE && !this.isStopped ? discarded + (await this.discardAbandoned()) : discarded;
  }

  private async deleteExpired(): Promise<number> {
    const { apps, retentionMs } = this.parts;
    let expired = 0;
    for (const { id, retentionDays } of await apps())
      if (retentionDays !== null) expired += await this.deleteOlder(id, retentionMs() - retentionDays * DAY_MS);
    return expired;
  }

  /** Recordings are in the order of completion, so the oldest come first. */
  private async deleteOlder(app: AppId, before: number): Promise<number> {
    const { store, recordings, metrics } = this.parts;
    let deleted = 0;
    while (!this.isStopped) {
      const oldest = await store.page(app, { filter: {}, order: "asc", limit: ROWS_AT_ONCE, isPatient: true });
      const due = oldest.filter(({ completed }) => completed < before).map(({ id }) => id);
      deleted += await recordings.deleteRows(app, due, metrics.expired);
      if (due.length < ROWS_AT_ONCE) break;
    }
    return deleted;
  }
}
