/** Receives everything but messages of clients: heartbeats and requests of other nodes, and responses to this one. */
import type { PendingDirectMessages } from "./direct-messages/pending-messages.ts";
import type { NodeCallbacks } from "./nodes/callbacks.ts";
import type { FailureBoundary } from "./nodes/failure-boundary.ts";
import type { Heartbeats } from "./nodes/heartbeats.ts";
import { hasReceived } from "./nodes/node-lists.ts";
import type { Nodes, OtherNode } from "./nodes/nodes.ts";
import type { PendingRequests } from "./requests/pending-requests.ts";
import type { Requests } from "./requests/requests.ts";
import type { Responder } from "./responder.ts";
import type { ChannelSubscriptions } from "./sequences/channel-subscriptions.ts";
import type { ConnectionCount, Heartbeat, Notification, RequestMessage } from "./wire/messages.ts";
import { requestNumberOf } from "./wire/subjects.ts";
import type { Received, Wire } from "./wire/wire.ts";

interface ControlMessagesParts {
  readonly wire: Pick<Wire, "format">;
  readonly local: NodeCallbacks;
  readonly nodes: Nodes;
  readonly heartbeats: Heartbeats;
  readonly subscriptions: ChannelSubscriptions;
  readonly responder: Responder;
  readonly requests: Requests;
  readonly pendingRequests: PendingRequests;
  readonly pendingDirectMessages: PendingDirectMessages;
  readonly boundary: FailureBoundary;
  /** A text has arrived that no node sends. */
  readonly unexpected: (where: string, text: string) => void;
}

export class ControlMessages {
  constructor(private readonly parts: ControlMessagesParts) {}

  /** On the subject of all nodes, or on this node's own. */
  receive({ text, respond }: Received): void {
    const { wire, nodes, boundary, unexpected } = this.parts;
    const message = wire.format.nodeMessage(text);
    if (!message) return unexpected("to this node", text);
    if (message.kind === "farewell") return nodes.farewell(message.node);
    const wasKnown = nodes.known(message.node) !== undefined;
    const node = nodes.seen(message.node, message.kind === "heartbeat" ? message : undefined);
    if (!node) return;
    boundary.run(
      { in: message.kind, node: node.id, ...(message.kind === "request" && { request: message.request.kind }) },
      () => this.handle(node, message, wasKnown, respond),
      () => boundary.markStale(node.id),
    );
  }

  receiveResponse({ subject, text }: Received): void {
    const { wire, pendingDirectMessages, pendingRequests, unexpected } = this.parts;
    const number = requestNumberOf(subject);
    if (pendingDirectMessages.has(number)) {
      const delivered = wire.format.deliveryCountOf(text);
      return delivered
        ? pendingDirectMessages.delivered(number, delivered)
        : unexpected("in response to a request", text);
    }
    const part = wire.format.responsePartOf(text);
    if (part) return pendingRequests.receive(number, part);
    // A second node may deliver a direct message after the first one has confirmed it.
    const delivered = wire.format.deliveryCountOf(text);
    if (delivered) pendingDirectMessages.deliveredToo(number, delivered);
    else unexpected("in response to a request", text);
  }

  /** The subject of a request has no subscriber. It matters for direct messages only. */
  noResponders(replyTo: string): void {
    const number = requestNumberOf(replyTo);
    if (this.parts.pendingDirectMessages.isPending(number)) this.forwardToAll(number);
  }

  /** A timer calls this. */
  sweepDirectMessages(): void {
    this.parts.pendingDirectMessages.sweep(
      (number) => this.askAll(number),
      (number) => this.ask(number),
    );
  }

  private handle(
    node: OtherNode,
    message: Heartbeat | ConnectionCount | RequestMessage | Notification,
    wasKnown: boolean,
    respond: (text: string) => void,
  ): void {
    const { local, nodes, heartbeats, subscriptions, responder } = this.parts;
    if (message.kind === "count") {
      nodes.setConnections(node, message.app, message.connections);
      return local.connectionsChanged(message.app);
    }
    if (message.kind === "notification") return local.notified(node.name, message.text);
    if (message.kind === "request") return responder.handle(node.name, message.request, respond);
    // After an outage on either side, items of its sequences may have been missed.
    const isReceived = message.part > 0 || hasReceived(local.id, node, message);
    if (isReceived === undefined) heartbeats.askForList(node.name);
    // Nothing is known of a node that has just appeared: if it does not name this one, it may not have heard it yet.
    const wasCutOff = message.isReconnected || !(isReceived ?? node.list?.includesSelf);
    if (message.part === 0 && wasKnown && wasCutOff) subscriptions.resync(node);
    else if (message.isReconnected) subscriptions.wasCutOff(node);
  }

  /**
   * The servers know no subscription for the peer, or this is the last attempt. If this node has delivered it too, only nodes that
   * have confirmed messages to the peer before need be asked.
   */
  forwardToAll(number: number): void {
    const { pendingDirectMessages } = this.parts;
    const sent = pendingDirectMessages.sent(number);
    if (!sent) return;
    if (!sent.isHere) return this.askAll(number);
    if (sent.awaited.length > 0) this.ask(number);
    else pendingDirectMessages.decide(number, [], false);
  }

  /**
   * A subscription made a moment ago may be unknown to the servers, and one that has just ended may have swallowed the message. Every
   * node is asked to deliver; one that has done so already answers that it is late.
   */
  private askAll(number: number): void {
    const { requests, nodes, pendingDirectMessages } = this.parts;
    const sent = pendingDirectMessages.sent(number);
    if (!sent) return;
    const asked = nodes.all.map(({ name }) => name);
    pendingDirectMessages.extend(number);
    requests.toAll({ kind: "deliver", text: sent.text, nodes: asked }, (byName) => {
      const receipts = [...byName].flatMap(([node, one]) => (one.kind === "deliver" ? { ...one, node } : []));
      // One that has sent its farewell meanwhile has closed its connections before.
      const isMissing = asked.some((name) => !byName.has(name) && !nodes.hasLeft(name));
      const isUncertain = isMissing || nodes.isAnySilent;
      pendingDirectMessages.decide(number, receipts, isUncertain);
    });
  }

  /** Nodes that have connections of the peer, or had, have not answered: each is asked itself. */
  private ask(number: number): void {
    const { requests, nodes, pendingDirectMessages } = this.parts;
    const sent = pendingDirectMessages.sent(number);
    if (!sent) return;
    pendingDirectMessages.asks(number);
    for (const node of sent.awaited)
      requests.toOne(node, { kind: "deliver", text: sent.text }, (response) => {
        if (response?.kind === "deliver") return pendingDirectMessages.answered(number, { ...response, node });
        // One that has sent its farewell has closed its connections before.
        pendingDirectMessages.answered(number, nodes.hasLeft(node) ? { count: 0, node } : undefined);
      });
  }
}
