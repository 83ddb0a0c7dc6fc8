/**
 * What is in the target, for pages that ask often. A target that does not answer costs a page a few seconds at most, and however many ask, it is asked
 * once at a time.
 */
import type { Clock } from "../../base/clock.ts";
import { sharedCheck } from "../../telemetry/shared-check.ts";
import { type Backup, TargetError } from "../targets/target.ts";
import type { BackupPlace } from "./place.ts";

const VALID_MS = { good: 2000, bad: 1000 };
const LATE_MS = 3000;

export interface Listing {
  /** Oldest first. */
  readonly backups: readonly Backup[];
  /** Why they are not known; names the place. */
  readonly problem: string | null;
}

export class BackupListing {
  private check: () => Promise<Listing>;

  constructor(
    private readonly place: Pick<BackupPlace, "kind" | "open" | "shown">,
    /** Whether one was made there before: then a folder that is missing is not a new one. */
    private readonly hasMade: () => boolean,
    private readonly clock: Pick<Clock, "monotonicMs">,
    private readonly lateMs = LATE_MS,
  ) {
    this.check = this.newCheck();
  }

  now(): Promise<Listing> {
    return this.check();
  }

  /** What was listed before is out of date. */
  forget(): void {
    this.check = this.newCheck();
  }

  private newCheck(): () => Promise<Listing> {
    const isGood = ({ problem }: Listing): boolean => problem === null;
    return sharedCheck<Listing>({
      check: () => this.list(),
      validMs: (found) => (isGood(found) ? VALID_MS.good : VALID_MS.bad),
      isGood,
      late: { afterMs: this.lateMs, result: { backups: [], problem: `${this.place.shown} does not answer` } },
      monotonicMs: this.clock.monotonicMs,
    });
  }

  private async list(): Promise<Listing> {
    try {
      const target = await this.place.open();
      return { backups: await target.list(), problem: null };
    } catch (error) {
      // The first backup makes the folder.
      const isNew = error instanceof TargetError && error.reason === "missing" && !this.hasMade();
      if (isNew && this.place.kind === "folder") return { backups: [], problem: null };
      return { backups: [], problem: error instanceof Error ? error.message : String(error) };
    }
  }
}
