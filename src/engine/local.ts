/**
 * The engine of nodes in one process. A service of one node has an exchange to itself; the engine's suite and the model of
 * realtime put several nodes on one, with a `Carrier` that delays and reorders what is exchanged.
 */
import type { AppId, SpaceId } from "../base/ids.ts";
import {
  allOf,
  type ChannelsPage,
  type Claim,
  DEFERRED,
  type DeliverResult,
  type Engine,
  type EngineCallbacks,
  type Envelope,
  type FoundChannels,
  type MemberState,
  type NodeId,
  type NodeName,
  type NodeResponses,
  type Nudged,
  type RemoteMembers,
  type Sent,
} from "./engine.ts";

/** Calls `arrive` now or later. Calls with the same `route` MUST arrive in order. */
export type Carrier = (route: string, arrive: () => void) => void;

const immediately: Carrier = (_route, arrive) => arrive();

export class Exchange {
  /** Bound: the nodes of this process: one, or several in tests. */
  private readonly nodes = new Map<NodeId, EngineCallbacks>();
  /** By node: `<spaceId> <channel>` → the number of its watch. Bound: channels in use here. */
  private readonly watches = new Map<NodeId, Map<string, number>>();
  private lastWatch = 0;

  /** Number of open claims by application. Bound: one claim per connect in progress. */
  private readonly claims = new Map<AppId, number>();

  constructor(private readonly carry: Carrier = immediately) {}

  engine(): Engine {
    return new LocalEngine(this);
  }

  join(node: EngineCallbacks): void {
    this.nodes.set(node.id, node);
  }

  leave(id: NodeId): void {
    if (!this.nodes.delete(id)) return;
    this.watches.delete(id);
    for (const other of this.nodes.values())
      this.carry(`${other.id} ${id} gone`, () => this.nodes.get(other.id)?.nodeGone(id, id));
  }

  setWatching(id: NodeId, spaceId: SpaceId, channel: string, on: boolean): void {
    const key = `${spaceId} ${channel}`;
    const watched = this.watches.get(id) ?? new Map<string, number>();
    if (on) watched.set(key, ++this.lastWatch);
    else watched.delete(key);
    if (watched.size > 0) this.watches.set(id, watched);
    else this.watches.delete(id);
  }

  claim(app: AppId, cap: number): Claim | undefined {
    const open = this.claims.get(app) ?? 0;
    const connections = [...this.nodes.values()].reduce((sum, node) => sum + node.localConnections(app), 0);
    if (connections + open >= cap) return undefined;
    this.claims.set(app, open + 1);
    let isOpen = true;
    const end = (): void => {
      if (isOpen) this.endClaim(app);
      isOpen = false;
    };
    return { end };
  }

  private endClaim(app: AppId): void {
    const open = (this.claims.get(app) ?? 1) - 1;
    if (open > 0) this.claims.set(app, open);
    else this.claims.delete(app);
  }

  get isAlone(): boolean {
    return this.nodes.size <= 1;
  }

  others(id: NodeId): EngineCallbacks[] {
    if (this.nodes.size <= 1 || !this.nodes.has(id)) return [];
    return [...this.nodes.values()].filter((node) => node.id !== id);
  }

  /** Calls `arrive` for each other node that watches a channel, if it is still the same watch by then. */
  toWatchers(from: NodeId, spaceId: SpaceId, channel: string, arrive: (node: EngineCallbacks) => void): void {
    if (this.nodes.size <= 1) return;
    const key = `${spaceId} ${channel}`;
    for (const other of this.others(from)) {
      const watch = this.watches.get(other.id)?.get(key);
      if (watch === undefined) continue;
      this.to(from, other, `${from} ${key}`, (node) => {
        if (node && this.watches.get(node.id)?.get(key) === watch) arrive(node);
      });
    }
  }

  /** `arrive` gets undefined if one of the two nodes has left meanwhile: nothing may arrive from a node that has left. */
  to(from: NodeId, node: EngineCallbacks, route: string, arrive: (node: EngineCallbacks | undefined) => void): void {
    this.carry(`${node.id} ${route}`, () => {
      const areBothHere = this.nodes.has(from) && this.nodes.get(node.id) === node;
      arrive(areBothHere ? node : undefined);
    });
  }
}

class LocalEngine implements Engine {
  private id: NodeId = "";

  constructor(private readonly exchange: Exchange) {}

  get isAlone(): boolean {
    return this.exchange.isAlone;
  }

  attach(node: EngineCallbacks): void {
    this.id = node.id;
    this.exchange.join(node);
  }

  publish(spaceId: SpaceId, channel: string, envelope: Envelope): boolean {
    if (this.exchange.isAlone) return true;
    this.exchange.toWatchers(this.id, spaceId, channel, (node) => node.deliver(spaceId, channel, envelope));
    return true;
  }

  send(spaceId: SpaceId, to: string, envelope: Envelope): Sent {
    if (this.exchange.isAlone) return 0;
    const others = this.exchange.others(this.id);
    return sum(
      others.map(
        (other) =>
          new Promise<DeliverResult>((resolve) =>
            this.exchange.to(this.id, other, `${this.id} direct ${to}`, (node) =>
              resolve(node?.deliverTo(spaceId, to, envelope) ?? 0),
            ),
          ),
      ),
    );
  }

  /** `send` asks every node, so that only those which expect the peer have to know. */
  serve(spaceId: SpaceId, peerId: string): void {
    if (this.exchange.isAlone) return;
    for (const other of this.exchange.others(this.id))
      this.exchange.to(this.id, other, `${this.id} direct ${peerId}`, (node) => node?.returned(spaceId, peerId));
  }

  /** No-op: every node is notified of every peer. */
  release(): void {}
  expect(): void {}

  watch(spaceId: SpaceId, channel: string, found: (members: RemoteMembers) => void): void {
    this.exchange.setWatching(this.id, spaceId, channel, true);
    found(this.onOthers((node) => node.localMembers(spaceId, channel)));
  }

  unwatch(spaceId: SpaceId, channel: string): void {
    this.exchange.setWatching(this.id, spaceId, channel, false);
  }

  announce(spaceId: SpaceId, channel: string, joined: readonly MemberState[], left: readonly string[]): void {
    if (!this.exchange.isAlone) this.announceToOthers(spaceId, channel, joined, left);
  }

  private announceToOthers(
    spaceId: SpaceId,
    channel: string,
    joined: readonly MemberState[],
    left: readonly string[],
  ): void {
    // On the same route as messages: a member must be known before its messages arrive.
    this.exchange.toWatchers(this.id, spaceId, channel, (node) =>
      node.membersChanged(this.id, spaceId, channel, joined, left),
    );
  }

  block(app: AppId, peerId: string, untilMs: number): void {
    for (const other of this.exchange.others(this.id)) other.blocked(app, peerId, untilMs);
  }

  kick(spaceId: SpaceId, peerId: string): number {
    return this.exchange.others(this.id).reduce((closed, node) => closed + node.kicked(spaceId, peerId), 0);
  }

  channels(spaceId: SpaceId, page?: ChannelsPage): FoundChannels {
    return allOf(this.exchange.others(this.id).map((node) => node.localChannels(spaceId, page)));
  }

  members(spaceId: SpaceId, channel: string): RemoteMembers {
    return this.onOthers((node) => node.localPeers(spaceId, channel));
  }

  private onOthers(membersOf: (node: EngineCallbacks) => readonly MemberState[]): RemoteMembers {
    return new Map(this.exchange.others(this.id).map((node) => [node.id, membersOf(node)]));
  }

  /** No-op: counts are read on demand. */
  counted(): void {}

  claim(app: AppId, cap: number): Claim | undefined {
    return this.exchange.claim(app, cap);
  }

  connections(app: AppId): number {
    return this.exchange.isAlone ? 0 : this.connectionsOfOthers(app);
  }

  private connectionsOfOthers(app: AppId): number {
    return this.exchange.others(this.id).reduce((count, node) => count + node.localConnections(app), 0);
  }

  async invalidate(app?: AppId, withdrawn?: string): Promise<Nudged> {
    const finished = this.exchange
      .others(this.id)
      .map(
        (other) =>
          new Promise<void>((resolve) =>
            this.exchange.to(this.id, other, `${this.id} invalidate`, (node) =>
              resolve(node?.invalidated(app, withdrawn)),
            ),
          ),
      );
    await Promise.all(finished);
    return "answered";
  }

  async request(text: string): Promise<NodeResponses> {
    const others = this.exchange.others(this.id);
    const responses = await Promise.all(
      others.map(
        (other) =>
          new Promise<readonly [NodeId, string] | undefined>((resolve) =>
            this.exchange.to(this.id, other, `${this.id} request`, async (node) => {
              try {
                resolve(node && [node.id, await node.respond(text)]);
              } catch {
                // It has not responded.
                resolve(undefined);
              }
            }),
          ),
      ),
    );
    const found = responses.filter((one) => one !== undefined);
    return { responses: new Map(found), isComplete: found.length === others.length };
  }

  knows(node: NodeName): boolean {
    return this.exchange.others(this.id).some(({ id }) => id === node);
  }

  notify(node: NodeName, text: string): void {
    const other = this.exchange.others(this.id).find((one) => one.id === node);
    if (other) this.exchange.to(this.id, other, `${this.id} notify`, (one) => one?.notified(this.id, text));
  }

  async close(): Promise<void> {
    this.exchange.leave(this.id);
  }
}

/** The deliveries of all nodes together; DEFERRED if there are none and a node expects the peer back. */
async function sum(ofNodes: readonly Promise<DeliverResult>[]): Promise<DeliverResult> {
  let delivered = 0;
  let isDeferred = false;
  for (const one of await Promise.all(ofNodes))
    if (one === DEFERRED) isDeferred = true;
    else delivered += one;
  return delivered === 0 && isDeferred ? DEFERRED : delivered;
}
