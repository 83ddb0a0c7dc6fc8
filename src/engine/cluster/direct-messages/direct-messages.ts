/**
 * Receives direct messages: one subscription per peer that has connections here, all with one callback: what is kept per peer
 * counts for each connection.
 *
 * Each node numbers its direct messages upwards, and a message keeps its number over all attempts. One whose number is not above
 * the newest that was delivered is late: it was delivered before, or it was stuck behind a newer one, and delivering it now would
 * break the order. It is dropped, and its sender gets to know that.
 */
import type { SpaceId } from "../../../base/ids.ts";
import { DEFERRED, type DeliverResult, type EngineCallbacks } from "../../engine.ts";
import type { Receiver, TransportSubscription } from "../../transport/transport.ts";
import type { FailureBoundary } from "../nodes/failure-boundary.ts";
import type { Nodes } from "../nodes/nodes.ts";
import type { DirectMessage, NodeRequest, NodeResponse } from "../wire/messages.ts";
import type { Subjects } from "../wire/subjects.ts";
import type { Received, Wire } from "../wire/wire.ts";
import type { ExpectedPeers } from "./expected-peers.ts";
import { type NewestMessage, NewestMessages } from "./newest-messages.ts";

/** Late messages are dropped for this time after a newer one: a replaced connection delivers nothing later. */
export const LATE_MS = 60_000;
/** A number this far above the last one is forged. It is not remembered: everything the node sends later would count as late. */
const NUMBER_JUMP_MAX = 2 ** 32;
/** How long a second connection of a peer waits for the other nodes: they answer within a few milliseconds. */
const PREPARE_MAX_MS = 100;
/** As long as a sender may try again what was answered as deferred. */
const OWED_MS = 12_000;

const NOTHING_OWED = { owed: 0, owedUntilMs: Number.NEGATIVE_INFINITY };
const NONE: NewestMessage = { number: 0, atMs: Number.NEGATIVE_INFINITY, ...NOTHING_OWED };

type DeliverRequest = Extract<NodeRequest, { kind: "deliver" }>;
type DeliverResponse = Extract<NodeResponse, { kind: "deliver" }>;
/** "late": as above. undefined: it is not known whether it was delivered. */
type Delivered = DeliverResult | "late" | undefined;

interface DirectMessagesParts {
  readonly local: Pick<EngineCallbacks, "id" | "deliverTo">;
  readonly wire: Pick<Wire, "receiver" | "subscribeWith" | "hasSubscriber" | "flush" | "format">;
  readonly subjects: Pick<Subjects, "peer">;
  readonly nodes: Pick<Nodes, "seen">;
  readonly expectedPeers: Pick<ExpectedPeers, "has">;
  readonly boundary: Pick<FailureBoundary, "report">;
  readonly nowMs: () => number;
  /** A text has arrived that no node sends. */
  readonly unexpected: (text: string) => void;
}

export class DirectMessages {
  /** By application, then by peer id: a key of both would be one more text per peer. Bound: peers with connections here. */
  private readonly peers = new Map<SpaceId, Map<string, TransportSubscription>>();
  private readonly newest: NewestMessages;
  private readonly receiver: Receiver;

  constructor(private readonly parts: DirectMessagesParts) {
    this.receiver = parts.wire.receiver((received) => this.receive(received));
    this.newest = new NewestMessages(parts.nowMs);
  }

  /** Subscribes before a connection is made, if another node has one; resolves when the others know. */
  prepare(spaceId: SpaceId, peerId: string): Promise<void> | undefined {
    const { wire, subjects } = this.parts;
    if (this.peers.get(spaceId)?.has(peerId) || !wire.hasSubscriber(subjects.peer(spaceId, peerId))) return undefined;
    this.subscribe(spaceId, peerId);
    // A worker that does not read must not keep clients from connecting.
    return Promise.race([wire.flush(), Bun.sleep(PREPARE_MAX_MS)]);
  }

  subscribe(spaceId: SpaceId, peerId: string): void {
    const { wire, subjects } = this.parts;
    let peers = this.peers.get(spaceId);
    if (!peers) {
      peers = new Map();
      this.peers.set(spaceId, peers);
    }
    if (peers.has(peerId)) return;
    const subscription = wire.subscribeWith(subjects.peer(spaceId, peerId), this.receiver);
    peers.set(peerId, subscription);
    this.newest.restore(subscription, spaceId, peerId);
  }

  unsubscribe(spaceId: SpaceId, peerId: string): void {
    const peers = this.peers.get(spaceId);
    const subscription = peers?.get(peerId);
    if (!peers || !subscription) return;
    subscription.end();
    this.newest.putAside(subscription, spaceId, peerId);
    peers.delete(peerId);
    if (peers.size === 0) this.peers.delete(spaceId);
  }

  /** Delivers a message that came in a request instead of on the peer's subject. */
  deliverForwarded({ text, nodes }: Pick<DeliverRequest, "text" | "nodes">): DeliverResponse {
    if (nodes && !nodes.includes(this.parts.local.id)) return { kind: "deliver", count: 0 };
    const message = this.parts.wire.format.directMessageOf(text, () => true);
    if (!message) this.parts.unexpected(text);
    const subscription = message && this.peers.get(message.app)?.get(message.to);
    if (!subscription) return { kind: "deliver", count: 0 };
    const delivered = this.deliver(message, subscription);
    const isLate = delivered === "late" || delivered === undefined;
    return { kind: "deliver", count: countOf(delivered), isLate, isDeferred: delivered === DEFERRED };
  }

  private receive({ subject, text, respond }: Received): void {
    const { local, wire, subjects, unexpected } = this.parts;
    const message = wire.format.directMessageOf(text, ({ app, to }) => subject === subjects.peer(app, to));
    if (!message) return unexpected(text);
    const subscription = this.peers.get(message.app)?.get(message.to);
    if (!subscription) return;
    const delivered = this.deliver(message, subscription);
    if (delivered === undefined) return;
    const [count, isDeferred, isLate] = [countOf(delivered), delivered === DEFERRED, delivered === "late"];
    respond(wire.format.deliveryCount({ node: local.id, count, isDeferred, isLate }));
  }

  private deliver(message: DirectMessage, subscription: TransportSubscription): Delivered {
    const { local, nodes, expectedPeers, boundary, nowMs } = this.parts;
    const { node, number, app, to, envelope } = message;
    if (!nodes.seen(node)) return undefined;
    const newest = this.newest.of(subscription);
    const now = nowMs();
    const last = newest.get(node) ?? NONE;
    if (number <= last.number && now - last.atMs < LATE_MS) return "late";
    // One that was answered as deferred may come again: what was sent behind it must not be delivered before it.
    if (now < last.owedUntilMs && !isInOrder(message, last.owed)) {
      // If the peer is back, this one is not owed: otherwise each would make those behind it wait, without an end.
      if (expectedPeers.has(app, to)) newest.set(node, owing(last, number, now));
      return DEFERRED;
    }
    const isForged = number - last.number > NUMBER_JUMP_MAX;
    if (!isForged) newest.set(node, { number, atMs: now, ...NOTHING_OWED });
    try {
      const result = local.deliverTo(app, to, envelope);
      // Not delivered, so it is not late when it comes again.
      if (result === DEFERRED) newest.set(node, owing(last, number, now));
      else if (result === 0) newest.set(node, last);
      return result;
    } catch (error) {
      // Without a response its sender gets `backend_error`. No other state depends on a direct message.
      boundary.report(error, { in: "deliverTo", app });
      return undefined;
    }
  }
}

const owing = (last: NewestMessage, number: number, nowMs: number): NewestMessage => ({
  ...last,
  owed: Math.max(last.owed, number),
  owedUntilMs: nowMs + OWED_MS,
});

/**
 * Whether none of those that were answered as deferred can come again before it: its node knows which of them are decided, most often
 * because another node has delivered them.
 */
function isInOrder({ isNext, oldest, envelope }: DirectMessage, owed: number): boolean {
  return oldest === undefined ? (isNext ?? envelope.awaitsRoster === true) : oldest > owed;
}

const countOf = (delivered: Delivered): number => (typeof delivered === "number" ? delivered : 0);
