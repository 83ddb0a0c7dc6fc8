/**
 * Claims of capacity under a cap on the connections of an application on all nodes together. A node that needs capacity opens a
 * claim, requests from every other node how many connections and older claims it has, and adds its own. Claims are ordered by their
 * numbers: a node's next number is above every number it has seen, so of two simultaneous claims exactly one counts the other.
 */
import type { Claim } from "../engine.ts";

/** While less than half of a cap of at least this size is used, the counts in heartbeats are exact enough. */
const LARGE_CAP = 1000;
/** A claim ends after this time when its connection has not been made. */
const CLAIM_MS = 10_000;

export interface ClaimNumber {
  readonly number: number;
  readonly node: string;
}

/** A claim of this node. */
export interface LocalClaim extends ClaimNumber, Claim {
  readonly app: string;
}

interface OpenClaim extends ClaimNumber {
  readonly app: string;
  readonly untilMs: number;
}

export class CapacityClaims {
  private lastNumber = 0;
  private readonly claims = new Set<OpenClaim>();

  constructor(
    private readonly node: string,
    private readonly localConnections: (app: string) => number,
    private readonly nowMs: () => number,
  ) {}

  /** Whether the other nodes must be asked. `known`: their connections as last reported. */
  isNearCap(app: string, cap: number, known: number): boolean {
    return cap < LARGE_CAP || (this.localConnections(app) + known) * 2 >= cap;
  }

  open(app: string): LocalClaim {
    const claim: OpenClaim = {
      number: ++this.lastNumber,
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
  countOlder(app: string, claim: ClaimNumber): number {
    this.lastNumber = Math.max(this.lastNumber, claim.number);
    let count = 0;
    for (const one of this.claims) if (one.app === app && isOlder(one, claim)) count++;
    return count;
  }

  sweep(): void {
    const now = this.nowMs();
    for (const claim of this.claims) if (claim.untilMs <= now) this.claims.delete(claim);
  }
}

const isOlder = (one: ClaimNumber, than: ClaimNumber): boolean =>
  one.number === than.number ? one.node < than.node : one.number < than.number;
