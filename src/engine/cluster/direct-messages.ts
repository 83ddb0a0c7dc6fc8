/**
 * Receives direct messages: one subscription per peer that has connections here. Each node numbers its direct messages upwards. A
 * message that arrives after a newer one of the same node was stuck in a connection that the node has since replaced: its sender
 * already got UNAVAILABLE, and delivering it now would break the order. It is dropped.
 */
import { type EngineCallbacks, HELD } from "../engine.ts";
import type { TransportSubscription } from "../transport/transport.ts";
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
  readonly link: Pick<Link, "subscribe">;
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

interface PeerSubscription {
  readonly transport: TransportSubscription;
  /** By sending node. */
  readonly newest: Map<string, NewestMessage>;
}

export class DirectMessages {
  private readonly peers = new Map<string, PeerSubscription>();

  constructor(private readonly parts: DirectMessagesParts) {}

  subscribe(app: string, peerId: string): void {
    const { link, subjects } = this.parts;
    const key = keyOf(app, peerId);
    if (this.peers.has(key)) return;
    const newest = new Map<string, NewestMessage>();
    const transport = link.subscribe(subjects.peer(app, peerId), (received) =>
      this.receive(app, peerId, newest, received),
    );
    this.peers.set(key, { transport, newest });
  }

  unsubscribe(app: string, peerId: string): void {
    const key = keyOf(app, peerId);
    this.peers.get(key)?.transport.end();
    this.peers.delete(key);
  }

  /** Delivers a message that came in a request instead of on the peer's subject. */
  deliverForwarded({ text, nodes }: Pick<DeliverRequest, "text" | "nodes">): DeliverResponse {
    if (nodes && !nodes.includes(this.parts.local.id)) return { kind: "deliver", count: 0 };
    const message = directMessage(text);
    if (!message) this.parts.unexpected();
    const peer = message && this.peers.get(keyOf(message.app, message.to));
    if (!peer) return { kind: "deliver", count: 0 };
    const count = this.deliver(message, peer.newest);
    return { kind: "deliver", count: atLeastNone(count), isLate: count === undefined, isHeld: count === HELD };
  }

  private receive(app: string, peerId: string, newest: Map<string, NewestMessage>, { text, respond }: Received): void {
    const { local, unexpected } = this.parts;
    const message = directMessage(text);
    if (!message || message.app !== app || message.to !== peerId) return unexpected();
    const count = this.deliver(message, newest);
    if (count !== undefined)
      respond(deliveryCount({ node: local.id, count: atLeastNone(count), isHeld: count === HELD }));
  }

  /** May be HELD. undefined: it is late, or it is not known whether it was delivered. */
  private deliver(message: DirectMessage, newest: Map<string, NewestMessage>): number | undefined {
    const { local, nodes, boundary, nowMs } = this.parts;
    const { node, number, app, to, envelope } = message;
    if (!nodes.seen(node)) return undefined;
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
}

const atLeastNone = (count = 0): number => Math.max(0, count);

/** Unambiguous: an application's id contains no space. */
const keyOf = (app: string, peerId: string): string => `${app} ${peerId}`;
