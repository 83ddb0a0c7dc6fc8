/** Connections, channels and their members: of this node for the other nodes, and of all nodes for REST. */
import type { Clock } from "../../base/clock.ts";
import { FirstOf } from "../../base/first-of.ts";
import type { AppId, SpaceId } from "../../base/ids.ts";
import type { ChannelCount, ChannelsPage, Engine, MemberState } from "../../engine/engine.ts";
import type { Channel } from "../state/channel.ts";
import type { Member } from "../state/member.ts";
import { newestOfEach } from "../state/newest.ts";
import type { Spaces } from "../state/spaces.ts";
import { isUnsent } from "./announce.ts";
import { forOthers } from "./between-nodes.ts";

interface ActiveChannel {
  readonly channel: string;
  readonly peers: number;
  readonly connections: number;
}

export interface ActiveChannels {
  readonly data: readonly ActiveChannel[];
  /** Where the next page begins; null: there is none. */
  readonly next: string | null;
}

export class Occupancy {
  constructor(
    private readonly spaces: Spaces,
    private readonly engine: Engine,
    private readonly clock: Clock,
  ) {}

  localMembers(app: SpaceId, name: string): readonly MemberState[] {
    const channel = this.spaces.channel(app, name);
    if (!channel) return [];
    return [...channel.members.values()].flatMap((member) => {
      if (isUnsent(member.announced)) member.announced = member.toAnnounce();
      // A node that asks only now has never been sent a member that a node that is gone has left to this one. It learns of its end
      // from this one too.
      member.announced ??= member.lingeringState?.state;
      return member.announced ? forOthers(member.announced, this.clock) : [];
    });
  }

  /** Including peers that wait for their roster, and members without a connection. */
  localPeers(app: SpaceId, name: string): readonly MemberState[] {
    const members = this.spaces.channel(app, name)?.members.values() ?? [];
    return [...members].flatMap((member) => {
      const state = member.arrivedHere();
      return state ? forOthers(state, this.clock) : [];
    });
  }

  localChannels(app: SpaceId, page?: ChannelsPage): readonly ChannelCount[] {
    const found = page ? this.firstActive(app, page) : [...this.active(app)];
    return found.map((channel) => ({
      channel: channel.name,
      peerIds: [...channel.members.values()].filter(isCounted).map((one) => one.peer.peerId),
      connections: connectionsIn(channel),
    }));
  }

  private *active(app: SpaceId): Generator<Channel> {
    for (const channel of this.spaces.get(app)?.channels.values() ?? []) if (connectionsIn(channel) > 0) yield channel;
  }

  /** Without sorting all of them, and without a look at their members: an application may have very many channels. */
  private firstActive(app: SpaceId, page: ChannelsPage): Channel[] {
    const first = new FirstOf<Channel>(page.limit, (one, other) => one.name < other.name);
    for (const channel of this.active(app))
      if (first.wouldKeep(channel) && isWithin(channel.name, page)) first.offer(channel);
    return first.sorted();
  }

  localConnections(app: AppId): number {
    return this.spaces.connectionsOf(app);
  }

  localCounts(): ReadonlyMap<AppId, number> {
    return new Map([...this.spaces.all()].map(({ owner }) => [owner, this.spaces.connectionsOf(owner)]));
  }

  /** Members of a channel with metadata, including those that wait for their roster; `undefined` if a node has not answered. */
  async members(app: SpaceId, name: string): Promise<MemberState[] | undefined> {
    const remote = await this.engine.members(app, name);
    if (!remote) return undefined;
    return newestOfEach([...[...remote.values()].flat(), ...this.localPeers(app, name)]);
  }

  /**
   * A page of the channels in use, by name; `undefined` if a node has not answered. Each node has the first of its own: a channel that is
   * among the first of all nodes is among the first wherever it is, so its counts are complete.
   */
  async channels(app: SpaceId, asked: ChannelsPage): Promise<ActiveChannels | undefined> {
    // One more than asked for: it says whether there is a next page.
    const page = { ...asked, limit: asked.limit + 1 };
    const remote = await this.engine.channels(app, page);
    if (!remote) return undefined;
    const here = new Map(this.firstActive(app, page).map((channel) => [channel.name, channel]));
    const elsewhere = Map.groupBy(remote, ({ channel }) => channel);
    const first = new FirstOf<string>(page.limit, (one, other) => one < other);
    for (const name of here.keys()) first.offer(name);
    for (const name of elsewhere.keys()) if (!here.has(name) && isWithin(name, page)) first.offer(name);
    const names = first.sorted();
    const data = names.slice(0, asked.limit).map((name) => added(name, here.get(name), elsewhere.get(name) ?? []));
    return { data, next: names.length > data.length ? (data.at(-1)?.channel ?? null) : null };
  }

  connectionsOf(app: AppId): number {
    return this.localConnections(app) + this.engine.connections(app);
  }
}

const connectionsIn = ({ subscribers, replaying }: Channel): number => subscribers + replaying;

/** Not one that has just left: it is a member until the others have been shown that. */
const isCounted = (member: Member): boolean => member.hasSubscription || member.lingeringState !== undefined;

/** The scope last: its patterns cost more than the rest. */
const isWithin = (name: string, { prefix, after, scope }: ChannelsPage): boolean =>
  (after === undefined || name > after) && name.startsWith(prefix) && scope.matches(name);

/** A peer with connections to several nodes counts once. */
function added(channel: string, here: Channel | undefined, elsewhere: readonly ChannelCount[]): ActiveChannel {
  const connections = elsewhere.reduce((sum, one) => sum + one.connections, here ? connectionsIn(here) : 0);
  const members = here?.members.values().filter(isCounted) ?? [];
  if (elsewhere.length === 0) return { channel, peers: countOf(members), connections };
  const peerIds = new Set(elsewhere.flatMap((one) => one.peerIds));
  for (const { peer } of members) peerIds.add(peer.peerId);
  return { channel, peers: peerIds.size, connections };
}

function countOf(all: Iterable<unknown>): number {
  let count = 0;
  for (const _ of all) count++;
  return count;
}
