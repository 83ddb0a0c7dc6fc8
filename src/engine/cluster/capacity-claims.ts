/**
 * Room under a cap that counts over all nodes. Whoever wants room notes a claim, asks every other node how many connections and
 * older claims it has, and counts its own. Which of two claims is older is decided by their numbers: a node's next number is
 * above every one it has heard of, so of two claims made at one moment at least one is counted by the other's node, and never
 * both.
 */
import type { Claim } from "../engine.ts";

/** Nobody needs to be asked while a cap of at least so many is not half used: the counts that are known are that good. */
const LARGE_CAP = 1000;
/** A claim whose connection has not come by then is over. */
const CLAIM_MS = 10_000;

export interface Stamp {
  readonly n: number;
  readonly node: string;
}

/** One of ours, with what it is for. */
export interface OwnClaim extends Stamp, Claim {
  readonly app: string;
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
    private readonly connectionsHere: (app: string) => number,
    private readonly nowMs: () => number,
  ) {}

  /** Whether the others must be asked; `known`: what they have told so far. */
  isNear(app: string, cap: number, known: number): boolean {
    return cap < LARGE_CAP || (this.connectionsHere(app) + known) * 2 >= cap;
  }

  take(app: string): OwnClaim {
    const claim: Open = { n: ++this.last, node: this.node, app, untilMs: this.nowMs() + CLAIM_MS };
    this.open.add(claim);
    return { n: claim.n, node: claim.node, app, end: () => void this.open.delete(claim) };
  }

  /** undefined, and over: there is no room. `elsewhere`: connections and older claims of the others. */
  decided(claim: OwnClaim, cap: number, elsewhere: number): Claim | undefined {
    const { app } = claim;
    if (this.connectionsHere(app) + this.olderThan(app, claim) + elsewhere < cap) return claim;
    claim.end();
    return undefined;
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
