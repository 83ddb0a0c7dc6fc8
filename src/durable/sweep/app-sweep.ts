/**
 * Removes what is left of deleted applications: at the start, when one is deleted, and every hour. The deletion itself has ended its keys and removed
 * its secrets; the sweep of recordings removes their bytes and rows. inventory/ says what becomes of each table.
 *
 * An application is looked at until an hour after its deletion, and until nothing is left: nodes that did not know of it yet may have written
 * something. Every node sweeps, because what another one has removed is not found again. A sweep that is interrupted is done again from the start.
 */
import { type AppId, roomSpaceOf, spaceOf, streamSpaceOf } from "../../base/ids.ts";
import { Repeating } from "../../base/repeating.ts";
import type { HistoryStore } from "../../history/contract/history.ts";
import type { ClearingStore, DeletedApp } from "../../store/contract/clearing.ts";
import type { Log } from "../../telemetry/log.ts";
import { DELETION_SETTLED_MS } from "../limits.ts";

const SWEEP_EVERY_MS = 3_600_000;
const APPS_AT_ONCE = 100;
/** Rows per statement: about 2 ms of SQLite. */
const ROWS_AT_ONCE = 200;
/** Between two statements, so that everything else goes first. */
const PAUSE_MS = 20;

interface AppSweepParts {
  readonly clearing: ClearingStore;
  readonly history: Pick<HistoryStore, "removeSpace" | "usage"> & {
    readonly created: Pick<HistoryStore["created"], "applyRules">;
  };
  /** Unix ms for deletions by age (base/clock.ts). */
  readonly retentionMs: () => number;
  readonly log: Pick<Log, "info" | "debug">;
  readonly failed: (error: unknown, app?: AppId) => void;
}

export class AppSweep {
  private readonly repeating: Repeating;
  private isStopping = false;
  private isWanted = false;

  constructor(
    private readonly parts: AppSweepParts,
    private readonly pauseMs = PAUSE_MS,
  ) {
    this.repeating = new Repeating(SWEEP_EVERY_MS, () => this.sweep(), parts.failed);
  }

  start(): void {
    this.repeating.start();
    this.soon();
  }

  /** Sweeps in the background, because an application was deleted. */
  soon(): void {
    if (this.isStopping) return;
    this.isWanted = true;
    this.repeating.runNow();
  }

  /** Resolves when nothing is being removed any more. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.repeating.stop();
  }

  async sweep(): Promise<void> {
    do {
      // An application that is deleted while this runs may have an id that was passed.
      this.isWanted = false;
      await this.sweepAll();
    } while (this.isWanted && !this.isStopping);
  }

  private async sweepAll(): Promise<void> {
    const { clearing, failed } = this.parts;
    for (let after: string | undefined = ""; after !== undefined && !this.isStopping; ) {
      const apps: DeletedApp[] = await clearing.uncleared(APPS_AT_ONCE, after);
      for (const app of apps) {
        if (this.isStopping) return;
        // One that cannot be cleared now, because histories cannot be reached, does not hold up the others.
        await this.clear(app).catch((error: unknown) => failed(error, app.id));
      }
      after = apps.length < APPS_AT_ONCE ? undefined : apps.at(-1)?.id;
    }
  }

  private async clear({ id, deleted }: DeletedApp): Promise<void> {
    const { clearing, history, retentionMs, log } = this.parts;
    const spaces = [roomSpaceOf(id), spaceOf(id)];
    for (const space of spaces) await history.removeSpace(space);
    const streams = streamSpaceOf(id);
    await history.created.applyRules(streams, () => false);
    let rows = 0;
    for (let removed = 1; removed > 0 && !this.isStopping; ) {
      removed = await clearing.clear(id, ROWS_AT_ONCE);
      rows += removed;
      if (removed > 0) await Bun.sleep(this.pauseMs);
    }
    log[rows > 0 ? "info" : "debug"]({ app: id, rows }, "rows of a deleted application were removed");
    const isSettled = retentionMs() - deleted >= DELETION_SETTLED_MS;
    if (this.isStopping || !isSettled || !(await clearing.isClear(id))) return;
    for (const space of [...spaces, streams]) if ((await history.usage(space)).streams > 0) return;
    await clearing.setCleared(id, retentionMs());
    log.info({ app: id }, "all data of a deleted application was removed, except its usage and the audit log");
  }
}
