/**
 * The end that a page counts down to. The end of one's own stay and that of the meeting are announced, and taken back, apart from each other; the page shows the
 * one that comes first.
 */
import type { EndingAt } from "./session.ts";

/** Notices are in whole seconds, and take their time: the end of the room is also that of one's own stay, by the answer to the join. */
const SAME_END_MS = 2000;

export class Endings {
  /** As the join has said it: it holds also where no notice has come. */
  readonly #byJoin: number | undefined;
  #ownMs: number | undefined;
  #ofAllMs: number | undefined;

  /** `ejectAt`: Unix seconds, from the answer to the join. */
  constructor(ejectAt?: number) {
    this.#byJoin = ejectAt === undefined ? undefined : ejectAt * 1000;
    this.#ownMs = this.#byJoin;
  }

  /** undefined: nothing ends that is known of. */
  get first(): EndingAt | undefined {
    const [own, ofAll] = [this.#ownMs, this.#ofAllMs];
    if (ofAll !== undefined && (own === undefined || ofAll <= own + SAME_END_MS))
      return { timeMs: ofAll, isForAll: true };
    return own === undefined ? undefined : { timeMs: own, isForAll: false };
  }

  announced(isForAll: boolean, timeMs: number): void {
    if (isForAll) this.#ofAllMs = timeMs;
    else this.#ownMs = timeMs;
  }

  takenBack(isForAll: boolean): void {
    if (isForAll) this.#ofAllMs = undefined;
    else this.#ownMs = undefined;
  }

  /** Notices may have been missed. The service repeats those that still hold. */
  connectedAgain(): void {
    this.#ofAllMs = undefined;
    this.#ownMs = this.#byJoin;
  }
}
