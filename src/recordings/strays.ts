/**
 * Strays: files in the storage without a recording. Crashes do not cause them, because every file has a row before its first byte is
 * written; a store that was restored from an older backup, or replaced, does. Therefore they are not removed at once but set aside, too
 * many of them are left alone, and a storage that belongs to another store is not searched (ownership.ts).
 *
 * Leftover bytes of an upload are different: they never became a recording, and an upload of their age has ended. They are removed.
 */
import type { RecordingStore } from "../store/contract/recordings.ts";
import type { Log } from "../telemetry/log.ts";
import { QUARANTINE_MS, STRAY_AGE_MS, STRAYS_PER_SWEEP_MAX, STRAYS_SHARE_MAX } from "./budgets/limits.ts";
import type { RecordingMetrics } from "./budgets/metrics.ts";
import type { Standing } from "./storage/ownership.ts";
import type { Place, Quarantined, Storage, StoredEntry } from "./storage/storage.ts";

/** `on`: without limits, and also in a storage of another store, which becomes this store's. */
export type SweepStrays = "auto" | "on" | "off";

interface StrayParts {
  readonly store: RecordingStore;
  readonly storage: Storage;
  readonly sweepStrays: SweepStrays;
  readonly metrics: RecordingMetrics;
  readonly log: Pick<Log, "info" | "warn">;
  readonly nowMs: () => number;
  /** Unix ms that files are too old by (base/clock.ts). */
  readonly retentionMs: () => number;
}

export interface SweptStrays {
  /** Strays that were set aside. */
  readonly strays: number;
  readonly leftovers: number;
  readonly restored: number;
  /** Removed after their time in quarantine. */
  readonly purged: number;
}

const BATCH_SIZE = 200;

const ADOPT = "PARLEY_SWEEP_STRAYS=on";

const WARNINGS: Readonly<Record<Exclude<Standing, "own">, string>> = {
  foreign: `belongs to another store: nothing in it is removed as a stray. Was the database restored or replaced, and the storage is this one's? Then start once with ${ADOPT}. Does another installation use it? Then give this one a storage of its own`,
  missing: `is empty and has no mark, but this store has used a storage before: nothing is taken, removed or swept. Is the volume not mounted, or the bucket or prefix another one? Put it back. To begin with this one, start once with ${ADOPT}`,
  unknown: `holds recordings that this store does not know: nothing in it is removed as a stray. Was the database moved or replaced? Put it back; or, to make this storage the store's own, start once with ${ADOPT}`,
};

export class Strays {
  constructor(private readonly parts: StrayParts) {}

  async sweep(standing: Standing, isStopped: () => boolean): Promise<SweptStrays> {
    const isOurs = standing === "own" && this.parts.sweepStrays !== "off";
    this.warn(standing);
    if (standing === "missing") return { strays: 0, leftovers: 0, restored: 0, purged: 0 };
    const checked = await this.checkQuarantine(isOurs, isStopped);
    if (!isOurs || isStopped()) return { strays: 0, leftovers: 0, ...checked };
    return { ...(await this.searchContents(isStopped)), ...checked };
  }

  private warn(standing: Standing): void {
    const { sweepStrays, storage, log } = this.parts;
    const isQuiet = sweepStrays === "off" && standing !== "missing";
    if (standing !== "own" && !isQuiet) log.warn(`${storage.name} ${WARNINGS[standing]}`);
  }

  /**
   * Sets aside the finished file of an upload that this store has not completed. A backup from before its completion may have been restored,
   * and the later store may come back with the recording: so the file is treated as a stray, and not removed.
   */
  async setAsideFinished(place: Place): Promise<void> {
    if (this.parts.sweepStrays !== "off" && (await this.parts.storage.storedBytes(place)) > 0)
      await this.setAside([place]);
  }

  /** Restores files in quarantine that have a recording after all, also those that another store set aside, and removes old ones. */
  private async checkQuarantine(
    isOwn: boolean,
    isStopped: () => boolean,
  ): Promise<{ restored: number; purged: number }> {
    const { storage, store, metrics, retentionMs } = this.parts;
    const before = retentionMs() - QUARANTINE_MS;
    const done = { restored: 0, purged: 0 };
    const handle = async (some: readonly Quarantined[]): Promise<void> => {
      const known = await store.knownIds(some.map(({ place }) => place.id));
      for (const one of some) {
        if (known.has(one.place.id)) {
          await storage.restore(one);
          metrics.restored.inc();
          done.restored++;
        } else if (isOwn && one.sinceMs < before) {
          await storage.purge(one);
          metrics.purged.inc();
          done.purged++;
        }
      }
    };
    for await (const some of inBatches(storage.quarantined())) {
      if (isStopped()) break;
      await handle(some);
    }
    return done;
  }

  private async searchContents(isStopped: () => boolean): Promise<{ strays: number; leftovers: number }> {
    const { storage, sweepStrays, metrics, retentionMs } = this.parts;
    const before = retentionMs() - STRAY_AGE_MS;
    // Bound: the number that may be set aside; more are only counted.
    const strays: Place[] = [];
    let [files, found, leftovers] = [0, 0, 0];
    for await (const some of inBatches(storage.contents())) {
      if (isStopped()) return { strays: 0, leftovers };
      files += some.filter(({ isOpen }) => !isOpen).length;
      for (const { place, isOpen } of await this.unknownIn(some, before)) {
        if (isOpen) {
          await storage.discard(place);
          metrics.leftovers.inc();
          leftovers++;
        } else if (sweepStrays === "on") {
          await this.setAside([place]);
          found++;
        } else {
          found++;
          if (strays.length < STRAYS_PER_SWEEP_MAX) strays.push(place);
        }
      }
    }
    if (sweepStrays === "on") return { strays: found, leftovers };
    const isTooMany = found > STRAYS_PER_SWEEP_MAX || found > files * STRAYS_SHARE_MAX;
    metrics.refusedStrays = isTooMany ? found : 0;
    if (isTooMany) this.refuse(found, files);
    else await this.setAside(strays);
    return { strays: isTooMany ? 0 : found, leftovers };
  }

  /** Only files that are older than any open upload can be. */
  private async unknownIn(some: readonly StoredEntry[], before: number): Promise<StoredEntry[]> {
    const old = some.filter(({ modifiedMs }) => modifiedMs < before);
    const known = await this.parts.store.knownIds(old.map(({ place }) => place.id));
    // Upload bytes of a completed recording are leftovers: the recording has a file of its own.
    return old.filter(({ place, isOpen }) => (isOpen ? known.get(place.id) !== "upload" : !known.has(place.id)));
  }

  private async setAside(places: readonly Place[]): Promise<void> {
    const { storage, metrics, nowMs } = this.parts;
    for (const place of places) {
      await storage.quarantine(place, nowMs());
      metrics.quarantined.inc();
    }
  }

  private refuse(strays: number, files: number): void {
    const { storage, log } = this.parts;
    const share = `${STRAYS_SHARE_MAX * 100} %`;
    log.warn(
      { strays, files },
      `${strays} of ${files} files in ${storage.name} belong to no recording of this store. A sweep takes at most ${STRAYS_PER_SWEEP_MAX} files and ${share} of them, so it takes none: is this the right database? ${ADOPT} sets them aside for ${QUARANTINE_MS / 86_400_000} days and then removes them`,
    );
  }
}

async function* inBatches<T>(all: AsyncIterable<T>): AsyncGenerator<T[]> {
  let some: T[] = [];
  for await (const one of all) {
    some.push(one);
    if (some.length < BATCH_SIZE) continue;
    yield some;
    some = [];
  }
  if (some.length > 0) yield some;
}
