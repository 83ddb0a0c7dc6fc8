/**
 * The channels that have subscribers on this node. A subscription begins with the state of the sequences of all nodes (openings.ts), which
 * they report after the transport's subscription: everything that a node publishes after its state is received.
 * Later the state of a node's sequences is requested whenever items of it may have been missed.
 */
import type { SpaceId } from "../../../base/ids.ts";
import type { EngineCallbacks, RemoteMembers } from "../../engine.ts";
import type { TransportSubscription } from "../../transport/transport.ts";
import { GONE_AFTER_HEARTBEATS, type Nodes, type OtherNode } from "../nodes/nodes.ts";
import type { Requests } from "../requests/requests.ts";
import { sequencesOf } from "../requests/response-parts.ts";
import type { NodeResponse, SequenceItem, SequenceState } from "../wire/messages.ts";
import { chunksOf, jsonBytes } from "../wire/payload.ts";
import type { Subjects } from "../wire/subjects.ts";
import type { Wire } from "../wire/wire.ts";
import type { Contact, IncomingEvents } from "./incoming-sequence.ts";
import { IncomingSequences } from "./incoming-sequences.ts";
import type { Opening, Openings } from "./openings.ts";
import { Replays } from "./replays.ts";
import {
  answered,
  isDoubted,
  mayHaveMissed,
  openedSince,
  type Unanswered,
  unanswered,
  unheardSince,
} from "./unanswered.ts";

/** For how long the places in the sequences of a node are kept that is considered gone; other nodes keep items for 30 seconds. */
const ABSENT_KEPT_MS = 120_000;
/** Bound: such nodes, and those that are gone for longer; the oldest is forgotten first. */
const ABSENT_MAX = 1000;
/** A node whose first message arrives later than this after the start was cut off, or this one was: a heartbeat comes each second. */
const FIRST_HEARD_HEARTBEATS = GONE_AFTER_HEARTBEATS;

interface ChannelSubscriptionsParts {
  readonly local: EngineCallbacks;
  readonly wire: Wire;
  readonly subjects: Subjects;
  readonly nodes: Nodes;
  readonly requests: Requests;
  readonly openings: Pick<Openings, "begin" | "reported">;
  readonly warn: (text: string) => void;
  readonly unexpected: (where: string, text: string) => void;
  readonly heartbeatMs: number;
  readonly nowMs: () => number;
}

interface ChannelSubscription {
  readonly spaceId: SpaceId;
  readonly channel: string;
  readonly transport: TransportSubscription;
  readonly sequences: IncomingSequences;
  readonly openedMs: number;
  /** It was closed, or another one was opened for the channel. */
  isEnded: boolean;
  /** The states that it begins with are still to come. */
  isOpening: boolean;
  /** Gets what nodes report. */
  opening: Opening | undefined;
  /** Nodes whose sequences have no known beginning here, by name. undefined: none, as almost always. Bound: NODES_MAX, ABSENT_MAX. */
  unanswered: Map<string, Unanswered> | undefined;
}

interface Absent extends Contact {
  /** When it was considered gone. */
  readonly goneMs: number;
}

const key = (spaceId: SpaceId, channel: string): string => `${spaceId} ${channel}`;

export class ChannelSubscriptions {
  /** Bound: channels in use here, CHANNELS_PER_CONNECTION_MAX per connection. */
  private readonly subscriptions = new Map<string, ChannelSubscription>();
  /** Nodes that are considered gone and may return, by name. Bound: ABSENT_MAX, for two minutes. */
  private readonly absent = new Map<string, Absent>();
  /** Nodes that are gone for longer: their places are forgotten, but not since when nothing was received from them. Bound: ABSENT_MAX. */
  private readonly departed = new Map<string, Contact>();

  private readonly replays: Replays<ChannelSubscription>;
  /** Until then, nodes that run already are heard for the first time. */
  private startUntilMs: number;
  private interruptedMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly parts: ChannelSubscriptionsParts) {
    this.startUntilMs = parts.nowMs() + FIRST_HEARD_HEARTBEATS * parts.heartbeatMs;
    const { local, nodes, requests, wire } = parts;
    const lose = (one: ChannelSubscription, node: string): void => this.lose(one, node);
    this.replays = new Replays({ local, nodes, requests, format: wire.format, lose });
  }

  open(spaceId: SpaceId, channel: string, found: (members: RemoteMembers) => void): void {
    const { openings, nodes, wire } = this.parts;
    this.close(spaceId, channel);
    const subscription = this.subscribe(spaceId, channel);
    this.subscriptions.set(key(spaceId, channel), subscription);
    // Also those that cannot be reached now: they may accept messages that this node has subscribed to.
    const asked = [...nodes.all.map((node) => [node.name, node] as const), ...this.absent];
    for (const [name, last] of asked) {
      const since = openedSince(subscription.openedMs, last);
      unanswered(subscription, name, { since, isReturned: false, isUnaware: wire.isDirect });
    }
    subscription.opening = openings.begin(spaceId, channel, subscription.transport, (responses) => {
      if (subscription.isEnded) return found(new Map());
      const states = [...responses].flatMap(([name, response]) => {
        const node = nodes.known(name);
        const [state] = sequencesOf(response);
        return node && state ? [{ node, state }] : [];
      });
      found(new Map(states.map(({ node, state }) => [node.id, state.members])));
      subscription.isOpening = false;
      subscription.opening = undefined;
      // Releases items that arrived meanwhile and are newer than the reported state.
      for (const { node, state } of states) subscription.sequences.of(node.name).start(state);
      this.opened(subscription, new Set(responses.keys()));
    });
  }

  private opened(subscription: ChannelSubscription, responded: ReadonlySet<string>): void {
    const { nodes, subjects } = this.parts;
    const { transport } = subscription;
    for (const [name, one] of subscription.unanswered ?? []) {
      const { isReturned } = one;
      if (!responded.has(name) && !nodes.hasLeft(name)) {
        // It has read of the subscription, and holds back only its response: a long one, or behind others.
        if (transport.isKnownTo?.(subjects.node(name))) unanswered(subscription, name, { ...one, isUnaware: false });
        continue;
      }
      answered(subscription, name);
      // Its items may have been missed since it responded.
      if (isReturned && nodes.known(name)) this.requestState(name, [subscription]);
    }
    // Nodes that have not responded in time, or appeared after the request.
    for (const { name } of nodes.all) if (!responded.has(name)) this.requestState(name, [subscription]);
  }

  close(spaceId: SpaceId, channel: string): void {
    const subscription = this.subscriptions.get(key(spaceId, channel));
    if (!subscription) return;
    subscription.transport.end();
    subscription.isEnded = true;
    this.subscriptions.delete(key(spaceId, channel));
  }

  /** Subscriptions that were there before a node is heard for the first time cannot know what they have missed: it may have started while this node
   * was cut off, or was cut off itself while this node started. */
  appeared(node: OtherNode): void {
    const { name } = node;
    if (!this.absent.has(name) && !this.departed.has(name)) {
      const isReturned = this.parts.nowMs() > this.startUntilMs;
      for (const subscription of this.subscriptions.values()) {
        const since = unheardSince(subscription.openedMs, this.interruptedMs);
        const isStarting = subscription.openedMs > this.interruptedMs;
        unanswered(subscription, name, { since, isReturned, isUnaware: this.parts.wire.isDirect, isStarting });
      }
      if (!isReturned) return this.requestAll(name);
    }
    this.resync(node);
  }

  /** It says that it was cut off. Its state is under way, because it was heard just now. */
  wasCutOff({ name }: OtherNode): void {
    this.returned(name, true);
  }

  /** Requests the state of all sequences of one node, because items of it may have been missed. */
  resync({ name }: OtherNode): void {
    this.absent.delete(name);
    this.returned(name);
    this.requestAll(name);
  }

  private requestAll(name: string): void {
    const subscriptions = [...this.subscriptions.values()].filter(({ isOpening }) => !isOpening);
    if (subscriptions.length === 0) return;
    for (const some of chunksOf(subscriptions, ({ spaceId, channel }) => jsonBytes([spaceId, channel])))
      this.requestState(name, some);
  }

  private returned(name: string, wasCutOff = false): void {
    const departed = this.departed.get(name);
    this.departed.delete(name);
    for (const subscription of this.subscriptions.values()) {
      const before = subscription.unanswered?.get(name);
      const since = before?.since ?? (departed && openedSince(subscription.openedMs, departed));
      const isStarting = !wasCutOff && before?.isStarting === true;
      if (since) unanswered(subscription, name, { since, isReturned: true, isUnaware: false, isStarting });
    }
  }

  /** The transport is down: from now on nothing is received from any node. */
  interrupted(): void {
    this.startUntilMs = Number.NEGATIVE_INFINITY;
    this.interruptedMs = this.parts.nowMs();
    for (const { name, lastMs, clockMs } of this.parts.nodes.all)
      for (const { sequences } of this.subscriptions.values()) sequences.interrupt(name, { lastMs, clockMs });
  }

  /**
   * A node that was stopped or cut off goes on accepting messages until it notices. When it returns, they are requested from where its sequences had
   * stopped here, and reported as lost if it has them no longer. What it owes now is lost at once: it may not return.
   */
  nodeGone({ name, hasLeft = false, lastMs, clockMs }: OtherNode): void {
    for (const one of this.subscriptions.values())
      if (!one.isOpening && (one.sequences.owes(name, hasLeft) || isDoubted(one, name, hasLeft))) this.reportLoss(one);
    if (hasLeft) return this.forget(name);
    for (const { sequences } of this.subscriptions.values()) sequences.pause(name, { lastMs, clockMs });
    this.absent.set(name, { goneMs: this.parts.nowMs(), lastMs, clockMs });
    const [oldest] = this.absent.keys();
    if (oldest !== undefined && this.absent.size > ABSENT_MAX) this.depart(oldest);
  }

  /** Called with each heartbeat: forgets the places in the sequences of nodes that have not returned. */
  sweep(): void {
    const before = this.parts.nowMs() - ABSENT_KEPT_MS;
    for (const [name, { goneMs }] of this.absent) if (goneMs <= before) this.depart(name);
  }

  private depart(name: string): void {
    const absent = this.absent.get(name);
    this.forget(name);
    if (absent) this.departed.set(name, absent);
    const [oldest] = this.departed.keys();
    if (oldest !== undefined && this.departed.size > ABSENT_MAX) this.departed.delete(oldest);
  }

  private forget(name: string): void {
    this.absent.delete(name);
    this.departed.delete(name);
    for (const subscription of this.subscriptions.values()) {
      subscription.sequences.forget(name);
      answered(subscription, name);
    }
  }

  private subscribe(spaceId: SpaceId, channel: string): ChannelSubscription {
    const { wire, subjects, nodes, nowMs } = this.parts;
    const events: IncomingEvents = {
      deliver: (name, item) => this.deliver(name, item),
      requestReplay: (from, to) => this.replays.request(subscription, from, to),
      requestState: (name) => this.requestState(name, [subscription]),
      lost: (name) => this.lose(subscription, name),
    };
    const sequences = new IncomingSequences(events, nowMs);
    const transport = wire.subscribeTexts(subjects.channel(spaceId, channel), (text) => {
      const item = wire.format.sequenceItem(text, spaceId, channel);
      if (!item) return this.reported(subscription, text);
      if (!subscription.isEnded && nodes.seen(item.place.node)) sequences.receive(item);
    });
    const subscription: ChannelSubscription = {
      spaceId,
      channel,
      transport,
      sequences,
      openedMs: nowMs(),
      isEnded: false,
      isOpening: true,
      opening: undefined,
      unanswered: undefined,
    };
    return subscription;
  }

  private reported(subscription: ChannelSubscription, text: string): void {
    const { wire, nodes, openings, unexpected } = this.parts;
    const reported = wire.format.reportOf(text);
    if (!reported) return unexpected("on a channel", text);
    if (subscription.opening && nodes.seen(reported.node)) openings.reported(subscription.opening, reported);
  }

  private deliver(name: string, item: SequenceItem): void {
    const { local, nodes } = this.parts;
    const node = nodes.known(name);
    if (!node) return;
    const { app, channel } = item.place;
    if (item.kind === "message") local.deliver(app, channel, item.envelope);
    else if (item.kind === "members") local.membersChanged(node.id, app, channel, item.change.joined, item.change.left);
  }

  private requestState(name: string, subscriptions: readonly ChannelSubscription[]): void {
    const { requests, nodes, wire } = this.parts;
    const channels = subscriptions.map(({ spaceId, channel }) => [spaceId, channel] as const);
    requests.toOne(name, { kind: "sequences", channels }, (response: NodeResponse | undefined) => {
      const node = nodes.known(name);
      const current = subscriptions.filter(({ isEnded }) => !isEnded);
      if (!node || current.length === 0) return;
      for (const state of sequencesOf(response)) this.stateReceived(node, state);
      // Without its state the sequences stay unsynchronised: retry until the node responds or is gone.
      if (!response && wire.isUp) this.requestState(name, current);
    });
  }

  private stateReceived(node: OtherNode, state: SequenceState): void {
    const { app, channel, members } = state;
    const subscription = this.subscriptions.get(key(app, channel));
    if (!subscription || subscription.isOpening) return;
    const takeMembers = (): void => this.parts.local.membersAre(node.id, app, channel, members);
    const before = subscription.unanswered?.get(node.name);
    const sequence = subscription.sequences.of(node.name);
    answered(subscription, node.name);
    // Where its sequence was at that time is not known. Nothing that follows a loss is delivered before the loss is reported.
    if (before && mayHaveMissed(before, state, sequence.hasBeginningOf(state.epoch), this.parts.nowMs()))
      return this.lose(subscription, node.name);
    sequence.resynchronise(state, takeMembers);
  }

  private lose(subscription: ChannelSubscription, name: string): void {
    this.reportLoss(subscription);
    if (subscription.isEnded) return;
    // Who subscribes before its state is known here must get what it publishes from then on.
    const { lastMs, clockMs } = this.parts.nodes.known(name) ?? { lastMs: this.parts.nowMs() };
    unanswered(subscription, name, { since: { lastMs, clockMs }, isReturned: false, isUnaware: false });
    subscription.sequences.of(name).giveUp();
  }

  private reportLoss({ spaceId, channel }: ChannelSubscription): void {
    const { local, warn } = this.parts;
    warn("messages between nodes were lost and cannot be replayed: the subscribers of their channel must reconnect");
    local.lost(spaceId, channel);
  }
}
