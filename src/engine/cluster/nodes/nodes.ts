/**
 * The other nodes. Every node sends heartbeats; one that is silent for several heartbeats is considered gone. A node that was
 * suspended or disconnected itself has received nothing from anyone: it considers no other node gone for a while.
 */
import type { AppId } from "../../../base/ids.ts";
import type { Heartbeat } from "../wire/messages.ts";

export interface OtherNode {
  /** The name it uses itself, new with each start of its process. */
  readonly name: string;
  /** The id used towards realtime: another one for each incarnation, when it returns after it was considered gone. */
  readonly id: string;
  lastMs: number;
  /** Its own clock in the last heartbeat that was received. undefined: it is of an earlier version. */
  clockMs?: number | undefined;
  /** It is of 0.1.0, whose heartbeats have no clock. undefined also before its first heartbeat. */
  isOfFirstRelease?: boolean;
  /** Its heartbeats have changes of the list of nodes that it receives, and it reads those of others. */
  readsChanges?: boolean;
  /** The last change of that list that is known here, and whether this node is in the list. */
  list?: { readonly number: number; readonly includesSelf: boolean } | undefined;
  /** By application. Bound: APPS_PER_NODE_MAX. */
  connections: Map<AppId, number>;
  /** When it last reported its connections. */
  countedMs: number;
  /** Connections of its newest heartbeat while further parts of it are still to come. Bound: APPS_PER_NODE_MAX. */
  counting?: Map<AppId, number> | undefined;
  nextPart?: number;
  /** It has sent its farewell, and does not return. */
  hasLeft?: boolean;
}

/** What is taken from a heartbeat, or from one part of it. */
export type Counts = Pick<Heartbeat, "connections" | "part" | "parts" | "clockMs" | "list">;

export const HEARTBEAT_MS = 1000;
export const GONE_AFTER_HEARTBEATS = 3.5;
const SILENT_AFTER_HEARTBEATS = 1.5;
/** A check that runs this late means that this process was suspended. */
const SUSPENDED_AFTER_HEARTBEATS = 2;
/** For this time after an outage or a suspension no node is considered gone. */
const GRACE_HEARTBEATS = 3;
/** A node whose heartbeats still arrive this long after its farewell has not sent it: another client of the server has. */
const FORGED_FAREWELL_AFTER_HEARTBEATS = 3;
/** Bound: nodes whose farewell is remembered; the oldest is forgotten first. */
export const FAREWELLS_MAX = 1000;
/** Bound: other nodes at one time; messages of further ones are ignored. */
export const NODES_MAX = 1000;
/** Bound: names whose number of incarnations is remembered; the oldest is forgotten first. */
export const INCARNATIONS_MAX = 10_000;
/** Bound: applications per node whose connections are known; further ones count as having none. */
export const APPS_PER_NODE_MAX = 100_000;

interface NodesParts {
  readonly self: string;
  readonly heartbeatMs: number;
  readonly nowMs: () => number;
  readonly appeared: (node: OtherNode) => void;
  readonly gone: (node: OtherNode) => void;
}

export class Nodes {
  /** Bound: NODES_MAX, each with a heartbeat in the last 3.5 s. */
  private readonly byName = new Map<string, OtherNode>();
  /** How often each node has appeared. Bound: INCARNATIONS_MAX, the oldest is forgotten. */
  private readonly incarnations = new Map<string, number>();
  /** When a node sent its farewell: messages that were still in transit must not revive it. Bound: FAREWELLS_MAX. */
  private readonly farewells = new Map<string, number>();
  private graceUntilMs = 0;
  private lostMs = Number.NEGATIVE_INFINITY;
  private lastCheckMs: number;

  constructor(private readonly parts: NodesParts) {
    this.lastCheckMs = parts.nowMs();
  }

  get all(): readonly OtherNode[] {
    return [...this.byName.values()];
  }

  get size(): number {
    return this.byName.size;
  }

  /** Connections of an application on all of them, as last reported. */
  connections(app: AppId): number {
    let sum = 0;
    for (const { connections } of this.byName.values()) sum += connections.get(app) ?? 0;
    return sum;
  }

  /** undefined: it has not appeared, or is gone. */
  known(name: string): OtherNode | undefined {
    return this.byName.get(name);
  }

  /** A message of it has arrived, so it is alive. undefined: the message must be ignored. */
  seen(name: string, counts?: Counts): OtherNode | undefined {
    if (name === this.parts.self || (this.farewells.has(name) && !this.isRevived(name, counts))) return undefined;
    let node = this.byName.get(name);
    const isNew = !node;
    if (!node) {
      if (this.byName.size >= NODES_MAX) return undefined;
      const incarnation = (this.incarnations.get(name) ?? 0) + 1;
      this.incarnations.delete(name);
      this.incarnations.set(name, incarnation);
      if (this.incarnations.size > INCARNATIONS_MAX) dropOldest(this.incarnations);
      const id = incarnation === 1 ? name : `${name}~${incarnation}`;
      node = { name, id, lastMs: 0, connections: new Map(), countedMs: 0 };
      this.byName.set(name, node);
    }
    node.lastMs = this.parts.nowMs();
    if (counts) {
      node.clockMs = counts.clockMs;
      node.isOfFirstRelease = counts.clockMs === undefined;
      if (counts.part === 0) node.readsChanges = counts.list !== undefined;
      takeCounts(node, counts);
    }
    if (isNew) this.parts.appeared(node);
    return node;
  }

  /** It has reported the connections of one application. */
  setConnections(node: OtherNode, app: AppId, connections: number): void {
    // An application without connections has no entry: heartbeats do not name it either.
    if (connections === 0) node.connections.delete(app);
    else setCount(node.connections, app, connections);
    node.countedMs = this.parts.nowMs();
  }

  farewell(name: string): void {
    // Only the first one counts: repeated forged ones must not keep a living node away.
    if (!this.farewells.has(name)) this.farewells.set(name, this.parts.nowMs());
    if (this.farewells.size > FAREWELLS_MAX) dropOldest(this.farewells);
    const node = this.byName.get(name);
    if (!node) return;
    node.hasLeft = true;
    this.byName.delete(name);
    this.parts.gone(node);
  }

  /** It has sent its farewell. */
  hasLeft(name: string): boolean {
    return this.farewells.has(name);
  }

  /** Only a heartbeat revives a node, and only one that cannot have been in transit at its farewell. */
  private isRevived(name: string, heartbeat: Counts | undefined): boolean {
    const sinceMs = this.parts.nowMs() - (this.farewells.get(name) ?? 0);
    if (!heartbeat || sinceMs < FORGED_FAREWELL_AFTER_HEARTBEATS * this.parts.heartbeatMs) return false;
    return this.farewells.delete(name);
  }

  /** A known node has missed a heartbeat: a result without it may be incomplete. */
  get isAnySilent(): boolean {
    const before = this.parts.nowMs() - SILENT_AFTER_HEARTBEATS * this.parts.heartbeatMs;
    return this.all.some(({ lastMs }) => lastMs < before);
  }

  /** Whether a node was considered gone since then because it was silent. It may be suspended and come back. */
  hasLostOneSince(ms: number): boolean {
    return this.lostMs >= ms;
  }

  /** Nothing could be received until now: no node is considered gone for a while. */
  startGrace(): void {
    this.graceUntilMs = this.parts.nowMs() + GRACE_HEARTBEATS * this.parts.heartbeatMs;
  }

  /** Called several times per heartbeat: removes nodes that have been silent too long. */
  removeSilent(): void {
    const { heartbeatMs, nowMs } = this.parts;
    const now = nowMs();
    if (now - this.lastCheckMs > SUSPENDED_AFTER_HEARTBEATS * heartbeatMs) this.startGrace();
    this.lastCheckMs = now;
    if (now < this.graceUntilMs) return;
    for (const node of this.all) {
      if (now - node.lastMs <= GONE_AFTER_HEARTBEATS * heartbeatMs) continue;
      this.byName.delete(node.name);
      this.lostMs = now;
      this.parts.gone(node);
    }
  }
}

/** Counts take effect with the last part. If a part is missing the earlier counts stay until the next heartbeat. */
function takeCounts(node: OtherNode, { connections, part, parts }: Counts): void {
  if (part === 0) node.counting = new Map();
  else if (part !== node.nextPart) node.counting = undefined;
  const { counting } = node;
  if (!counting) return;
  for (const [app, count] of connections) setCount(counting, app, count);
  node.nextPart = part + 1;
  if (node.nextPart < parts) return;
  node.connections = counting;
  node.counting = undefined;
  node.countedMs = node.lastMs;
}

function setCount(counts: Map<AppId, number>, app: AppId, connections: number): void {
  if (counts.size < APPS_PER_NODE_MAX || counts.has(app)) counts.set(app, connections);
}

const dropOldest = (map: Map<string, number>): void => void map.delete(map.keys().next().value ?? "");
