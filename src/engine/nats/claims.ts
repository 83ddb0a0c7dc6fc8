/**
 * Room under a cap that counts over all nodes. Whoever wants room notes a claim, asks every other node how many connections and
 * older claims it has, and counts its own. Which of two claims is older is decided by their numbers: a node's next number is
 * above every one it has heard of, so of two claims made at one moment at least one is counted by the other's node, and never
 * both.
 */
import type { Claim } from "../engine.ts";

/** A claim whose connection has not come by then is over. */
const CLAIM_MS = 10_000;

export interface Stamp {
  readonly n: number;
  readonly node: string;
}

interface Open extends Stamp {
  readonly app: string;
  readonly untilMs: number;
}

export class Claims {
  private last = 0;
  private readonly open = new Set<Open>();

  constructor(
    private readonly node: string,
    private readonly nowMs: () => number,
  ) {}

  take(app: string): Stamp & Claim {
    const claim: Open = { n: ++this.last, node: this.node, app, untilMs: this.nowMs() + CLAIM_MS };
    this.open.add(claim);
    return { n: claim.n, node: claim.node, end: () => void this.open.delete(claim) };
  }

  /** How many claims of ours are older than that one, which is another node's, or ours. */
  olderThan(app: string, stamp: Stamp): number {
    this.last = Math.max(this.last, stamp.n);
    let count = 0;
    for (const one of this.open) if (one.app === app && isOlder(one, stamp)) count++;
    return count;
  }

  sweep(): void {
    const now = this.nowMs();
    for (const one of this.open) if (one.untilMs <= now) this.open.delete(one);
  }
}

const isOlder = (one: Stamp, than: Stamp): boolean => (one.n === than.n ? one.node < than.node : one.n < than.n);
