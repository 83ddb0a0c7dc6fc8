/** How long the service takes to ack messages while something else happens to it: one client publishes, and waits for each ack. */
import type { Wire } from "./wire/wire.ts";

/** Well below the allowed rate of frames. */
const EVERY_MS = 12;

export interface AckFigures {
  readonly count: number;
  readonly medianMs: number;
  readonly longestMs: number;
  /** The codes of answers that were errors. After one that did not come at all, nothing more is measured. */
  readonly errors: readonly string[];
}

export class AckTimes {
  private readonly tookMs: number[] = [];
  private readonly errors: string[] = [];
  private isOver = false;
  private readonly done: Promise<void>;

  /** `wire`: a client that may publish to the channel. */
  constructor(
    private readonly wire: Wire,
    private readonly channel: string,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.done = this.measure();
    // Checked in stop(); a failure before that must not end the process.
    this.done.catch(() => {});
  }

  async stop(): Promise<AckFigures> {
    this.isOver = true;
    await this.done;
    this.wire.drop();
    const sorted = this.tookMs.toSorted((a, b) => a - b).map(Math.round);
    const count = sorted.length;
    return { count, medianMs: sorted[Math.floor(count / 2)] ?? 0, longestMs: sorted.at(-1) ?? 0, errors: this.errors };
  }

  private async measure(): Promise<void> {
    while (!this.isOver) {
      const beganMs = this.nowMs();
      const publish = this.wire.request({ type: "publish", channel: this.channel, data: 1 });
      const answer = await publish.catch(() => undefined);
      this.tookMs.push(this.nowMs() - beganMs);
      if (answer?.type !== "ack") this.errors.push(answer?.code ?? "no answer");
      if (!answer) return;
      await Bun.sleep(EVERY_MS);
    }
  }
}
