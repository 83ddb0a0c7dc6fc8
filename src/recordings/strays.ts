/**
 * Files in the storage that belong to no recording: strays. A crash leaves none behind (every byte has a row before it), so they
 * come from outside: a store that was restored from an older backup, or replaced. That is why they are not removed at once but set
 * aside, why too many are left alone, and why a storage that is not this store's is not looked at (ownership.ts).
 *
 * Bytes that an upload has left behind are different: no recording was ever made of them, and an upload as old as they are would
 * have ended. They are removed.
 */

import type { RecordingStore } from "../store/recordings.ts";
import type { Log } from "../telemetry/log.ts";
import type { Figures } from "./figures.ts";
import { QUARANTINE_MS, STRAY_AGE_MS, STRAYS_PER_SWEEP_MAX, STRAYS_SHARE_MAX } from "./limits.ts";
import type { Standing } from "./ownership.ts";
import type { Found, Place, Quarantined, Storage } from "./storage.ts";

/** `on`: without bounds, and in a storage that is not this store's too, which becomes its own. */
export type SweepStrays = "auto" | "on" | "off";

export interface StrayParts {
  readonly store: RecordingStore;
  readonly storage: Storage;
  readonly sweepStrays: SweepStrays;
  readonly figures: Figures;
  readonly log: Pick<Log, "info" | "warn">;
  readonly nowMs: () => number;
}

export interface SweptStrays {
  /** Set aside. */
  readonly strays: number;
  readonly leftovers: number;
  readonly restored: number;
  /** Removed after their time aside. */
  readonly purged: number;
}

const AT_ONCE = 200;

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
    const aside = await this.lookAside(isOurs, isStopped);
    if (!isOurs || isStopped()) return { strays: 0, leftovers: 0, ...aside };
    return { ...(await this.lookThrough(isStopped)), ...aside };
  }

  private warn(standing: Standing): void {
    const { sweepStrays, storage, log } = this.parts;
    const isQuiet = sweepStrays === "off" && standing !== "missing";
    if (standing !== "own" && !isQuiet) log.warn(`${storage.name} ${WARNINGS[standing]}`);
  }

  /**
   * The file of an upload that was never completed here, but is whole. It may be a recording that a later state of the store has: a
   * backup made before the completion was restored. So it is treated as a stray, and not removed.
   */
  async setAsideWhole(place: Place): Promise<void> {
    if (this.parts.sweepStrays !== "off" && (await this.parts.storage.held(place)) > 0) await this.setAside([place]);
  }

  /** What is aside: put back if it has a recording after all, whoever set it aside; removed after its time. */
  private async lookAside(isOwn: boolean, isStopped: () => boolean): Promise<{ restored: number; purged: number }> {
    const { storage, store, figures, nowMs } = this.parts;
    const before = nowMs() - QUARANTINE_MS;
    const done = { restored: 0, purged: 0 };
    const handle = async (some: readonly Quarantined[]): Promise<void> => {
      const known = await store.knownIds(some.map(({ place }) => place.id));
      for (const one of some) {
        if (known.has(one.place.id)) {
          await storage.restore(one);
          figures.restored.inc();
          done.restored++;
        } else if (isOwn && one.sinceMs < before) {
          await storage.purge(one);
          figures.purged.inc();
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

  private async lookThrough(isStopped: () => boolean): Promise<{ strays: number; leftovers: number }> {
    const { storage, sweepStrays, figures, nowMs } = this.parts;
    const before = nowMs() - STRAY_AGE_MS;
    // Bound: no more than may be set aside; the others are only counted.
    const strays: Place[] = [];
    let [files, found, leftovers] = [0, 0, 0];
    for await (const some of inBatches(storage.contents())) {
      if (isStopped()) return { strays: 0, leftovers };
      files += some.filter(({ isOpen }) => !isOpen).length;
      for (const { place, isOpen } of await this.unknownIn(some, before)) {
        if (isOpen) {
          await storage.discard(place);
          figures.leftovers.inc();
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
    const isTooMuch = found > STRAYS_PER_SWEEP_MAX || found > files * STRAYS_SHARE_MAX;
    figures.refusedStrays = isTooMuch ? found : 0;
    if (isTooMuch) this.refuse(found, files);
    else await this.setAside(strays);
    return { strays: isTooMuch ? 0 : found, leftovers };
  }

  /** Only what is older than any upload may be that still goes on. */
  private async unknownIn(some: readonly Found[], before: number): Promise<Found[]> {
    const old = some.filter(({ modifiedMs }) => modifiedMs < before);
    const known = await this.parts.store.knownIds(old.map(({ place }) => place.id));
    // Bytes of an upload that has become a recording are left over: the recording has its own.
    return old.filter(({ place, isOpen }) => (isOpen ? known.get(place.id) !== "upload" : !known.has(place.id)));
  }

  private async setAside(places: readonly Place[]): Promise<void> {
    const { storage, figures, nowMs } = this.parts;
    for (const place of places) {
      await storage.quarantine(place, nowMs());
      figures.quarantined.inc();
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
    if (some.length < AT_ONCE) continue;
    yield some;
    some = [];
  }
  if (some.length > 0) yield some;
}
