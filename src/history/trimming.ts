/** Trims the history in the background, and removes streams that have expired: short slices with pauses between them, so that publishes go first. */
import type { AppId } from "../base/ids.ts";
import { Repeating } from "../base/repeating.ts";
import type { HistoryStore } from "./contract/history.ts";

const TRIM_EVERY_MS = 1000;
/** Between two slices of at most about 2 ms while there is more to trim. */
const PAUSE_MS = 4;

interface TrimmingParts {
  readonly history: Pick<HistoryStore, "trim"> & {
    readonly created: Pick<HistoryStore["created"], "expire">;
  };
  /** The bytes that an application may store. */
  readonly maxBytesOf: (app: AppId) => number;
  readonly failed: (error: unknown) => void;
}

export class HistoryTrimming {
  private readonly repeating: Repeating;
  private isStopping = false;
  private isFailing = false;

  constructor(private readonly parts: TrimmingParts) {
    this.repeating = new Repeating(
      TRIM_EVERY_MS,
      () => this.run(),
      // Once per outage: the next run comes in a second.
      (error) => {
        if (!this.isFailing) parts.failed(error);
        this.isFailing = true;
      },
    );
  }

  start(): void {
    this.repeating.start();
  }

  /** Resolves when no slice runs any more. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.repeating.stop();
  }

  private async run(): Promise<void> {
    const { history, maxBytesOf } = this.parts;
    while (!this.isStopping && (await history.trim(maxBytesOf))) await Bun.sleep(PAUSE_MS);
    while (!this.isStopping && (await history.created.expire())) await Bun.sleep(PAUSE_MS);
    this.isFailing = false;
  }
}
