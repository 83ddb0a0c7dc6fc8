/**
 * Makes a backup when one is due. Every node reads the note of the last ones, for its metrics and /readyz; of several workers one makes backups,
 * and of several nodes the one that takes the lease first.
 */
import type { Clock } from "../../base/clock.ts";
import { Repeating } from "../../base/repeating.ts";
import { BackupRunning } from "../backup/backups.ts";
import { type BackupHealth, dueMs, healthOf } from "./due.ts";
import type { BackupJobs } from "./jobs.ts";
import type { BackupNotes } from "./note.ts";

const LOOK_EVERY_MS = 5000;

interface ScheduleParts {
  readonly jobs: Pick<BackupJobs, "settle">;
  readonly notes: BackupNotes;
  /** 0: backups are made only when an operator starts them. */
  readonly everyMs: number;
  /** Begins one. Throws BackupRunning. */
  readonly start: () => Promise<unknown>;
  readonly clock: Pick<Clock, "wallMs" | "monotonicMs">;
  readonly failed: (error: unknown) => void;
}

export class BackupSchedule {
  private readonly looking: Repeating;
  private readonly upSinceMs: number;
  private isMaking = false;

  constructor(private readonly parts: ScheduleParts) {
    this.looking = new Repeating(LOOK_EVERY_MS, () => this.look(), parts.failed);
    this.upSinceMs = parts.clock.monotonicMs();
  }

  /** On every node and worker. */
  start(): void {
    this.looking.start();
    this.looking.runNow();
  }

  /** From now on, this process makes backups too; it looks soon whether one is due. */
  lead(): void {
    this.isMaking = true;
  }

  /** undefined: nothing is scheduled. */
  get health(): BackupHealth | undefined {
    const { everyMs, notes, clock } = this.parts;
    if (everyMs === 0) return undefined;
    const upMs = clock.monotonicMs() - this.upSinceMs;
    return healthOf(notes.latest, { everyMs, nowMs: clock.wallMs(), upMs });
  }

  /** Unix ms; undefined: nothing is scheduled. */
  get dueMs(): number | undefined {
    const { everyMs, notes, clock } = this.parts;
    return everyMs === 0 ? undefined : dueMs(notes.latest, everyMs, clock.wallMs());
  }

  /** Once every few seconds. */
  async look(): Promise<void> {
    const { jobs, notes, clock, start } = this.parts;
    // A success that is not noted yet would be repeated.
    await jobs.settle();
    await notes.read();
    if (!this.isMaking || this.dueMs === undefined || this.dueMs > clock.wallMs()) return;
    await start().catch((error: unknown) => {
      if (!(error instanceof BackupRunning)) throw error;
    });
  }

  async stop(): Promise<void> {
    await this.looking.stop();
  }
}
