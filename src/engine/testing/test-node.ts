/**
 * For tests: a node with nobody behind it. It holds a truth of its own, gives numbered messages, builds a picture of the
 * others from what the engine tells it, and writes down every rule of the contract that it sees broken.
 */
import type { ChannelCount, Engine, Envelope, MemberState, NodeEnd, NodeId } from "../engine.ts";

export const APP = "app";

/** By node, by peer id. */
export type Picture = Map<NodeId, Map<string, MemberState>>;

const key = (app: string, name: string): string => `${app} ${name}`;

interface Watch {
  readonly picture: Picture;
  isAnswered: boolean;
}

interface Words {
  readonly node: NodeId;
  readonly n: number;
  readonly filling?: string;
}

export class TestNode implements NodeEnd {
  /** Rules of the contract that were broken towards this node. */
  readonly broken: string[] = [];
  /** What has arrived, as `<node> <number>`, by application and channel. */
  private readonly heard = new Map<string, string[]>();
  private readonly handed = new Map<string, string[]>();
  private readonly envelopes: Envelope[] = [];
  private readonly watches = new Map<string, Watch>();
  /** The last number that came on each way: they must rise. */
  private readonly last = new Map<string, number>();
  readonly gone: NodeId[] = [];
  readonly kicks: string[] = [];
  /** Who until when. */
  readonly blocks: [peerId: string, untilMs: number][] = [];
  nudges = 0;
  /** What a nudge makes it do takes so long. */
  seeingTo: Promise<void> | undefined;
  /** Channels of which it was told that something is lost. */
  readonly losses: string[] = [];
  /** In the order of arrival: what changed, who spoke. */
  readonly log: string[] = [];
  private readonly truth = new Map<string, Map<string, MemberState>>();
  private readonly people = new Map<string, number>();
  /** Connections by application. */
  private counts = new Map<string, number>();
  private number = 0;
  /** Text that is added to each message, to make it large. */
  filling = "";

  constructor(
    readonly id: NodeId,
    readonly engine: Engine,
  ) {}

  /** What it gives */

  /** Publishes and returns what it said, as `heardOn` shows it elsewhere. */
  say(channel: string, app = APP): string {
    const { envelope, name } = this.words();
    if (!this.engine.publish(app, channel, envelope)) throw new Error("the engine could not publish");
    return name;
  }

  tell(to: string, from = "somebody", app = APP): { name: string; reached: number | Promise<number> } {
    const { envelope, name } = this.words(from);
    return { name, reached: this.engine.send(app, to, envelope, false) };
  }

  private words(from = "somebody"): { envelope: Envelope; name: string } {
    const n = ++this.number;
    const words: Words = { node: this.id, n, ...(this.filling && { filling: this.filling }) };
    return {
      envelope: { from, metadataJson: n % 2 === 0 ? undefined : `{"of":"${from}"}`, dataJson: JSON.stringify(words) },
      name: `${this.id} ${n}`,
    };
  }

  /** Its truth changes, and it says so at once, as the heart does. */
  join(channel: string, peerId: string, since: number, metadataJson?: string, app = APP): void {
    this.enter(channel, { peerId, metadataJson, since }, app);
  }

  /** Somebody who is not to be shown yet. */
  arrive(channel: string, peerId: string, since: number, metadataJson?: string): void {
    this.enter(channel, { peerId, metadataJson, since, isArriving: true }, APP);
  }

  private enter(channel: string, state: MemberState, app: string): void {
    const { peerId } = state;
    const members = this.truth.get(key(app, channel)) ?? new Map<string, MemberState>();
    this.truth.set(key(app, channel), members.set(peerId, state));
    this.engine.announce(app, channel, [state], []);
  }

  part(channel: string, peerId: string, app = APP): void {
    if (this.truth.get(key(app, channel))?.delete(peerId)) this.engine.announce(app, channel, [], [peerId]);
  }

  /** Many members in one announcement. */
  joinAll(channel: string, states: readonly MemberState[], app = APP): void {
    const members = this.truth.get(key(app, channel)) ?? new Map<string, MemberState>();
    this.truth.set(key(app, channel), members);
    for (const state of states) members.set(state.peerId, state);
    this.engine.announce(app, channel, states, []);
  }

  /** All members leave in one announcement. */
  partAll(channel: string, app = APP): void {
    const members = this.truth.get(key(app, channel));
    this.truth.delete(key(app, channel));
    this.engine.announce(app, channel, [], [...(members?.keys() ?? [])]);
  }

  hold(peerId: string, connections: number, app = APP): void {
    const had = this.people.get(key(app, peerId)) ?? 0;
    this.people.set(key(app, peerId), connections);
    this.counts.set(app, (this.counts.get(app) ?? 0) + connections - had);
    if (had === 0 && connections > 0) this.engine.hold(app, peerId);
    if (had > 0 && connections === 0) this.engine.release(app, peerId);
  }

  /** All connections end. */
  endAll(): void {
    for (const name of [...this.people.keys()]) {
      // An application's name may hold spaces here, a peer's never.
      const at = name.lastIndexOf(" ");
      this.hold(name.slice(at + 1), 0, name.slice(0, at));
    }
    this.counts.clear();
  }

  /** Resolves with the answer. */
  watch(channel: string, app = APP): Promise<void> {
    const watch: Watch = { picture: new Map(), isAnswered: false };
    this.watches.set(key(app, channel), watch);
    return new Promise((resolve) => {
      this.engine.watch(app, channel, (found) => {
        if (watch.isAnswered) this.broken.push(`the watch of ${channel} was answered twice`);
        watch.isAnswered = true;
        for (const [node, members] of found) this.put(watch.picture, node, members, []);
        resolve();
      });
    });
  }

  unwatch(channel: string, app = APP): void {
    this.engine.unwatch(app, channel);
    this.watches.delete(key(app, channel));
  }

  isWatching(channel: string, app = APP): boolean {
    return this.watches.has(key(app, channel));
  }

  /** What it has come to know */

  heardOn(channel: string, app = APP): readonly string[] {
    return this.heard.get(key(app, channel)) ?? [];
  }

  handedTo(peerId: string, app = APP): readonly string[] {
    return this.handed.get(key(app, peerId)) ?? [];
  }

  /** The envelope of what `heardOn` or `handedTo` shows. */
  envelopeOf(name: string): Envelope | undefined {
    return this.envelopes.find((one) => nameOf(one) === name);
  }

  picture(channel: string, app = APP): Record<NodeId, MemberState[]> {
    return plain(this.watches.get(key(app, channel))?.picture ?? new Map());
  }

  private put(picture: Picture, node: NodeId, joined: readonly MemberState[], left: readonly string[]): void {
    if (this.gone.includes(node)) this.broken.push(`members of ${node} came after it had gone`);
    const members = picture.get(node) ?? new Map<string, MemberState>();
    for (const state of joined) members.set(state.peerId, state);
    for (const peerId of left) members.delete(peerId);
    picture.set(node, members);
  }

  private came(way: string, envelope: Envelope): string {
    const { node, n } = JSON.parse(envelope.dataJson) as Words;
    if (node === this.id) this.broken.push(`its own ${way} came back`);
    if (this.gone.includes(node)) this.broken.push(`${way} of ${node} came after it had gone`);
    const before = this.last.get(`${node} ${way}`) ?? 0;
    if (n <= before) this.broken.push(`${way} of ${node}: ${n} came after ${before}`);
    this.last.set(`${node} ${way}`, n);
    this.envelopes.push(envelope);
    return nameOf(envelope);
  }

  /** NodeEnd */

  deliver(app: string, channel: string, envelope: Envelope): void {
    const name = this.came(`message on ${app} ${channel}`, envelope);
    if (!this.isWatching(channel, app)) this.broken.push(`a message came on ${channel}, which it does not watch`);
    append(this.heard, key(app, channel), name);
    this.log.push(`${name} on ${channel}`);
  }

  deliverTo(app: string, to: string, envelope: Envelope): number {
    const connections = this.people.get(key(app, to)) ?? 0;
    if (connections > 0) append(this.handed, key(app, to), this.came(`direct ${app} ${envelope.from} ${to}`, envelope));
    return connections;
  }

  membersChanged(
    node: NodeId,
    app: string,
    channel: string,
    joined: readonly MemberState[],
    left: readonly string[],
  ): void {
    const watch = this.watches.get(key(app, channel));
    if (node === this.id) this.broken.push("its own announcement came back");
    if (!watch) this.broken.push(`an announcement came on ${channel}, which it does not watch`);
    // What comes before the answer must be in it: the heart does not look at it either.
    else if (watch.isAnswered) this.put(watch.picture, node, joined, left);
    for (const { peerId } of joined) this.log.push(`${peerId} joins ${channel}`);
    for (const peerId of left) this.log.push(`${peerId} leaves ${channel}`);
  }

  membersAre(node: NodeId, app: string, channel: string, members: readonly MemberState[]): void {
    const watch = this.watches.get(key(app, channel));
    if (!watch?.isAnswered) return;
    watch.picture.delete(node);
    this.put(watch.picture, node, members, []);
  }

  lost(_app: string, channel: string): void {
    this.losses.push(channel);
  }

  nodeGone(node: NodeId): void {
    if (this.gone.includes(node)) this.broken.push(`${node} went twice`);
    this.gone.push(node);
    for (const { picture } of this.watches.values()) picture.delete(node);
  }

  nudged(): Promise<void> | undefined {
    this.nudges++;
    return this.seeingTo;
  }

  connectionsChanged(): void {}

  blocked(_app: string, peerId: string, untilMs: number): void {
    this.blocks.push([peerId, untilMs]);
  }

  kicked(app: string, peerId: string): number {
    const connections = this.people.get(key(app, peerId)) ?? 0;
    if (connections > 0) this.kicks.push(peerId);
    this.hold(peerId, 0, app);
    this.people.delete(key(app, peerId));
    return connections;
  }

  localPeers(app: string, channel: string): readonly MemberState[] {
    return this.localMembers(app, channel);
  }

  localMembers(app: string, channel: string): readonly MemberState[] {
    return [...(this.truth.get(key(app, channel))?.values() ?? [])];
  }

  localChannels(app: string): readonly ChannelCount[] {
    return [...this.truth]
      .filter(([name, members]) => name.startsWith(`${app} `) && members.size > 0)
      .map(([name, members]) => ({
        channel: name.slice(app.length + 1),
        peerIds: [...members.keys()],
        connections: members.size,
      }));
  }

  localConnections(app: string): number {
    return this.counts.get(app) ?? 0;
  }

  localCounts(): ReadonlyMap<string, number> {
    return new Map(this.counts);
  }
}

const nameOf = (envelope: Envelope): string => {
  const { node, n } = JSON.parse(envelope.dataJson) as Words;
  return `${node} ${n}`;
};

function append(lists: Map<string, string[]>, name: string, entry: string): void {
  const list = lists.get(name);
  if (list) list.push(entry);
  else lists.set(name, [entry]);
}

const byPeer = (a: MemberState, b: MemberState): number => (a.peerId < b.peerId ? -1 : 1);

/** To be compared: nodes with members only, in a fixed order. */
export const plain = (members: Iterable<readonly [NodeId, Map<string, MemberState> | readonly MemberState[]]>) =>
  Object.fromEntries(
    [...members]
      .map(([node, states]) => [node, [...states.values()].sort(byPeer)] as const)
      .filter(([, states]) => states.length > 0)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  ) as Record<NodeId, MemberState[]>;
