/**
 * For tests: a node without clients. It has members and connections of its own, publishes numbered messages, builds rosters of the
 * other nodes from what the engine reports, and records every rule of the contract that the engine violates.
 */
import type { AppId, SpaceId } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import {
  type ChannelsPage,
  DEFERRED,
  type DeliverResult,
  type Engine,
  type EngineCallbacks,
  type Envelope,
  type FoundChannels,
  type MemberState,
  type NodeId,
  type NodeName,
  type Sent,
} from "../engine.ts";
import { type Numbered, numbered } from "./numbered.ts";
import { plain } from "./rosters.ts";

export const APP = anAppId("app");

/** By node, by peer id. */
type Roster = Map<NodeId, Map<string, MemberState>>;

const key = (spaceId: SpaceId, name: string): string => `${spaceId} ${name}`;

interface Watch {
  readonly roster: Roster;
  isAnswered: boolean;
}

export class TestNode implements EngineCallbacks {
  /** Rules of the contract that the engine has violated. */
  readonly violations: string[] = [];
  /** Names of received messages, by application and channel. */
  private readonly received = new Map<string, string[]>();
  /** Names of delivered direct messages, by application and peer. */
  private readonly delivered = new Map<string, string[]>();
  private readonly envelopes: Envelope[] = [];
  private readonly watches = new Map<string, Watch>();
  /** The last number per sending node and path: numbers must increase. */
  private readonly lastNumbers = new Map<string, number>();
  readonly gone: NodeId[] = [];
  /** The names of those, in the same order. */
  readonly goneNames: NodeName[] = [];
  readonly kicks: string[] = [];
  /** Peers that this node expects and that have connected to another one. */
  readonly returns: string[] = [];
  readonly blocks: [peerId: string, untilMs: number][] = [];
  /** Pages of channels that other nodes have asked for; this one answers with all, as nodes of earlier versions do. */
  readonly askedPages: (ChannelsPage | undefined)[] = [];
  readonly notifications: [node: NodeName, text: string][] = [];
  invalidations = 0;
  /** What the last invalidation named as withdrawn. */
  withdrawn: string | undefined;
  /** An invalidation is answered when this resolves. */
  invalidationWork: Promise<void> | undefined;
  /** Channels on which messages were reported lost. */
  readonly lostChannels: string[] = [];
  /** Nodes that are reported gone may come back. */
  expectsReturns = false;
  /** Messages and member changes in the order of their arrival. */
  readonly log: string[] = [];
  private readonly ownMembers = new Map<string, Map<string, MemberState>>();
  private readonly connectionsByPeer = new Map<string, number>();
  private readonly connectionsByApp = new Map<AppId, number>();
  private readonly held = new Set<string>();
  private lastNumber = 0;
  /** Text that is added to each message to make it large. */
  padding = "";

  constructor(
    readonly id: NodeName,
    readonly engine: Engine,
  ) {}

  // What the node does

  /** Returns the name of the message, as `receivedOn` has it on other nodes. */
  publish(channel: string, spaceId: SpaceId = APP): string {
    const { envelope, name } = this.nextMessage();
    if (!this.engine.publish(spaceId, channel, envelope)) throw new Error("the engine could not publish");
    return name;
  }

  /** `count`: to how many connections it was delivered. */
  send(to: string, from = "sender", spaceId: SpaceId = APP): { name: string; count: Sent } {
    const { envelope, name } = this.nextMessage(from);
    return { name, count: this.engine.send(spaceId, to, envelope, false) };
  }

  private nextMessage(from = "sender"): { envelope: Envelope; name: string } {
    const n = ++this.lastNumber;
    const envelope = numbered(from, { node: this.id, n, ...(this.padding && { padding: this.padding }) });
    return { envelope, name: `${this.id} ${n}` };
  }

  /** A member joins and is announced at once. */
  join(channel: string, peerId: string, since: number, metadataJson?: string, spaceId: SpaceId = APP): void {
    this.joinAll(channel, [{ peerId, metadataJson, since, node: this.id }], spaceId);
  }

  /** A member joins that must not be shown yet. */
  arrive(channel: string, peerId: string, since: number, metadataJson?: string): void {
    this.joinAll(channel, [{ peerId, metadataJson, since, node: this.id, isArriving: true }]);
  }

  leave(channel: string, peerId: string, spaceId: SpaceId = APP): void {
    if (this.ownMembers.get(key(spaceId, channel))?.delete(peerId))
      this.engine.announce(spaceId, channel, [], [peerId]);
  }

  /** Many members join in one announcement. */
  joinAll(channel: string, states: readonly MemberState[], spaceId: SpaceId = APP): void {
    const members = this.ownMembers.get(key(spaceId, channel)) ?? new Map<string, MemberState>();
    this.ownMembers.set(key(spaceId, channel), members);
    for (const state of states) members.set(state.peerId, state);
    this.engine.announce(spaceId, channel, states, []);
  }

  /** All members leave in one announcement. */
  leaveAll(channel: string, spaceId: SpaceId = APP): void {
    const members = this.ownMembers.get(key(spaceId, channel));
    this.ownMembers.delete(key(spaceId, channel));
    this.engine.announce(spaceId, channel, [], [...(members?.keys() ?? [])]);
  }

  /** The node has closed the peer's connection itself and expects it back. */
  holdPeer(peerId: string, spaceId: SpaceId = APP): void {
    this.held.add(key(spaceId, peerId));
    this.engine.serve(spaceId, peerId);
    this.engine.expect(spaceId, peerId);
  }

  setConnections(peerId: string, connections: number, app = APP): void {
    const before = this.connectionsByPeer.get(key(app, peerId)) ?? 0;
    this.connectionsByPeer.set(key(app, peerId), connections);
    this.connectionsByApp.set(app, (this.connectionsByApp.get(app) ?? 0) + connections - before);
    if (before === 0 && connections > 0) this.engine.serve(app, peerId);
    if (before > 0 && connections === 0) this.engine.release(app, peerId);
  }

  disconnectAll(): void {
    for (const name of [...this.connectionsByPeer.keys()]) {
      // Application names may contain spaces in tests, peer ids never.
      const at = name.lastIndexOf(" ");
      this.setConnections(name.slice(at + 1), 0, anAppId(name.slice(0, at)));
    }
    this.connectionsByApp.clear();
  }

  /** Resolves when the watch is answered. */
  watch(channel: string, spaceId: SpaceId = APP): Promise<void> {
    const watch: Watch = { roster: new Map(), isAnswered: false };
    this.watches.set(key(spaceId, channel), watch);
    return new Promise((resolve) => {
      this.engine.watch(spaceId, channel, (found) => {
        if (watch.isAnswered) this.violations.push(`the watch of ${channel} was answered twice`);
        watch.isAnswered = true;
        for (const [node, members] of found) this.change(watch.roster, node, members, []);
        resolve();
      });
    });
  }

  unwatch(channel: string, spaceId: SpaceId = APP): void {
    this.engine.unwatch(spaceId, channel);
    this.watches.delete(key(spaceId, channel));
  }

  isWatching(channel: string, spaceId: SpaceId = APP): boolean {
    return this.watches.has(key(spaceId, channel));
  }

  // What the node has received

  /** Names of messages. */
  receivedOn(channel: string, spaceId: SpaceId = APP): readonly string[] {
    return this.received.get(key(spaceId, channel)) ?? [];
  }

  /** Names of direct messages. */
  deliveredTo(peerId: string, spaceId: SpaceId = APP): readonly string[] {
    return this.delivered.get(key(spaceId, peerId)) ?? [];
  }

  envelopeOf(name: string): Envelope | undefined {
    return this.envelopes.find((one) => nameOf(one) === name);
  }

  /** Members of a channel on other nodes. */
  roster(channel: string, spaceId: SpaceId = APP): Record<NodeId, MemberState[]> {
    return plain(this.watches.get(key(spaceId, channel))?.roster ?? new Map());
  }

  private change(roster: Roster, node: NodeId, joined: readonly MemberState[], left: readonly string[]): void {
    if (this.gone.includes(node)) this.violations.push(`members of ${node} came after it was gone`);
    const members = roster.get(node) ?? new Map<string, MemberState>();
    for (const state of joined) members.set(state.peerId, state);
    for (const peerId of left) members.delete(peerId);
    roster.set(node, members);
  }

  private receive(path: string, envelope: Envelope): string {
    const { node, n } = JSON.parse(envelope.dataJson) as Numbered;
    if (node === this.id) this.violations.push(`its own ${path} came back`);
    // A message has the id that its node had first.
    if (this.gone.includes(node) && !this.expectsReturns)
      this.violations.push(`${path} of ${node} came after it was gone`);
    const last = this.lastNumbers.get(`${node} ${path}`) ?? 0;
    if (n <= last) this.violations.push(`${path} of ${node}: ${n} came after ${last}`);
    this.lastNumbers.set(`${node} ${path}`, n);
    this.envelopes.push(envelope);
    return nameOf(envelope);
  }

  // EngineCallbacks

  deliver(spaceId: SpaceId, channel: string, envelope: Envelope): void {
    const name = this.receive(`message on ${spaceId} ${channel}`, envelope);
    if (!this.isWatching(channel, spaceId))
      this.violations.push(`a message came on ${channel}, which it does not watch`);
    append(this.received, key(spaceId, channel), name);
    this.log.push(`${name} on ${channel}`);
  }

  deliverTo(spaceId: SpaceId, to: string, envelope: Envelope): DeliverResult {
    const connections = this.connectionsByPeer.get(key(spaceId, to)) ?? 0;
    if (connections === 0 && this.held.has(key(spaceId, to))) return DEFERRED;
    if (connections > 0)
      append(this.delivered, key(spaceId, to), this.receive(`direct ${spaceId} ${envelope.from} ${to}`, envelope));
    return connections;
  }

  returned(_spaceId: SpaceId, peerId: string): void {
    this.returns.push(peerId);
  }

  membersChanged(
    node: NodeId,
    spaceId: SpaceId,
    channel: string,
    joined: readonly MemberState[],
    left: readonly string[],
  ): void {
    const watch = this.watches.get(key(spaceId, channel));
    if (node === this.id) this.violations.push("its own announcement came back");
    if (!watch) this.violations.push(`an announcement came on ${channel}, which it does not watch`);
    // Changes before the answer must be included in it: realtime ignores them too.
    else if (watch.isAnswered) this.change(watch.roster, node, joined, left);
    for (const { peerId } of joined) this.log.push(`${peerId} joins ${channel}`);
    for (const peerId of left) this.log.push(`${peerId} leaves ${channel}`);
  }

  membersAre(node: NodeId, spaceId: SpaceId, channel: string, members: readonly MemberState[]): void {
    const watch = this.watches.get(key(spaceId, channel));
    if (!watch?.isAnswered) return;
    watch.roster.delete(node);
    this.change(watch.roster, node, members, []);
  }

  lost(_spaceId: SpaceId, channel: string): void {
    this.lostChannels.push(channel);
  }

  reconnected(): void {}

  nodeGone(node: NodeId, name: NodeName): void {
    if (this.gone.includes(node)) this.violations.push(`${node} was reported gone twice`);
    this.gone.push(node);
    this.goneNames.push(name);
    for (const { roster } of this.watches.values()) roster.delete(node);
  }

  invalidated(_app?: string, withdrawn?: string): Promise<void> | undefined {
    this.invalidations++;
    this.withdrawn = withdrawn;
    return this.invalidationWork;
  }

  connectionsChanged(): void {}

  blocked(_app: AppId, peerId: string, untilMs: number): void {
    this.blocks.push([peerId, untilMs]);
  }

  kicked(spaceId: SpaceId, peerId: string): number {
    const connections = this.connectionsByPeer.get(key(spaceId, peerId)) ?? 0;
    if (connections > 0) this.kicks.push(peerId);
    this.setConnections(peerId, 0, anAppId(spaceId));
    this.connectionsByPeer.delete(key(spaceId, peerId));
    return connections;
  }

  localPeers(spaceId: SpaceId, channel: string): readonly MemberState[] {
    return this.localMembers(spaceId, channel);
  }

  localMembers(spaceId: SpaceId, channel: string): readonly MemberState[] {
    return [...(this.ownMembers.get(key(spaceId, channel))?.values() ?? [])];
  }

  localChannels(spaceId: SpaceId, page?: ChannelsPage): FoundChannels {
    this.askedPages.push(page);
    const counts = [...this.ownMembers]
      .filter(([name, members]) => name.startsWith(`${spaceId} `) && members.size > 0)
      .map(([name, members]) => ({
        channel: name.slice(spaceId.length + 1),
        peerIds: [...members.keys()],
        connections: members.size,
      }));
    return { counts, steps: counts.length };
  }

  localConnections(app: AppId): number {
    return this.connectionsByApp.get(app) ?? 0;
  }

  localCounts(): ReadonlyMap<AppId, number> {
    return new Map(this.connectionsByApp);
  }

  respond(text: string): string | Promise<string> {
    return `${this.id} answers ${text}`;
  }

  notified(node: NodeName, text: string): void {
    this.notifications.push([node, text]);
  }
}

/** `<node> <number>`. */
const nameOf = (envelope: Envelope): string => {
  const { node, n } = JSON.parse(envelope.dataJson) as Numbered;
  return `${node} ${n}`;
};

function append(lists: Map<string, string[]>, name: string, entry: string): void {
  const list = lists.get(name);
  if (list) list.push(entry);
  else lists.set(name, [entry]);
}
