/**
 * What time and crashes leave behind, cleared up at the start and every hour: uploads that were abandoned, bytes whose row is gone
 * already, recordings past their application's retention, and strays (strays.ts). What a deleted application had goes
 * when it is told to, and with the next sweep if that was cut short.
 *
 * Several nodes may sweep at once. Whoever's statement ends a row is the one who acts on it; removing bytes twice does no harm.
 */

import type { RecordingStore } from "../store/recordings.ts";
import type { AppRow } from "../store/store.ts";
import type { Faults } from "../telemetry/faults.ts";
import type { Log } from "../telemetry/log.ts";
import type { Figures } from "./figures.ts";
import { UPLOAD_ABANDONED_MS } from "./limits.ts";
import type { Ownership, Standing } from "./ownership.ts";
import type { Recordings } from "./recordings.ts";
import { discardUpload, type Place, type Storage } from "./storage.ts";
import type { Strays, SweptStrays } from "./strays.ts";
import { placeOf, type Writers } from "./writers.ts";

export interface SweepParts {
  readonly store: RecordingStore;
  readonly storage: Storage;
  readonly recordings: Recordings;
  readonly strays: Strays;
  readonly ownership: Ownership;
  readonly writers: Writers;
  readonly figures: Figures;
  readonly faults: Pick<Faults, "guarded">;
  readonly log: Pick<Log, "info" | "error">;
  readonly nowMs: () => number;
  readonly apps: () => Promise<readonly Pick<AppRow, "id" | "retentionDays">[]>;
}

export interface Swept extends SweptStrays {
  readonly abandoned: number;
  readonly expired: number;
}

const NO_STRAYS: SweptStrays = { strays: 0, leftovers: 0, restored: 0, purged: 0 };

const SWEEP_EVERY_MS = 3_600_000;
/** Looking at every file takes a while where there are many. */
const STRAYS_EVERY_SWEEPS = 24;
const DAY_MS = 24 * 3_600_000;
const ROWS_AT_ONCE = 200;

export class Sweep {
  private timer: Timer | undefined;
  private running: Promise<unknown> = Promise.resolve();
  private sweeps = 0;
  private isStopped = false;

  constructor(private readonly parts: SweepParts) {}

  /** Does not wait for the first one. */
  start(): void {
    this.timer = setInterval(
      this.parts.faults.guarded("timer", () => this.sweep()),
      SWEEP_EVERY_MS,
    );
    this.sweep();
  }

  /** An application was deleted: what it had goes in the background. */
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
      const { log, figures } = this.parts;
      try {
        const swept = await this.run(this.sweeps++ % STRAYS_EVERY_SWEEPS === 0);
        figures.sweeps.inc();
        if (Object.values(swept).some((count) => count > 0)) log.info(swept, "recordings swept");
      } catch (err) {
        figures.failedSweeps.inc();
        log.error({ err }, "the storage of recordings could not be swept; the next sweep tries again");
      }
    });
  }

  async run(withStrays: boolean): Promise<Swept> {
    const { ownership, strays } = this.parts;
    const isStopped = (): boolean => this.isStopped;
    // Bytes that are not there cannot be removed: rows that say so would be wrong when the storage is back.
    if (await ownership.isMissing(true))
      return { abandoned: 0, expired: 0, ...(await strays.sweep("missing", isStopped)) };
    await this.removeDeleted();
    await this.deleteOfDeletedApps();
    // After these: files that are to go anyway would count as files that the store does not know.
    const standing = await ownership.settle();
    const abandoned = await this.endAbandoned();
    await this.removeEnded(standing);
    return {
      abandoned,
      expired: await this.deleteExpired(),
      ...(withStrays ? await strays.sweep(standing, isStopped) : NO_STRAYS),
    };
  }

  /** Uploads that were ended just now, or before a crash that left their bytes. */
  private async removeEnded(standing: Standing): Promise<void> {
    const { store, log } = this.parts;
    let stuck = 0;
    while (!this.isStopped) {
      const rows = await store.endedUploads(ROWS_AT_ONCE, stuck);
      if (rows.length === 0) return;
      for (const row of rows) {
        try {
          await this.removeUpload(placeOf(row), standing);
          await store.forgetUpload(row.id);
        } catch (err) {
          // One that is stuck must not keep the others, nor the rest of the sweep, from their turn.
          stuck++;
          log.error({ err }, "the bytes of an upload that has ended could not be removed; the next sweep tries again");
        }
      }
    }
  }

  /** In a storage that is not this store's, bytes under the same id may be another store's: its own sweep clears them up. */
  private async removeUpload(place: Place, standing: Standing): Promise<void> {
    if (standing !== "own") return;
    await discardUpload(this.parts.storage, place);
    await this.parts.strays.setAsideWhole(place);
  }

  private async removeDeleted(): Promise<void> {
    const { store, recordings } = this.parts;
    let last = "";
    for (;;) {
      const places = await store.deletedRecordings(ROWS_AT_ONCE);
      // The same again: they cannot be removed at the moment.
      if (places.length === 0 || places[0]?.id === last || this.isStopped) return;
      last = places[0]?.id ?? "";
      await recordings.removeBytes(places.map((place) => ({ ...place, ticket: "" })));
    }
  }

  private async deleteOfDeletedApps(): Promise<void> {
    const { store, nowMs } = this.parts;
    for (const app of await store.deletedApps()) {
      for (const { id } of await store.uploadsOf(app)) await store.endUpload(id, nowMs());
      await this.deleteOlder(app, Number.POSITIVE_INFINITY);
    }
  }

  private async endAbandoned(): Promise<number> {
    const { store, writers, figures, nowMs } = this.parts;
    const before = nowMs() - UPLOAD_ABANDONED_MS;
    let ended = 0;
    for (const { id } of await store.uploadsTouchedBefore(before, ROWS_AT_ONCE)) {
      if (writers.isBusy(id) || !(await store.endUpload(id, nowMs(), before))) continue;
      ended++;
      figures.abandoned.inc();
    }
    return ended === ROWS_AT_ONCE && !this.isStopped ? ended + (await this.endAbandoned()) : ended;
  }

  private async deleteExpired(): Promise<number> {
    const { apps, nowMs } = this.parts;
    let expired = 0;
    for (const { id, retentionDays } of await apps())
      if (retentionDays !== null) expired += await this.deleteOlder(id, nowMs() - retentionDays * DAY_MS);
    return expired;
  }

  /** The order of all is the order of completion: the oldest are at its beginning. */
  private async deleteOlder(app: string, before: number): Promise<number> {
    const { store, recordings, figures } = this.parts;
    let deleted = 0;
    while (!this.isStopped) {
      const oldest = await store.page(app, { filter: {}, order: "asc", limit: ROWS_AT_ONCE });
      const due = oldest.filter(({ completed }) => completed < before).map(({ id }) => id);
      deleted += await recordings.deleteRows(app, due, figures.expired);
      if (due.length < ROWS_AT_ONCE) break;
    }
    return deleted;
  }
}
