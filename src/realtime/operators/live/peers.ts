/** Live peers, over all nodes. Each node answers for its own connections; a peer on several nodes is one entry. */
import { z } from "zod";
import type { Clock } from "../../../base/clock.ts";
import { FirstOf } from "../../../base/first-of.ts";
import { asSpaceId, type SpaceId } from "../../../base/ids.ts";
import { type Infer, lazily } from "../../../base/lazily.ts";
import { partOf } from "../../../base/part-of.ts";
import type { NodeRequests } from "../../../engine/node-requests.ts";
import { CHANNEL_MAX_BYTES, CHANNELS_PER_CONNECTION_MAX, PEER_ID_MAX_CHARS } from "../../../protocol/limits.ts";
import type { Connection } from "../../state/connection.ts";
import { type Aged, newestFirst } from "../../state/newest.ts";
import type { Peer } from "../../state/peer.ts";
import type { Spaces } from "../../state/spaces.ts";
import type { Page } from "./channels.ts";
import { LIVE_CONNECTIONS_MAX, LIVE_EVENTS_MAX, LIVE_PAGE_MAX, NODE_MAX_CHARS, PEER_NAME_MAX_CHARS } from "./limits.ts";
import { namedWith, nameOf } from "./peer-name.ts";
import { rounded } from "./rounded.ts";

const spaceId = lazily(() => z.string().max(128).transform(asSpaceId));
const peerName = lazily(() => z.string().max(PEER_ID_MAX_CHARS));
const count = lazily(() => z.int().min(0));
// Nodes of earlier versions give neither.
const name = lazily(() => z.string().max(PEER_NAME_MAX_CHARS).optional());
const unixMs = lazily(() => z.number().optional());

const line = lazily(() =>
  z.object({
    peerId: peerName(),
    connections: count(),
    /** Unix ms: its oldest connection. */
    sinceMs: z.number(),
    channels: count(),
    name: name(),
    lastMessageMs: unixMs(),
  }),
);
const lines = lazily(() => z.array(line()).max(LIVE_PAGE_MAX + 1));

const connection = lazily(() =>
  z.object({
    connectionId: z.string().max(64),
    nodeId: z.string().max(256),
    keyId: z.string().max(256),
    address: z.string().max(64),
    sinceMs: z.number(),
    subscriptions: z.array(z.string().max(CHANNEL_MAX_BYTES)).max(CHANNELS_PER_CONNECTION_MAX),
    framesPerSec: z.number().min(0),
  }),
);
/** As recorder.ts gives it. */
const event = lazily(() =>
  z.object({
    at: z.number(),
    kind: z.string().max(64),
    connectionId: z.string().max(64),
    keyId: z.string().max(256).optional(),
    channel: z.string().max(CHANNEL_MAX_BYTES).optional(),
    code: z.union([z.string().max(64), z.int()]).optional(),
    count: count().optional(),
  }),
);
/** As nodes exchange it: with the node's own name, which nodes of earlier versions do not give. Operators know the node by another. */
const answeredConnection = lazily(() => connection().extend({ node: z.string().max(NODE_MAX_CHARS).default("") }));
const details = lazily(() =>
  z.object({
    total: count(),
    connections: z.array(answeredConnection()).max(LIVE_CONNECTIONS_MAX),
    recent: z.array(event()).max(LIVE_EVENTS_MAX),
    name: name(),
    lastMessageMs: unixMs(),
    closedMs: unixMs(),
  }),
);

const pageRequest = lazily(() =>
  z.object({
    app: spaceId(),
    prefix: peerName(),
    /** In upper or lower case. Nodes of earlier versions do not know it: the lists of all are searched again. */
    contains: peerName().optional(),
    after: peerName().optional(),
    limit: z.int().min(1).max(LIVE_PAGE_MAX),
  }),
);
const oneRequest = lazily(() => z.object({ app: spaceId(), peerId: peerName() }));

export type LivePeer = Infer<typeof line>;
export type LiveConnection = Infer<typeof connection>;
type AnsweredConnection = Infer<typeof answeredConnection>;
export type PeerEvent = Infer<typeof event>;
type PageRequest = Infer<typeof pageRequest>;
type OneRequest = Infer<typeof oneRequest>;

export interface PeerDetails {
  /** Connections on all nodes; `connections` has the newest of them. */
  readonly total: number;
  readonly connections: readonly LiveConnection[];
  /** Oldest first. */
  readonly recent: readonly PeerEvent[];
  readonly name: string | undefined;
  /** Unix ms, of its open connections. */
  readonly lastMessageMs: number | undefined;
  /** Unix ms at which its last connection ended, as far as a node still knows. undefined: it has or may have one, or no node knows. */
  readonly closedMs: number | undefined;
  readonly isComplete: boolean;
}

const PAGE = "live peers";
const ONE = "live peer";

interface LivePeersParts {
  readonly spaces: Spaces;
  readonly nodeRequests: NodeRequests;
  readonly clock: Pick<Clock, "monotonicMs" | "wallMs">;
  /** The node's name, as operators know it. */
  readonly nodeId: string;
  /** What the flight recorder has of a peer. */
  readonly recorder: {
    ofPeer(spaceId: SpaceId, peerId: string): readonly PeerEvent[];
    lastClosedMs(spaceId: SpaceId, peerId: string): number | undefined;
  };
}

export class LivePeers {
  constructor(private readonly parts: LivePeersParts) {
    const { nodeRequests } = parts;
    nodeRequests.onRequest(PAGE, (payload) => this.localPage(pageRequest().parse(payload)));
    nodeRequests.onRequest(ONE, (payload) => this.localOne(oneRequest().parse(payload)));
  }

  /** Connected peers, by id. */
  async page(request: PageRequest): Promise<Page<LivePeer>> {
    const { answers, isComplete } = await this.parts.nodeRequests.gather(PAGE, request, (value) =>
      lines().parse(value),
    );
    const byId = new Map<string, LivePeer>();
    for (const one of answers.flat()) {
      const known = byId.get(one.peerId);
      byId.set(one.peerId, known ? added(known, one) : one);
    }
    const all = [...byId.values()].sort((one, other) => (one.peerId < other.peerId ? -1 : 1));
    const page = all.slice(0, request.limit);
    const isAsked = partOf(request.contains ?? "");
    const data = page.filter(({ peerId, name }) => isAsked(peerId) || (name !== undefined && isAsked(name)));
    return { data, next: all.length > page.length ? (page.at(-1)?.peerId ?? null) : null, isComplete };
  }

  async one(request: OneRequest): Promise<PeerDetails> {
    const { nodeRequests } = this.parts;
    const { answers, isComplete } = await nodeRequests.gather(ONE, request, (value) => details().parse(value));
    const connections = answers
      .flatMap((one) => one.connections)
      .sort((one, other) => newestFirst(agedOf(one), agedOf(other)))
      .slice(0, LIVE_CONNECTIONS_MAX);
    const recent = answers.flatMap((one) => one.recent).sort((one, other) => one.at - other.at);
    const total = answers.reduce((sum, one) => sum + one.total, 0);
    return {
      total,
      connections: connections.map(({ node: _, ...shown }) => shown),
      recent: recent.slice(-LIVE_EVENTS_MAX),
      name: answers.find(({ name }) => name !== undefined)?.name,
      lastMessageMs: latest(answers.map(({ lastMessageMs }) => lastMessageMs)),
      closedMs: total > 0 || !isComplete ? undefined : latest(answers.map(({ closedMs }) => closedMs)),
      isComplete,
    };
  }

  private localPage({ app, prefix, contains = "", after, limit }: PageRequest): LivePeer[] {
    const first = new FirstOf<Peer>(limit + 1, (one, other) => one.peerId < other.peerId);
    const isAsked = partOf(contains);
    const isNamed = namedWith(contains);
    for (const peer of this.parts.spaces.get(app)?.peers.values() ?? []) {
      // A peer without a connection here is a member of a channel through another node.
      if (!peer.isConnected || !peer.peerId.startsWith(prefix)) continue;
      if (after !== undefined && peer.peerId <= after) continue;
      if (first.wouldKeep(peer) && (isAsked(peer.peerId) || isNamed(peer))) first.offer(peer);
    }
    return first.sorted().map((peer) => this.lineOf(peer));
  }

  private localOne({ app, peerId }: OneRequest): Infer<typeof details> {
    const { spaces, recorder } = this.parts;
    const peer = spaces.peer(app, peerId);
    const all = peer?.connections ?? [];
    const newest = new FirstOf<Connection>(LIVE_CONNECTIONS_MAX, (one, other) => one.connectedMs > other.connectedMs);
    for (const one of all) newest.offer(one);
    return {
      total: all.length,
      connections: newest.sorted().map((one) => this.connectionOf(one)),
      recent: recorder.ofPeer(app, peerId).slice(-LIVE_EVENTS_MAX),
      name: peer && nameOf(peer),
      lastMessageMs: this.lastMessageOf(all),
      closedMs: recorder.lastClosedMs(app, peerId),
    };
  }

  private lineOf(peer: Peer): LivePeer {
    const { peerId, connections } = peer;
    return {
      peerId,
      connections: connections.length,
      sinceMs: connections.reduce((oldest, { connectedMs }) => Math.min(oldest, connectedMs), Number.POSITIVE_INFINITY),
      channels: channelsOf(connections),
      name: nameOf(peer),
      lastMessageMs: this.lastMessageOf(connections),
    };
  }

  private lastMessageOf(connections: readonly Connection[]): number | undefined {
    const { clock } = this.parts;
    const last = latest(connections.map(({ published, publishedMs }) => (published === 0 ? undefined : publishedMs)));
    return last && clock.wallMs() - (clock.monotonicMs() - last);
  }

  private connectionOf(one: Connection): AnsweredConnection {
    const { nodeId, clock } = this.parts;
    return {
      connectionId: one.id,
      nodeId,
      keyId: one.keyId,
      address: one.address,
      sinceMs: one.connectedMs,
      node: one.peer.space.node,
      subscriptions: one.subscriptions.map(({ channel }) => channel.name),
      framesPerSec: rounded(one.framesPerSec(clock.monotonicMs())),
    };
  }
}

const agedOf = ({ sinceMs: since, node }: AnsweredConnection): Aged => ({ since, node });

/** A channel that the peer subscribes to on two nodes counts twice: the nodes do not compare names. */
const added = (one: LivePeer, other: LivePeer): LivePeer => ({
  peerId: one.peerId,
  connections: one.connections + other.connections,
  sinceMs: Math.min(one.sinceMs, other.sinceMs),
  channels: one.channels + other.channels,
  name: one.name ?? other.name,
  lastMessageMs: latest([one.lastMessageMs, other.lastMessageMs]),
});

const latest = (times: readonly (number | undefined)[]): number | undefined =>
  times.reduce((last, time) => (last === undefined || (time !== undefined && time > last) ? time : last), undefined);

/** Only the first LIVE_CONNECTIONS_MAX connections are looked at: one peer id may have very many, each with up to CHANNELS_PER_CONNECTION_MAX channels. */
function channelsOf(connections: readonly Connection[]): number {
  const [first] = connections;
  if (first && connections.length === 1) return first.subscriptions.length;
  const some = connections.slice(0, LIVE_CONNECTIONS_MAX);
  return new Set(some.flatMap(({ subscriptions }) => subscriptions.map(({ channel }) => channel))).size;
}
