/**
 * Forgets rows that are too old and have no sweep of their own: archived rooms, revoked keys and operators, numbers of deleted recordings, usage. At the
 * start and once a day, in short statements. Every node does it: what another one has removed is not found again.
 */
import { Repeating } from "../../base/repeating.ts";
import type { ClearingStore, Walk, Walked } from "../../store/contract/clearing.ts";
import type { Log } from "../../telemetry/log.ts";
import {
  ARCHIVED_ROOM_DAYS,
  DELETED_APP_DAYS,
  RECORDING_NUMBER_DAYS,
  RECORDING_NUMBERS_MIN,
  REVOKED_DAYS,
  USAGE_PERIODS,
} from "../limits.ts";

const DAY_MS = 86_400_000;
/** Rows per statement: about 2 ms of SQLite. */
const ROWS_AT_ONCE = 200;
/** Between two statements, so that everything else goes first. */
const PAUSE_MS = 20;

interface OldRowsParts {
  readonly clearing: ClearingStore;
  /** Unix ms for deletions by age (base/clock.ts). */
  readonly retentionMs: () => number;
  readonly log: Pick<Log, "info">;
  readonly failed: (error: unknown) => void;
}

export class OldRows {
  private readonly repeating: Repeating;
  private isStopping = false;

  constructor(
    private readonly parts: OldRowsParts,
    private readonly pauseMs = PAUSE_MS,
  ) {
    this.repeating = new Repeating(DAY_MS, () => this.sweep(), parts.failed);
  }

  start(): void {
    this.repeating.start();
    this.repeating.runNow();
  }

  /** Resolves when nothing is being removed any more. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.repeating.stop();
  }

  async sweep(): Promise<void> {
    const { clearing, retentionMs, log } = this.parts;
    const before = (days: number): number => retentionMs() - days * DAY_MS;
    const swept = {
      keys: await this.repeat((limit) => clearing.forgetKeys(before(REVOKED_DAYS), limit)),
      operators: await this.repeat((limit) => clearing.forgetOperators(before(REVOKED_DAYS), limit)),
      rooms: await this.walk((limit, from) => clearing.forgetRooms(before(ARCHIVED_ROOM_DAYS), limit, from)),
      recordingNumbers: await this.walk((limit, from) =>
        clearing.forgetRecordingNumbers(before(RECORDING_NUMBER_DAYS), RECORDING_NUMBERS_MIN, limit, from),
      ),
      recordingExtras: await this.walk((limit, from) => clearing.forgetRecordingExtras(limit, from)),
      usage: await this.repeat((limit) => clearing.forgetUsage(oldestPeriod(retentionMs()), limit)),
      deletedApps: await this.repeat((limit) => clearing.forgetDeletedApps(before(DELETED_APP_DAYS), limit)),
    };
    if (Object.values(swept).some((count) => count > 0)) log.info(swept, "expired rows were removed");
  }

  private async repeat(remove: (limit: number) => Promise<number>): Promise<number> {
    let count = 0;
    for (let removed = 1; removed > 0 && !this.isStopping; ) {
      removed = await remove(ROWS_AT_ONCE);
      count += removed;
      if (removed > 0) await Bun.sleep(this.pauseMs);
    }
    return count;
  }

  /** Through rows of which some stay, so that no row is looked at twice. */
  private async walk(remove: (limit: number, from?: Walk) => Promise<Walked>): Promise<number> {
    let count = 0;
    for (let from: Walk | undefined, isFirst = true; (isFirst || from) && !this.isStopping; isFirst = false) {
      const { removed, next }: Walked = await remove(ROWS_AT_ONCE, from);
      count += removed;
      from = next;
      if (next) await Bun.sleep(this.pauseMs);
    }
    return count;
  }
}

/** The beginning of the first month that is kept, in Unix seconds. */
function oldestPeriod(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - USAGE_PERIODS + 1, 1) / 1000;
}
