/**
 * While a backup copies recordings, the bytes of deleted ones stay: the backup has their rows, of the moment in which it began. The note is in
 * the store, so that all nodes see it. What is not removed meanwhile is removed by the next sweep.
 */
import type { Store } from "../store/contract/store.ts";

const HELD_UNTIL = "removals_held_until";
/** A backup whose process was killed holds removals for no longer than this. */
const HOLD_MS = 10 * 60_000;
/** How often a backup that goes on says so. */
export const HOLD_AGAIN_EVERY_MS = 4 * 60_000;

export class Removals {
  constructor(
    private readonly store: Pick<Store, "meta" | "change">,
    private readonly nowMs: () => number,
  ) {}

  async areHeld(): Promise<boolean> {
    const until = Number((await this.store.meta(HELD_UNTIL)) ?? 0);
    // A clock that was set back must not hold them for longer.
    return until > this.nowMs() && until <= this.nowMs() + HOLD_MS;
  }

  hold(): Promise<void> {
    return this.note(this.nowMs() + HOLD_MS);
  }

  release(): Promise<void> {
    return this.note(0);
  }

  private note(until: number): Promise<void> {
    return this.store.change((change) => change.putMeta(HELD_UNTIL, String(until)));
  }
}
