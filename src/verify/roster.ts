/** Who is in a channel: as it is, and as one subscriber was told. */
import { PING_EVERY_MS, SILENCE_MAX_MS } from "../protocol/limits.ts";

/** The service may notice this late that somebody is gone without a word. */
const NOTICED_WITHIN_MS = SILENCE_MAX_MS + PING_EVERY_MS;
/** Others may hear of the end of a connection this much before the one whose connection it was. */
const HEARD_BEFORE_MS = 5000;

/** The truth: a peer is a member while one of its connections subscribes. */
export class Members {
  private readonly connections = new Map<string, number>();
  /** When each peer's subscriptions ended, in order: what a `left` may rest on. */
  private readonly ends = new Map<string, number[]>();

  came(peer: string): void {
    this.connections.set(peer, (this.connections.get(peer) ?? 0) + 1);
  }

  went(peer: string, nowMs: number): void {
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

/** What one subscriber believes. */
export class View {
  /** undefined: the roster has not come yet. */
  private roster: Set<string> | undefined;
  /** How many of a peer's ends this subscriber has been told of, or has passed over. */
  private readonly told = new Map<string, number>();
  /** Told that somebody left whose connection, as far as was known then, had not ended. */
  private readonly doubts: { readonly peer: string; readonly atMs: number }[] = [];

  constructor(
    private readonly me: string,
    private readonly members: Members,
  ) {}

  /** What is wrong about the frame itself, in words that follow the subscriber's name. */
  apply({ joined, left, snapshot }: PresenceChange, nowMs: number): string[] {
    if (snapshot) {
      // A roster too long for one frame comes in parts, so a further one adds.
      this.roster ??= new Set();
      for (const peer of joined) this.roster.add(peer);
      return [];
    }
    if (!this.roster) return ["was told of a change before its roster"];
    const wrong: string[] = [];
    for (const peer of left) {
      this.roster.delete(peer);
      if (!this.rests(peer, nowMs)) this.doubts.push({ peer, atMs: nowMs });
    }
    for (const peer of joined) {
      if (this.roster.has(peer)) wrong.push(`was told that ${peer} joined, who was there already`);
      this.roster.add(peer);
    }
    return wrong;
  }

  /** Those who were said to have left, and never did. To be asked when things have come to rest. */
  get falselyLeft(): readonly string[] {
    return this.doubts
      .filter(
        ({ peer, atMs }) => !this.members.endsOf(peer).some((end) => end >= atMs && end <= atMs + HEARD_BEFORE_MS),
      )
      .map(({ peer }) => peer);
  }

  /** How it differs from the truth; both empty: not at all. */
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

  /** Whether an end of that peer explains a `left`. Each end explains one; some are never told, since the peer was back. */
  private rests(peer: string, nowMs: number): boolean {
    const ends = this.members.endsOf(peer);
    let next = this.told.get(peer) ?? 0;
    while ((ends[next] ?? nowMs) < nowMs - NOTICED_WITHIN_MS) next++;
    this.told.set(peer, next + 1);
    return next < ends.length;
  }
}
