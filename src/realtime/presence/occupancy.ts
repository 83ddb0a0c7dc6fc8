/** Connections, channels and their members: of this node for the other nodes, and of all nodes for REST. */
import type { Clock } from "../../base/clock.ts";
import { FirstOf } from "../../base/first-of.ts";
import { type AppId, appOfGuests, guestsOf, type SpaceId } from "../../base/ids.ts";
import type { ChannelCount, ChannelsPage, Engine, FoundChannels, MemberState } from "../../engine/engine.ts";
import { COUNTED_MEMBER_STEPS, LISTED_ENTRY_STEPS } from "../../protocol/limits.ts";
import { Effort, requestsOf } from "../../protocol/patterns/containment.ts";
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

/** A channel on this node. The connections are those when it was found: it may be empty when the other nodes have answered. */
type Here = Pick<Channel, "members"> & { readonly connections: number };

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

  localMembers(spaceId: SpaceId, name: string): readonly MemberState[] {
    const channel = this.spaces.channel(spaceId, name);
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
  localPeers(spaceId: SpaceId, name: string): readonly MemberState[] {
    const members = this.spaces.channel(spaceId, name)?.members.values() ?? [];
    return [...members].flatMap((member) => {
      const state = member.arrivedHere();
      return state ? forOthers(state, this.clock) : [];
    });
  }

  localChannels(spaceId: SpaceId, page?: ChannelsPage): FoundChannels {
    const effort = new Effort();
    const found = page ? this.firstActive(spaceId, page, effort) : [...this.active(spaceId)];
    const counts = found.map((channel) => ({
      channel: channel.name,
      peerIds: [...channel.members.values()].filter(isCounted).map((one) => one.peer.peerId),
      connections: connectionsIn(channel),
    }));
    return { counts, steps: effort.spent };
  }

  private *active(spaceId: SpaceId): Generator<Channel> {
    for (const channel of this.spaces.get(spaceId)?.channels.values() ?? [])
      if (connectionsIn(channel) > 0) yield channel;
  }

  /** Without sorting all of them, and without a look at their members: an application may have very many channels. */
  private firstActive(spaceId: SpaceId, page: ChannelsPage, effort: Effort): Channel[] {
    const first = new FirstOf<Channel>(page.limit, (one, other) => one.name < other.name);
    effort.spend(LISTED_ENTRY_STEPS * (this.spaces.get(spaceId)?.channels.size ?? 0));
    for (const channel of this.active(spaceId)) {
      if (!first.wouldKeep(channel) || !isOnPage(channel.name, page)) continue;
      effort.spend(LISTED_ENTRY_STEPS + page.scope.stepsToMatch(channel.name));
      if (page.scope.matches(channel.name)) first.offer(channel);
    }
    const found = first.sorted();
    for (const { members } of found) effort.spend(COUNTED_MEMBER_STEPS * members.size);
    return found;
  }

  localConnections(app: AppId): number {
    const ofGuests = appOfGuests(app);
    return ofGuests === undefined ? this.spaces.connectionsOf(app) : this.spaces.guestsOf(ofGuests);
  }

  localCounts(): ReadonlyMap<AppId, number> {
    const counts = new Map<AppId, number>();
    for (const { owner, guests } of this.spaces.all()) {
      counts.set(owner, this.spaces.connectionsOf(owner));
      if (guests && guests.size > 0) counts.set(guestsOf(owner), guests.size);
    }
    return counts;
  }

  /** Members of a channel with metadata, including those that wait for their roster; `undefined` if a node has not answered. */
  async members(spaceId: SpaceId, name: string): Promise<MemberState[] | undefined> {
    const remote = await this.engine.members(spaceId, name);
    if (!remote) return undefined;
    return newestOfEach([...[...remote.values()].flat(), ...this.localPeers(spaceId, name)]);
  }

  /**
   * A page of the channels in use, by name; `undefined` if a node has not answered. Each node has the first of its own: a channel that is
   * among the first of all nodes is among the first wherever it is, so its counts are complete. Every channel is read for each page:
   * `charge` gets what that costs, in requests beyond this one: for this node before another one is asked.
   */
  async channels(
    spaceId: SpaceId,
    asked: ChannelsPage,
    charge: (requests: number) => void,
  ): Promise<ActiveChannels | undefined> {
    // One more than asked for: it says whether there is a next page.
    const page = { ...asked, limit: asked.limit + 1 };
    const effort = new Effort();
    const here = new Map<string, Here>(
      this.firstActive(spaceId, page, effort).map((channel) => [
        channel.name,
        { members: channel.members, connections: connectionsIn(channel) },
      ]),
    );
    charge(effort.requests);
    const remote = await this.engine.channels(spaceId, page);
    if (!remote) return undefined;
    charge(requestsOf(effort.spent + remote.steps) - requestsOf(effort.spent));
    const elsewhere = Map.groupBy(remote.counts, ({ channel }) => channel);
    const first = new FirstOf<string>(page.limit, (one, other) => one < other);
    for (const name of here.keys()) first.offer(name);
    for (const name of elsewhere.keys())
      if (!here.has(name) && isOnPage(name, page) && page.scope.matches(name)) first.offer(name);
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

const isOnPage = (name: string, { prefix, after }: ChannelsPage): boolean =>
  (after === undefined || name > after) && name.startsWith(prefix);

/** A peer with connections to several nodes counts once. */
function added(channel: string, here: Here | undefined, elsewhere: readonly ChannelCount[]): ActiveChannel {
  const connections = elsewhere.reduce((sum, one) => sum + one.connections, here?.connections ?? 0);
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
