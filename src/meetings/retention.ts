/** Forgets meetings that ended longer ago than their application keeps them (`meetingRetentionDays`). */
import { Repeating } from "../base/repeating.ts";
import type { MeetingStore } from "../store/contract/meetings.ts";

const SWEEP_EVERY_MS = 3_600_000;
/** Meetings per slice: about 10 ms of SQLite, in statements of about 2 ms. */
const SLICE_MEETINGS = 50;
/** Between two slices while there is more to forget, so that everything else goes first. */
const PAUSE_MS = 50;

interface RetentionParts {
  readonly meetings: Pick<MeetingStore, "forgetOld">;
  readonly nowMs: () => number;
  readonly failed: (error: unknown) => void;
}

export class MeetingRetention {
  private readonly repeating: Repeating;
  private isStopping = false;

  constructor(
    private readonly parts: RetentionParts,
    everyMs = SWEEP_EVERY_MS,
  ) {
    this.repeating = new Repeating(everyMs, () => this.sweep(), parts.failed);
  }

  start(): void {
    this.repeating.start();
  }

  /** Resolves when no slice runs any more. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.repeating.stop();
  }

  /** Every node sweeps: what another one has forgotten is not found again. */
  private async sweep(): Promise<void> {
    const { meetings, nowMs } = this.parts;
    while (!this.isStopping && (await meetings.forgetOld(nowMs(), SLICE_MEETINGS)) > 0) await Bun.sleep(PAUSE_MS);
  }
}
