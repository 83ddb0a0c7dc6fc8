/** What is known of every upload that was begun: what was sent, what was acknowledged, and what must have become of it. */
import { recorded } from "./webm.ts";

/** true: acknowledged. "maybe": requested, and the response was lost. */
export type Certainty = boolean | "maybe";

export class Run {
  readonly bytes: Uint8Array<ArrayBuffer>;
  uploadUrl = "";
  /** Bytes whose arrival was acknowledged. */
  acked = 0;
  /** Bytes that were sent at all. */
  sent = 0;
  /** The page has said that everything was sent. */
  ended: Certainty = false;
  deleted: Certainty = false;

  constructor(
    readonly id: string,
    readonly stay: string,
    seed: number,
    frames: number,
    frameBytes: number,
  ) {
    this.bytes = recorded(seed, frames, frameBytes);
  }

  /** The service says how many bytes it has. */
  hold(offset: number, answer: string): void {
    if (offset < this.acked || offset > this.sent)
      throw new Error(
        `${this.id}: ${offset} bytes are held; ${this.acked} were acknowledged, ${this.sent} sent: ${answer}`,
      );
    this.acked = offset;
  }
}

export class Runs {
  readonly all = new Map<string, Run>();
  /** Stays whose page does not come back. */
  readonly abandoned = new Set<string>();

  add(run: Run): void {
    this.all.set(run.id, run);
  }

  get living(): Run[] {
    return [...this.all.values()].filter(({ deleted }) => deleted === false);
  }
}
