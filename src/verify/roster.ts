/** The members of a channel: the actual ones, and those that one subscriber was shown. */
import { PING_EVERY_MS, SILENCE_MAX_MS } from "../protocol/limits.ts";

/** The service notices a connection that was lost silently within this time. */
const NOTICED_WITHIN_MS = SILENCE_MAX_MS + PING_EVERY_MS;
/** Other members may see the end of a connection this long before its own client does. */
const SEEN_EARLY_MS = 5000;

/** The actual members: a peer is one while at least one of its connections is subscribed. */
export class Members {
  private readonly connections = new Map<string, number>();
  /** When each peer's subscriptions ended, in order. Each end can explain one `left`. Bound: one number per subscription of the run. */
  private readonly ends = new Map<string, number[]>();

  add(peer: string): void {
    this.connections.set(peer, (this.connections.get(peer) ?? 0) + 1);
  }

  remove(peer: string, nowMs: number): void {
    const left = (this.connections.get(peer) ?? 0) - 1;
    if (left > 0) this.connections.set(peer, left);
    else this.connections.delete(peer);
    const ends = this.ends.get(peer);
    if (ends) ends.push(nowMs);
    else this.ends.set(peer, [nowMs]);
  }

  has(peer: string): boolean {
    return this.connections.has(peer);
  }

  get peers(): Iterable<string> {
    return this.connections.keys();
  }

  endsOf(peer: string): readonly number[] {
    return this.ends.get(peer) ?? [];
  }
}

export interface PresenceChange {
  readonly joined: readonly string[];
  readonly left: readonly string[];
  readonly snapshot: boolean;
}

/** The members as one subscriber was shown them. */
export class View {
  /** undefined: the roster has not arrived yet. */
  private roster: Set<string> | undefined;
  /** How many ends of each peer have explained a `left`, or will explain one that was shown early, or are too old to explain one. */
  private readonly usedEnds = new Map<string, number>();
  /** A `left` of a peer whose connection, as far as was known then, had not ended. */
  private readonly unexplained: { readonly peer: string; readonly atMs: number }[] = [];

  constructor(
    private readonly me: string,
    private readonly members: Members,
  ) {}

  /** What is wrong with the frame itself, as the rest of a sentence after the subscriber's name. */
  apply({ joined, left, snapshot }: PresenceChange, nowMs: number): string[] {
    if (snapshot) {
      // A roster too long for one frame is sent in parts, so a further snapshot adds to it.
      this.roster ??= new Set();
      for (const peer of joined) this.roster.add(peer);
      return [];
    }
    if (!this.roster) return ["got a presence change before its roster"];
    const wrong: string[] = [];
    for (const peer of left) {
      this.roster.delete(peer);
      if (!this.isExplained(peer, nowMs)) this.unexplained.push({ peer, atMs: nowMs });
    }
    for (const peer of joined) {
      if (this.roster.has(peer)) wrong.push(`was shown that ${peer} joined, which was a member already`);
      this.roster.add(peer);
    }
    return wrong;
  }

  /** Peers that were shown as having left but did not. Valid when all events have been reported. */
  get falselyLeft(): readonly string[] {
    return this.unexplained
      .filter(({ peer, atMs }) => !this.members.endsOf(peer).some((end) => end >= atMs && end <= atMs + SEEN_EARLY_MS))
      .map(({ peer }) => peer);
  }

  /** How it differs from the actual members. */
  difference(): { readonly missing: readonly string[]; readonly extra: readonly string[] } {
    const roster = this.roster ?? new Set<string>();
    return {
      missing: [...this.members.peers].filter((peer) => peer !== this.me && !roster.has(peer)),
      extra: [...roster].filter((peer) => peer === this.me || !this.members.has(peer)),
    };
  }

  get hasRoster(): boolean {
    return this.roster !== undefined;
  }

  /** Whether an end of that peer explains a `left`. Each end explains one; some cause none, because the peer was back before. */
  private isExplained(peer: string, nowMs: number): boolean {
    const ends = this.members.endsOf(peer);
    let next = this.usedEnds.get(peer) ?? 0;
    while ((ends[next] ?? nowMs) < nowMs - NOTICED_WITHIN_MS) next++;
    this.usedEnds.set(peer, next + 1);
    return next < ends.length;
  }
}
