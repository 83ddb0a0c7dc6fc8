/**
 * Who else is there. Every node beats; one that has been silent for some beats is taken for gone. A node that was asleep
 * itself, or cut off, has heard nobody through no fault of theirs: it judges nobody for a while.
 */
import type { Beat } from "./encode.ts";

export interface OtherNode {
  /** As it calls itself: of one life of its process. */
  readonly name: string;
  /** As the heart knows it: another one each time it comes back after it was taken for gone. */
  readonly id: string;
  lastMs: number;
  connections: Map<string, number>;
  /** When it last told of those. */
  countedMs: number;
  /** Connections of its newest heartbeat while parts of it are still to come. */
  counting?: Map<string, number> | undefined;
  nextPart?: number;
}

/** The connections in a heartbeat, or in one part of it. */
export type Counts = Pick<Beat, "connections" | "part" | "parts">;

export const BEAT_MS = 1000;
const GONE_AFTER_BEATS = 3.5;
const SILENT_BEATS = 1.5;
/** A beat of ours that late means that we were asleep. */
const LATE_BEATS = 2;
const LENIENT_BEATS = 3;
const ENDED_MAX = 1000;
/** A node whose heartbeats still arrive so long after its farewell has not said it: somebody else on the server has. */
const FAREWELL_BEATS = 3;
/** Nodes that are there at once; what claims to come from further ones is ignored. */
export const NODES_MAX = 1000;
/** Names whose number of lives is remembered; the one that came longest ago is forgotten first. */
export const LIVES_MAX = 10_000;

/** Applications of another node whose connections are known; those beyond are counted as having none there. */
export const APPS_PER_NODE_MAX = 100_000;

export interface NodesParts {
  readonly self: string;
  readonly beatMs: number;
  readonly nowMs: () => number;
  readonly came: (node: OtherNode) => void;
  readonly gone: (node: OtherNode) => void;
}

export class Nodes {
  private readonly byName = new Map<string, OtherNode>();
  /** How often each has come: a life that ended does not come back under its old id. */
  private readonly lives = new Map<string, number>();
  /** When those said farewell that have: what was still under way of them revives nobody. */
  private readonly ended = new Map<string, number>();
  private lenientUntilMs = 0;
  private lastLookMs: number;

  constructor(private readonly parts: NodesParts) {
    this.lastLookMs = parts.nowMs();
  }

  get all(): readonly OtherNode[] {
    return [...this.byName.values()];
  }

  /** undefined: not one that is there. */
  known(name: string): OtherNode | undefined {
    return this.byName.get(name);
  }

  /** Something of it has arrived that says it is alive. */
  seen(name: string, counts?: Counts): OtherNode | undefined {
    if (name === this.parts.self || (this.ended.has(name) && !this.isRevived(name, counts))) return undefined;
    let node = this.byName.get(name);
    const isNew = !node;
    if (!node) {
      if (this.byName.size >= NODES_MAX) return undefined;
      const life = (this.lives.get(name) ?? 0) + 1;
      this.lives.delete(name);
      this.lives.set(name, life);
      if (this.lives.size > LIVES_MAX) this.lives.delete(this.lives.keys().next().value ?? "");
      node = { name, id: life === 1 ? name : `${name}~${life}`, lastMs: 0, connections: new Map(), countedMs: 0 };
      this.byName.set(name, node);
    }
    node.lastMs = this.parts.nowMs();
    if (counts) count(node, counts);
    if (isNew) this.parts.came(node);
    return node;
  }

  /** It has told how many connections one application has there. */
  counted(node: OtherNode, app: string, connections: number): void {
    // One without connections is no entry: the next heartbeat would not name it either.
    if (connections === 0) node.connections.delete(app);
    else setCount(node.connections, app, connections);
    node.countedMs = this.parts.nowMs();
  }

  farewell(name: string): void {
    // Only the first one counts: repeated ones must not keep away a node that lives.
    if (!this.ended.has(name)) this.ended.set(name, this.parts.nowMs());
    if (this.ended.size > ENDED_MAX) this.ended.delete(this.ended.keys().next().value ?? "");
    const node = this.byName.get(name);
    if (!node) return;
    this.byName.delete(name);
    this.parts.gone(node);
  }

  /** Only a heartbeat revives, and only one that cannot have been under way. */
  private isRevived(name: string, beat: Counts | undefined): boolean {
    const endedMs = this.ended.get(name) ?? 0;
    if (!beat || this.parts.nowMs() - endedMs < FAREWELL_BEATS * this.parts.beatMs) return false;
    return this.ended.delete(name);
  }

  /** Somebody who is there, as far as we know, has missed a beat: what he has cannot be found out. */
  get isSomebodySilent(): boolean {
    const before = this.parts.nowMs() - SILENT_BEATS * this.parts.beatMs;
    return this.all.some(({ lastMs }) => lastMs < before);
  }

  /** Nobody could be heard until now. */
  wasDeaf(): void {
    this.lenientUntilMs = this.parts.nowMs() + LENIENT_BEATS * this.parts.beatMs;
  }

  /** Some times a beat: who has been silent too long is gone. */
  look(): void {
    const { beatMs, nowMs } = this.parts;
    const now = nowMs();
    if (now - this.lastLookMs > LATE_BEATS * beatMs) this.wasDeaf();
    this.lastLookMs = now;
    if (now < this.lenientUntilMs) return;
    for (const node of this.all) {
      if (now - node.lastMs <= GONE_AFTER_BEATS * beatMs) continue;
      this.byName.delete(node.name);
      this.parts.gone(node);
    }
  }
}

/** Counts take effect with the last part. If a part is missing the earlier counts stay; the next heartbeat brings all again. */
function count(node: OtherNode, { connections, part, parts }: Counts): void {
  if (part === 0) node.counting = new Map();
  else if (part !== node.nextPart) node.counting = undefined;
  const { counting } = node;
  if (!counting) return;
  for (const [app, number] of connections) setCount(counting, app, number);
  node.nextPart = part + 1;
  if (node.nextPart < parts) return;
  node.connections = counting;
  node.counting = undefined;
  node.countedMs = node.lastMs;
}

function setCount(counts: Map<string, number>, app: string, connections: number): void {
  if (counts.size < APPS_PER_NODE_MAX || counts.has(app)) counts.set(app, connections);
}
