/**
 * Claims of capacity under a cap on the connections of an application on all nodes together. A node that needs capacity opens a
 * claim, requests from every other node how many connections and older claims it has, and adds its own. Claims are ordered by their
 * numbers: a node's next number is above every number it has seen, so of two simultaneous claims exactly one counts the other.
 *
 * Under a large cap a node does not ask while it alone has less than its share of it: all nodes together then have less than the cap. The
 * first node that asks makes all of them ask, because it may take what the others have left of their shares.
 */
import type { AppId } from "../../../base/ids.ts";
import type { Claim } from "../../engine.ts";

/** Below this size, nodes always ask. */
const LARGE_CAP = 1000;
/** How long a node asks after another one has asked. Longer than the counts in heartbeats are old. */
const ASKING_MS = 10_000;
/** A claim ends after this time when its connection has not been made. */
const CLAIM_MS = 10_000;

export interface ClaimNumber {
  readonly number: number;
  readonly node: string;
}

/** A claim of this node. */
export interface LocalClaim extends ClaimNumber, Claim {
  readonly app: AppId;
}

interface OpenClaim extends ClaimNumber {
  readonly app: AppId;
  readonly untilMs: number;
}

export class CapacityClaims {
  private lastNumber = 0;
  /** Claims that are decided without asking have numbers below all others, so that those count them. */
  private lastUnasked = Number.MIN_SAFE_INTEGER;
  /** Bound: one per connect in progress, for at most 10 s. */
  private readonly claims = new Set<OpenClaim>();
  /** By application under a cap: until when this node has to ask. Bound: applications, each for 10 s. */
  private readonly askingUntilMs = new Map<AppId, number>();

  constructor(
    private readonly node: string,
    private readonly localConnections: (app: AppId) => number,
    private readonly nowMs: () => number,
  ) {}

  /** Whether the other nodes must be asked. `known`: the connections of each, as last reported. */
  mustAsk(app: AppId, cap: number, known: readonly number[]): boolean {
    if (known.length === 0) return false;
    if (cap < LARGE_CAP || this.askingUntilMs.has(app)) return true;
    let open = 0;
    for (const one of this.claims) if (one.app === app) open++;
    // The others may have their shares without saying so; one that has more than its share has asked, and has said so since.
    const elsewhere = known.reduce((sum, count) => sum + mayHave(count, cap, known.length), 0);
    return this.localConnections(app) + open + 1 + elsewhere > cap;
  }

  /** Another node asks what this one has taken. */
  taken(app: AppId, claim: ClaimNumber): number {
    this.askingUntilMs.set(app, this.nowMs() + ASKING_MS);
    return this.localConnections(app) + this.countOlder(app, claim);
  }

  open(app: AppId, isAsked = true): LocalClaim {
    const claim: OpenClaim = {
      number: isAsked ? ++this.lastNumber : ++this.lastUnasked,
      node: this.node,
      app,
      untilMs: this.nowMs() + CLAIM_MS,
    };
    this.claims.add(claim);
    return { number: claim.number, node: claim.node, app, end: () => void this.claims.delete(claim) };
  }

  /** Returns the claim, or ends it and returns undefined: there is no capacity. `elsewhere`: what the other nodes have taken. */
  decide(claim: LocalClaim, cap: number, elsewhere: number): Claim | undefined {
    const { app } = claim;
    if (this.localConnections(app) + this.countOlder(app, claim) + elsewhere < cap) return claim;
    claim.end();
    return undefined;
  }

  /** How many open claims of this node are older than a claim of this or another node. */
  countOlder(app: AppId, claim: ClaimNumber): number {
    this.lastNumber = Math.max(this.lastNumber, claim.number);
    let count = 0;
    for (const one of this.claims) if (one.app === app && isOlder(one, claim)) count++;
    return count;
  }

  sweep(): void {
    const now = this.nowMs();
    for (const claim of this.claims) if (claim.untilMs <= now) this.claims.delete(claim);
    for (const [app, untilMs] of this.askingUntilMs) if (untilMs <= now) this.askingUntilMs.delete(app);
  }
}

const isOlder = (one: ClaimNumber, than: ClaimNumber): boolean =>
  one.number === than.number ? one.node < than.node : one.number < than.number;

/**
 * How many connections another node may have that has reported this many, and has not been heard since: its share of a large cap, which it takes
 * without asking. Under a smaller one it does not take any without asking. `others`: how many nodes there are beside this one.
 */
export const mayHave = (reported: number, cap: number, others: number): number =>
  cap < LARGE_CAP ? reported : Math.max(reported, Math.ceil(cap / (others + 1)));
