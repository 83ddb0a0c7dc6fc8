/** How the last recordings fared, without those that cannot be mended for what is in them. Several failures in a row are a sign that mending does not work. */
const FAILURES_IN_A_ROW = 3;
/** Later, without a newer recording, they say nothing about the present. */
const FAILURES_COUNT_MS = 3_600_000;

export class RecentMendings {
  private failuresInARow = 0;
  private failedMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly monotonicMs: () => number) {}

  mended(): void {
    this.failuresInARow = 0;
  }

  failed(): void {
    this.failuresInARow++;
    this.failedMs = this.monotonicMs();
  }

  get areFailing(): boolean {
    return this.failuresInARow >= FAILURES_IN_A_ROW && this.monotonicMs() - this.failedMs < FAILURES_COUNT_MS;
  }
}
