/**
 * Live channels, over all nodes. Each node answers with a page of its own channels; the first entries of all pages together are the
 * page. A node with subscribers of a channel knows its members on all nodes and sees all of its messages, so peers and rates of a
 * channel are the largest of the nodes, and only its connections are added up.
 */
import { z } from "zod";
import type { Clock } from "../../../base/clock.ts";
import { FirstOf } from "../../../base/first-of.ts";
import { asSpaceId, type SpaceId } from "../../../base/ids.ts";
import { type Infer, lazily } from "../../../base/lazily.ts";
import { partOf } from "../../../base/part-of.ts";
import type { MemberState } from "../../../engine/engine.ts";
import type { NodeRequests } from "../../../engine/node-requests.ts";
import { isObject, parseStrict } from "../../../protocol/json.ts";
import { CHANNEL_MAX_BYTES, PEER_ID_MAX_CHARS } from "../../../protocol/limits.ts";
import type { Channel } from "../../state/channel.ts";
import type { Member } from "../../state/member.ts";
import { type Aged, isNewer } from "../../state/newest.ts";
import type { Spaces } from "../../state/spaces.ts";
import { LIVE_MEMBERS_MAX, LIVE_PAGE_MAX, NODE_MAX_CHARS } from "./limits.ts";
import { rounded } from "./rounded.ts";

const spaceId = lazily(() => z.string().max(128).transform(asSpaceId));
const channelName = lazily(() => z.string().max(CHANNEL_MAX_BYTES));
const cursor = lazily(() => z.string().max(CHANNEL_MAX_BYTES).optional());
const count = lazily(() => z.int().min(0));
const rate = lazily(() => z.number().min(0));

function isObjectText(text: string): boolean {
  const parsed = parseStrict(text, true);
  return parsed.ok && isObject(parsed.value);
}

const figures = lazily(() =>
  z.object({ peers: count(), connections: count(), ratePerSec: rate(), bytesPerSec: rate() }),
);
const line = lazily(() => figures().extend({ channel: channelName() }));
const lines = lazily(() => z.array(line()).max(LIVE_PAGE_MAX + 1));
const busiest = lazily(() => z.array(z.object({ channel: channelName(), ratePerSec: rate() })).max(LIVE_PAGE_MAX));
const member = lazily(() =>
  z.object({
    peerId: z.string().max(PEER_ID_MAX_CHARS),
    since: z.number(),
    /** Nodes of earlier versions do not name it. */
    node: z.string().max(NODE_MAX_CHARS).default(""),
    /** Copied into responses as it is. */
    metadataJson: z.string().refine(isObjectText).optional(),
    stateJson: z.string().refine(isObjectText).optional(),
    isLost: z.literal(true).optional(),
    hadOther: z.literal(true).optional(),
    connections: count(),
  }),
);
const withMembers = lazily(() => figures().extend({ members: z.array(member()).max(LIVE_MEMBERS_MAX + 1) }));

const pageRequest = lazily(() =>
  z.object({
    app: spaceId(),
    prefix: channelName(),
    /** In upper or lower case. Nodes of earlier versions do not know it: the lists of all are searched again. */
    contains: channelName().optional(),
    after: cursor(),
    limit: z.int().min(1).max(LIVE_PAGE_MAX),
  }),
);
const namedRequest = lazily(() => z.object({ app: spaceId(), names: z.array(channelName()).max(LIVE_PAGE_MAX) }));
const oneRequest = lazily(() =>
  z.object({
    app: spaceId(),
    channel: channelName(),
    after: cursor(),
    limit: z.int().min(1).max(LIVE_MEMBERS_MAX),
  }),
);

type Figures = Infer<typeof figures>;
export type LiveChannel = Infer<typeof line>;
type PageRequest = Infer<typeof pageRequest>;
type OneRequest = Infer<typeof oneRequest>;

export interface LiveMember {
  readonly peerId: string;
  readonly since: number;
  readonly node: string;
  readonly metadataJson?: string | undefined;
  readonly stateJson?: string | undefined;
  /** It has no connection any more, and stays for its grace period. */
  readonly isLost?: true | undefined;
  /** As in `Lingers`. */
  readonly hadOther?: true | undefined;
  readonly connections: number;
}

export interface Page<T> {
  readonly data: readonly T[];
  /** Where the next page begins; null: there is none. */
  readonly next: string | null;
  /** Every node has responded. */
  readonly isComplete: boolean;
}

export interface ChannelWithMembers extends Figures {
  readonly members: readonly LiveMember[];
  readonly next: string | null;
  readonly isComplete: boolean;
}

const PAGE = "live channels";
const BUSIEST = "busiest channels";
const NAMED = "live channels by name";
const ONE = "live channel";

interface LiveChannelsParts {
  readonly spaces: Spaces;
  readonly nodeRequests: NodeRequests;
  readonly clock: Pick<Clock, "monotonicMs">;
}

export class LiveChannels {
  constructor(private readonly parts: LiveChannelsParts) {
    const { nodeRequests } = parts;
    nodeRequests.onRequest(PAGE, (payload) => this.localPage(pageRequest().parse(payload)));
    nodeRequests.onRequest(BUSIEST, (payload) => this.localBusiest(pageRequest().parse(payload)));
    nodeRequests.onRequest(NAMED, (payload) => this.localNamed(namedRequest().parse(payload)));
    nodeRequests.onRequest(ONE, (payload) => this.localOne(oneRequest().parse(payload)));
  }

  /** Channels with subscribers, by name. */
  async page(request: PageRequest): Promise<Page<LiveChannel>> {
    const { answers, isComplete } = await this.parts.nodeRequests.gather(PAGE, request, (value) =>
      lines().parse(value),
    );
    const all = merged(answers.flat()).sort((one, other) => (one.channel < other.channel ? -1 : 1));
    const page = all.slice(0, request.limit);
    const isAsked = partOf(request.contains ?? "");
    const data = page.filter(({ channel }) => isAsked(channel));
    return { data, next: all.length > page.length ? (page.at(-1)?.channel ?? null) : null, isComplete };
  }

  /** The channels with most messages, busiest first. */
  async busiest(request: PageRequest): Promise<Page<LiveChannel>> {
    const { app } = request;
    const { nodeRequests } = this.parts;
    const top = await nodeRequests.gather(BUSIEST, request, (value) => busiest().parse(value));
    const found = [
      ...new Map(
        top.answers
          .flat()
          .sort(byRateUp)
          .map((one) => [one.channel, one]),
      ).values(),
    ];
    const isAsked = partOf(request.contains ?? "");
    const names = found
      .sort(byRateDown)
      .slice(0, request.limit)
      .map(({ channel }) => channel)
      .filter(isAsked);
    // A channel that is among the busiest on one node has connections on others too: they are asked for all of these.
    const named = await nodeRequests.gather(NAMED, { app, names }, (value) => lines().parse(value));
    const data = merged(named.answers.flat()).sort(byRateDown);
    return { data, next: null, isComplete: top.isComplete && named.isComplete };
  }

  /** One channel with a page of its members, by peer id. */
  async one(request: OneRequest): Promise<ChannelWithMembers> {
    const { nodeRequests } = this.parts;
    const { answers, isComplete } = await nodeRequests.gather(ONE, request, (value) => withMembers().parse(value));
    const total = answers.reduce<Figures>((sum, one) => added(sum, one), NOTHING);
    const { peers, connections, ratePerSec, bytesPerSec } = total;
    const byPeer = new Map<string, LiveMember>();
    for (const one of answers.flatMap(({ members }) => members)) {
      const known = byPeer.get(one.peerId);
      const shown = known && isNewer(agedOf(known), agedOf(one)) ? known : one;
      byPeer.set(one.peerId, { ...shown, connections: one.connections + (known?.connections ?? 0) });
    }
    const all = [...byPeer.values()].sort((one, other) => (one.peerId < other.peerId ? -1 : 1));
    const members = all.slice(0, request.limit);
    const next = all.length > members.length ? (members.at(-1)?.peerId ?? null) : null;
    return { peers, connections, ratePerSec, bytesPerSec, members, next, isComplete };
  }

  private localPage({ app, after, limit, ...wanted }: PageRequest): LiveChannel[] {
    const first = new FirstOf<Channel>(limit + 1, (one, other) => one.name < other.name);
    for (const channel of this.active(app, wanted))
      if (after === undefined || channel.name > after) first.offer(channel);
    return this.linesOf(first.sorted());
  }

  private localBusiest({ app, limit, ...wanted }: PageRequest): Infer<typeof busiest> {
    const now = this.parts.clock.monotonicMs();
    const first = new FirstOf<Infer<typeof busiest>[number]>(limit, (one, other) => byRateDown(one, other) < 0);
    for (const channel of this.active(app, wanted))
      first.offer({ channel: channel.name, ratePerSec: rounded(channel.ratePerSec(now)) });
    return first.sorted();
  }

  private localNamed({ app, names }: Infer<typeof namedRequest>): LiveChannel[] {
    const found = names.flatMap((name) => this.parts.spaces.channel(app, name) ?? []);
    return this.linesOf(found.filter(({ subscribers }) => subscribers > 0));
  }

  private localOne({ app, channel: name, after, limit }: OneRequest): Figures & { members: LiveMember[] } {
    const channel = this.parts.spaces.channel(app, name);
    if (!channel) return { ...NOTHING, members: [] };
    const first = new FirstOf<Member>(limit + 1, (one, other) => one.peer.peerId < other.peer.peerId);
    for (const one of channel.members.values())
      if ((one.hasSubscription || one.lingeringState) && (after === undefined || one.peer.peerId > after))
        first.offer(one);
    return { ...this.figuresOf(channel), members: first.sorted().flatMap(memberHere) };
  }

  private *active(
    spaceId: SpaceId,
    { prefix, contains = "" }: Pick<PageRequest, "prefix" | "contains">,
  ): Generator<Channel> {
    const isAsked = partOf(contains);
    for (const channel of this.parts.spaces.get(spaceId)?.channels.values() ?? []) {
      if (channel.subscribers + channel.replaying === 0) continue;
      if (channel.name.startsWith(prefix) && isAsked(channel.name)) yield channel;
    }
  }

  private linesOf(channels: readonly Channel[]): LiveChannel[] {
    return channels.map((channel) => ({ channel: channel.name, ...this.figuresOf(channel) }));
  }

  private figuresOf(channel: Channel): Figures {
    const now = this.parts.clock.monotonicMs();
    return {
      // Without a loop. A member that has just left is in it until the others are shown that, as in their rosters.
      peers: channel.members.size,
      connections: channel.subscribers + channel.replaying,
      ratePerSec: rounded(channel.ratePerSec(now)),
      bytesPerSec: rounded(channel.bytesPerSec(now)),
    };
  }
}

/** A member through this node's own connections, or one that has none left and lingers. */
function memberHere(member: Member): LiveMember[] {
  const state = member.arrivedHere();
  return state ? [liveMember(state, member.subscriptions.length)] : [];
}

const liveMember = (
  { peerId, since, node, metadataJson, stateJson, lingers }: MemberState,
  connections: number,
): LiveMember => ({
  peerId,
  since,
  node,
  metadataJson,
  stateJson,
  ...(lingers?.why === "lost" && { isLost: true }),
  ...(lingers?.hadOther && { hadOther: true }),
  connections,
});

/** The newest connection decides what is shown, as in rosters. */
const agedOf = ({ since, node, connections, hadOther }: LiveMember): Aged => ({
  since,
  node,
  lingers: connections === 0 ? { hadOther } : undefined,
});

const NOTHING: Figures = { peers: 0, connections: 0, ratePerSec: 0, bytesPerSec: 0 };

const added = (one: Figures, other: Figures): Figures => ({
  peers: Math.max(one.peers, other.peers),
  connections: one.connections + other.connections,
  ratePerSec: Math.max(one.ratePerSec, other.ratePerSec),
  bytesPerSec: Math.max(one.bytesPerSec, other.bytesPerSec),
});

/** One entry per channel. */
function merged(all: readonly LiveChannel[]): LiveChannel[] {
  const byName = new Map<string, LiveChannel>();
  for (const one of all) {
    const known = byName.get(one.channel);
    byName.set(one.channel, known ? { channel: one.channel, ...added(known, one) } : one);
  }
  return [...byName.values()];
}

type Rated = Pick<LiveChannel, "channel" | "ratePerSec">;

function byRateDown(one: Rated, other: Rated): number {
  if (one.ratePerSec !== other.ratePerSec) return other.ratePerSec - one.ratePerSec;
  return one.channel < other.channel ? -1 : 1;
}

const byRateUp = (one: Rated, other: Rated): number => one.ratePerSec - other.ratePerSec;
