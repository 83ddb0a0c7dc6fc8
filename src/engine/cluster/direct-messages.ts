/**
 * Receives direct messages: one subscription per peer that has connections here, all with one callback: what is kept per peer
 * counts for each connection. Each node numbers its direct messages upwards. A
 * message that arrives after a newer one of the same node was stuck in a connection that the node has since replaced: its sender
 * already got UNAVAILABLE, and delivering it now would break the order. It is dropped.
 */
import { type EngineCallbacks, HELD } from "../engine.ts";
import type { Receiver, TransportSubscription } from "../transport/transport.ts";
import { directMessage } from "./decode.ts";
import { deliveryCount } from "./encode.ts";
import type { FailureBoundary } from "./failure-boundary.ts";
import type { Link, Received } from "./link.ts";
import type { DirectMessage, NodeRequest, NodeResponse } from "./messages.ts";
import type { Nodes } from "./nodes.ts";
import type { Subjects } from "./subjects.ts";

/** Late messages are dropped for this time after a newer one: a replaced connection delivers nothing later. */
export const LATE_MS = 60_000;
/** A number this far above the last one is forged. It is not remembered: everything the node sends later would count as late. */
const NUMBER_JUMP_MAX = 2 ** 32;

type DeliverRequest = Extract<NodeRequest, { kind: "deliver" }>;
type DeliverResponse = Extract<NodeResponse, { kind: "deliver" }>;

export interface DirectMessagesParts {
  readonly local: Pick<EngineCallbacks, "id" | "deliverTo">;
  readonly link: Pick<Link, "receiver" | "subscribeWith">;
  readonly subjects: Pick<Subjects, "peer">;
  readonly nodes: Pick<Nodes, "seen">;
  readonly boundary: Pick<FailureBoundary, "report">;
  readonly nowMs: () => number;
  /** A text has arrived that no node sends. */
  readonly unexpected: () => void;
}

interface NewestMessage {
  readonly number: number;
  readonly atMs: number;
}

export class DirectMessages {
  /** By application, then by peer id: a key of both would be one more text per peer. */
  private readonly peers = new Map<string, Map<string, TransportSubscription>>();
  /** The newest message by sending node, for peers that have received any. */
  private readonly newest = new Map<TransportSubscription, Map<string, NewestMessage>>();
  private readonly receiver: Receiver;

  constructor(private readonly parts: DirectMessagesParts) {
    this.receiver = parts.link.receiver((received) => this.receive(received));
  }

  subscribe(app: string, peerId: string): void {
    const { link, subjects } = this.parts;
    let peers = this.peers.get(app);
    if (!peers) {
      peers = new Map();
      this.peers.set(app, peers);
    }
    if (!peers.has(peerId)) peers.set(peerId, link.subscribeWith(subjects.peer(app, peerId), this.receiver));
  }

  unsubscribe(app: string, peerId: string): void {
    const peers = this.peers.get(app);
    const subscription = peers?.get(peerId);
    if (!peers || !subscription) return;
    subscription.end();
    this.newest.delete(subscription);
    peers.delete(peerId);
    if (peers.size === 0) this.peers.delete(app);
  }

  /** Delivers a message that came in a request instead of on the peer's subject. */
  deliverForwarded({ text, nodes }: Pick<DeliverRequest, "text" | "nodes">): DeliverResponse {
    if (nodes && !nodes.includes(this.parts.local.id)) return { kind: "deliver", count: 0 };
    const message = directMessage(text);
    if (!message) this.parts.unexpected();
    const subscription = message && this.peers.get(message.app)?.get(message.to);
    if (!subscription) return { kind: "deliver", count: 0 };
    const count = this.deliver(message, subscription);
    return { kind: "deliver", count: atLeastNone(count), isLate: count === undefined, isHeld: count === HELD };
  }

  private receive({ subject, text, respond }: Received): void {
    const { local, subjects, unexpected } = this.parts;
    const message = directMessage(text);
    // The subject decides the receiver: a message that names another one is forged.
    if (!message || subject !== subjects.peer(message.app, message.to)) return unexpected();
    const subscription = this.peers.get(message.app)?.get(message.to);
    if (!subscription) return;
    const count = this.deliver(message, subscription);
    if (count !== undefined)
      respond(deliveryCount({ node: local.id, count: atLeastNone(count), isHeld: count === HELD }));
  }

  /** May be HELD. undefined: it is late, or it is not known whether it was delivered. */
  private deliver(message: DirectMessage, subscription: TransportSubscription): number | undefined {
    const { local, nodes, boundary, nowMs } = this.parts;
    const { node, number, app, to, envelope } = message;
    if (!nodes.seen(node)) return undefined;
    const newest = this.newestOf(subscription);
    const now = nowMs();
    const last = newest.get(node) ?? { number: 0, atMs: now };
    if (number <= last.number && now - last.atMs < LATE_MS) return undefined;
    if (number - last.number <= NUMBER_JUMP_MAX) newest.set(node, { number, atMs: now });
    try {
      const count = local.deliverTo(app, to, envelope);
      // Not delivered, so it is not late when it comes again in a request to every node.
      if (count === 0) newest.set(node, last);
      return count;
    } catch (error) {
      // Without a response its sender gets `backend_error`. No other state depends on a direct message.
      boundary.report(error, { in: "deliverTo", app });
      return undefined;
    }
  }

  private newestOf(subscription: TransportSubscription): Map<string, NewestMessage> {
    let newest = this.newest.get(subscription);
    if (!newest) {
      newest = new Map();
      this.newest.set(subscription, newest);
    }
    return newest;
  }
}

const atLeastNone = (count = 0): number => Math.max(0, count);
