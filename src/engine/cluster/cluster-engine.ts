/**
 * The engine of nodes in several processes: what nodes say to each other, over any transport. A transport may lose payloads, for
 * example in a reconnect or a failover; the node protocol repairs that:
 *
 * - sequences/: announcements.ts; outgoing-sequences.ts gives sequence numbers and keeps items for replay, remembered-sequences.ts the
 *   ends of idle sequences; openings.ts begins a subscription, channel-subscriptions.ts requests states, replays.ts replays;
 *   incoming-sequences.ts and incoming-sequence.ts follow other nodes and find gaps; item-buffer.ts; state-responder.ts answers other nodes
 * - direct-messages/: sends.ts numbers them, pending-messages.ts waits for receipts (of which nodes, reached-nodes.ts knows),
 *   direct-messages.ts with newest-messages.ts delivers each once and in order; expected-peers.ts learns where a held peer returned
 * - nodes/: heartbeats.ts, node-lists.ts, nodes.ts, other-wires.ts; failure-boundary.ts and callbacks.ts for errors in callbacks and timers
 * - requests/: requests.ts, questions.ts, pending-requests.ts and response-parts.ts; capacity-claims.ts for caps; node-texts.ts for what other
 *   parts of the nodes say to each other. responder.ts answers those of other nodes
 * - wire/: messages.ts, encode.ts, decode.ts with the other decode-*.ts; compact.ts for what workers of one machine say most
 *   often, format.ts chooses between both; payload.ts and fragments.ts for long ones
 *
 * This file: state first, then the calls of the contract, then what happens when nodes or the transport come and go. Messages of
 * channels arrive in sequences/channel-subscriptions.ts, direct messages in direct-messages/, all others in control-messages.ts.
 * Periodic work is in ticker.ts; attached.ts builds all of it.
 */
import type { AppId, SpaceId } from "../../base/ids.ts";
import {
  allOf,
  type ChannelsPage,
  type Claim,
  type DirectAttempt,
  type Engine,
  type EngineCallbacks,
  type Envelope,
  type FoundChannels,
  type MemberState,
  type NodeResponses,
  type Nudged,
  type RemoteMembers,
  type Sent,
  UNAVAILABLE,
} from "../engine.ts";
import type { Transport } from "../transport/transport.ts";
import { type Attached, buildAttached } from "./attached.ts";
import { PendingDirectMessages } from "./direct-messages/pending-messages.ts";
import { NodeCallbacks } from "./nodes/callbacks.ts";
import { FailureBoundary, type ReportFault } from "./nodes/failure-boundary.ts";
import { HEARTBEAT_MS, type OtherNode } from "./nodes/nodes.ts";
import { claimCapacity } from "./requests/capacity-requests.ts";
import { PendingRequests } from "./requests/pending-requests.ts";
import { channelsOf } from "./requests/response-parts.ts";
import * as encode from "./wire/encode.ts";
import type { AboutNode } from "./wire/messages.ts";
import { fits } from "./wire/payload.ts";
import { Wire } from "./wire/wire.ts";

export interface ClusterOptions {
  /** Separates installations that share one transport. */
  readonly prefix: string;
  readonly heartbeatMs?: number;
  /** What operators know this node by. */
  readonly about?: AboutNode;
  readonly nowMs?: () => number;
  /** Gets a sentence for the log. */
  readonly warn?: (text: string) => void;
  /** An error was thrown in a callback or a timer and was stopped there. Absent: it is a warning. */
  readonly fault?: ReportFault;
  /** The transport is up again, or down. */
  readonly changed?: (isUp: boolean) => void;
}

/** Each node that was there has sent a heartbeat by then. */
const KNOWN_AFTER_HEARTBEATS = 1.2;

export class ClusterEngine implements Engine {
  private readonly wire: Wire;
  private readonly nowMs: () => number;
  private readonly heartbeatMs: number;
  private readonly pendingRequests: PendingRequests;
  private readonly pendingDirectMessages: PendingDirectMessages;
  private readonly boundary: FailureBoundary;
  private attached: Attached | undefined;
  private attachedMs = 0;
  private isClosed = false;

  constructor(
    transport: Transport,
    private readonly options: ClusterOptions,
  ) {
    this.wire = new Wire(transport);
    this.nowMs = options.nowMs ?? (() => performance.now());
    this.heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS;
    this.pendingRequests = new PendingRequests(this.nowMs);
    const hasLostNodeSince = (ms: number): boolean => this.attached?.nodes.hasLostOneSince(ms) === true;
    const isThere = (name: string): boolean => this.attached?.nodes.known(name) !== undefined;
    this.pendingDirectMessages = new PendingDirectMessages(this.nowMs, hasLostNodeSince, isThere);
    const warnOf: ReportFault = (error) => options.warn?.(`a fault between nodes: ${error}`);
    this.boundary = new FailureBoundary(options.fault ?? warnOf);
  }

  get isUp(): boolean {
    return this.wire.isUp && !this.isClosed;
  }

  /** The number of other nodes. */
  get others(): number {
    return this.attached?.nodes.size ?? 0;
  }

  /** Other nodes that this one hears and cannot understand, each as a clause for people. */
  get notUnderstood(): readonly string[] {
    return this.attached?.otherWires.names ?? [];
  }

  attach(node: EngineCallbacks): void {
    const { wire, nowMs, heartbeatMs, pendingRequests, pendingDirectMessages, boundary } = this;
    this.attachedMs = nowMs();
    const attached = buildAttached({
      local: new NodeCallbacks(node, boundary),
      prefix: this.options.prefix,
      wire,
      nowMs,
      heartbeatMs,
      about: this.options.about,
      pendingRequests,
      pendingDirectMessages,
      boundary,
      warn: (text) => this.options.warn?.(text),
      isUp: () => this.isUp,
      isClosed: () => this.isClosed,
      appeared: (other) => this.nodeAppeared(other),
      gone: (other) => this.nodeGone(other),
    });
    this.attached = attached;
    const { subjects, control, heartbeats, ticker, sequenceStates, openings } = attached;
    wire.on({
      down: () => this.transportDown(),
      up: () => this.transportUp(),
      subscribed: (subject, report) => {
        const channel = subjects.channelOf(subject);
        if (channel) sequenceStates.report(channel, report);
      },
      reported: () => openings.read(),
      noResponders: (replyTo) => control.noResponders(replyTo),
      failed: (error, context) => boundary.report(error, context),
      receiverFailed: (error, context) => {
        boundary.report(error, context);
        boundary.markStale();
      },
    });
    wire.subscribe(subjects.responses, (received) => control.receiveResponse(received));
    for (const subject of [subjects.node(node.id), subjects.all])
      wire.subscribe(subject, (received) => control.receive(received));
    void heartbeats.introduce();
    ticker.start(heartbeatMs);
  }

  othersKnown(): Promise<void> | undefined {
    const leftMs = this.attachedMs + KNOWN_AFTER_HEARTBEATS * this.heartbeatMs - this.nowMs();
    return leftMs > 0 ? Bun.sleep(leftMs) : undefined;
  }

  /** Resolves when everything this node has published is with the servers, and it has received what they held for it. */
  flush(): Promise<void> {
    return this.wire.flush();
  }

  // Messages and members

  publish(spaceId: SpaceId, channel: string, envelope: Envelope): boolean {
    if (!this.isUp || !fits(envelope)) return false;
    this.parts.announcements.flush();
    const { subject, item } = this.parts.outgoing.append(spaceId, channel, (place) =>
      this.wire.format.message(place, envelope),
    );
    this.wire.publish(subject, item);
    return true;
  }

  announce(spaceId: SpaceId, channel: string, joined: readonly MemberState[], left: readonly string[]): void {
    if (this.isClosed) return;
    // Sequence numbers are given during an outage too: afterwards the other nodes find the gap and request a replay.
    this.parts.announcements.add(spaceId, channel, joined, left);
  }

  send(spaceId: SpaceId, to: string, envelope: Envelope, isHere: boolean, attempt?: DirectAttempt): Sent {
    if (!this.isUp || !fits(envelope)) return UNAVAILABLE;
    this.parts.announcements.flush();
    return this.parts.directSends.send(spaceId, to, envelope, isHere, attempt);
  }

  prepare(spaceId: SpaceId, peerId: string): Promise<void> | undefined {
    return this.isUp ? this.parts.directMessages.prepare(spaceId, peerId) : undefined;
  }

  serve(spaceId: SpaceId, peerId: string): void {
    if (this.isClosed) return;
    this.parts.directMessages.subscribe(spaceId, peerId);
    // Behind the subscription: a node that ends its hold because of this does not leave the peer without one.
    this.parts.expectedPeers.connected(spaceId, peerId);
  }

  release(spaceId: SpaceId, peerId: string): void {
    this.parts.expectedPeers.end(spaceId, peerId);
    this.parts.directMessages.unsubscribe(spaceId, peerId);
  }

  expect(spaceId: SpaceId, peerId: string): void {
    if (!this.isClosed) this.parts.expectedPeers.begin(spaceId, peerId);
  }

  watch(spaceId: SpaceId, channel: string, found: (members: RemoteMembers) => void): void {
    const { subscriptions, local, announcements } = this.parts;
    const opened = (members: RemoteMembers): void => announcements.collect(spaceId, channel, () => found(members));
    subscriptions.open(spaceId, channel, (members) => local.found(spaceId, channel, () => opened(members)));
  }

  unwatch(spaceId: SpaceId, channel: string): void {
    this.parts.subscriptions.close(spaceId, channel);
  }

  // Requests to all nodes

  async block(app: AppId, peerId: string, untilMs: number): Promise<void> {
    await this.parts.requests.collect({ kind: "block", app, peerId, untilMs });
  }

  async kick(spaceId: SpaceId, peerId: string): Promise<number> {
    const { responses } = await this.parts.requests.collect({ kind: "kick", app: spaceId, peerId });
    return responses.reduce((sum, [, response]) => sum + (response.kind === "kick" ? response.closed : 0), 0);
  }

  async channels(spaceId: SpaceId, page?: ChannelsPage): Promise<FoundChannels | undefined> {
    const { responses, isComplete } = await this.parts.requests.collect({ kind: "channels", app: spaceId, page });
    return isComplete ? allOf(responses.map(([, response]) => channelsOf(response))) : undefined;
  }

  async members(spaceId: SpaceId, channel: string): Promise<RemoteMembers | undefined> {
    const { responses, isComplete } = await this.parts.requests.collect({ kind: "members", app: spaceId, channel });
    if (!isComplete) return undefined;
    return new Map(responses.map(([node, response]) => [node.id, response.kind === "members" ? response.members : []]));
  }

  async invalidate(app?: AppId, withdrawn?: string): Promise<Nudged> {
    const startedMs = this.nowMs();
    const isSent = this.isUp;
    const { responses, isComplete } = await this.parts.requests.collect({ kind: "invalidate", app, withdrawn });
    // A count that the node has sent meanwhile may be newer than its response.
    for (const [node, response] of responses)
      if (app !== undefined && response.kind === "invalidate" && node.countedMs < startedMs)
        node.connections.set(app, response.connections);
    if (isComplete) return "answered";
    return isSent && this.isUp ? "unanswered" : "unsent";
  }

  request(text: string, isNew = false): Promise<NodeResponses> {
    return this.parts.texts.request(text, isNew);
  }

  knows(node: string): boolean {
    return this.parts.nodes.known(node) !== undefined;
  }

  notify(node: string, text: string): void {
    if (!this.isClosed) this.parts.texts.notify(node, text);
  }

  // Connections and capacity

  counted(app: AppId, connections: number): void {
    this.parts.heartbeats.connectionsChanged(app, connections);
  }

  connections(app: AppId): number {
    return this.parts.nodes.connections(app);
  }

  claim(app: AppId, cap: number): Claim | undefined | Promise<Claim | undefined> {
    return claimCapacity(this.parts, app, cap, this.isUp);
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.attached?.ticker.stop();
    if (this.wire.isUp && this.attached) {
      const { subjects, local } = this.attached;
      this.wire.publish(subjects.all, encode.farewell(local.id));
      // Draining instead of closing: requests that are in transit to this node are still answered.
      await Promise.race([this.wire.drain(), Bun.sleep(this.heartbeatMs)]).catch(() => undefined);
    }
    this.isClosed = true;
    this.pendingRequests.finishAll();
    this.attached?.openings.finishAll();
    this.pendingDirectMessages.failAll();
    await this.wire.close();
  }

  private get parts(): Attached {
    if (this.attached) return this.attached;
    throw new Error("the engine is used before it is attached");
  }

  // Nodes and the transport come and go

  private nodeAppeared(node: OtherNode): void {
    // It learns of this node at once, instead of with the next heartbeat.
    this.parts.heartbeats.send(false);
    this.parts.subscriptions.appeared(node);
  }

  private nodeGone(node: OtherNode): void {
    const { subscriptions, openings, local } = this.parts;
    subscriptions.nodeGone(node);
    this.pendingRequests.nodeGone(node.name);
    openings.nodeGone(node.name);
    local.nodeGone(node.id, node.name);
  }

  private transportDown(): void {
    this.pendingDirectMessages.failAll();
    this.parts.subscriptions.interrupted();
    this.options.changed?.(false);
  }

  /** During the outage nothing was received from any node, and no node received anything from this one. */
  private transportUp(): void {
    const { local, nodes, outgoing, subscriptions, heartbeats } = this.parts;
    this.options.changed?.(true);
    nodes.startGrace();
    outgoing.repeatAll();
    heartbeats.send(true);
    for (const node of nodes.all) subscriptions.resync(node);
    local.reconnected();
  }
}
