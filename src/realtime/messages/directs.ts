/**
 * How direct messages reach the connections of one peer, whether a connection, REST or another node sends them. A direct message is
 * written to the outbox of each of its receiver's connections, after the pending presence changes of its sender.
 */
import type { Clock } from "../../base/clock.ts";
import type { SpaceId } from "../../base/ids.ts";
import {
  DEFERRED,
  type DeliverResult,
  type DirectAttempt,
  type Engine,
  type Envelope,
  type OnDeferred,
  OVERTAKEN,
  type SendResult,
  type Sent,
  UNAVAILABLE,
} from "../../engine/engine.ts";
import * as encode from "../../protocol/encode.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import type { Holds } from "../connections/holds.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { Emitter } from "../events/emitter.ts";
import type { Presence } from "../presence/presence.ts";
import { type Arrivals, arrivalsOf, NO_ARRIVALS } from "../state/arrivals.ts";
import type { Connection } from "../state/connection.ts";
import type { EarlyDirect } from "../state/connection-extras.ts";
import type { Peer } from "../state/peer.ts";
import type { Spaces } from "../state/spaces.ts";
import { type Delivery, fromJsonOf, idField, type PublishRefusal } from "./delivery.ts";
import { DirectIds } from "./direct-ids.ts";
import { EarlyDirects } from "./early-directs.ts";
import { WaitingSends } from "./waiting-sends.ts";

interface DirectsParts {
  readonly spaces: Spaces;
  readonly presence: Presence;
  readonly engine: Engine;
  readonly metrics: RealtimeMetrics;
  readonly clock: Clock;
  readonly emitter: Emitter;
  readonly holds: Holds;
  readonly delivery: Delivery;
  readonly faults: FaultLog;
}

/** `backend_error`: it is not known to be delivered. `rate_limited`: too much waits for peers that are expected back. */
export type SendRefusal = PublishRefusal | "peer_not_found" | "rate_limited";

export class Directs {
  /** To peers that are expected back. */
  readonly waiting: WaitingSends;
  /** To connections that are new after a loss. */
  readonly early: EarlyDirects;
  private readonly ids: DirectIds;
  private lastSend = 0;

  constructor(private readonly parts: DirectsParts) {
    this.early = new EarlyDirects({ clock: parts.clock, write: (to, direct) => this.writeEarly(to, direct) });
    this.waiting = new WaitingSends({
      clock: parts.clock,
      attempt: ({ spaceId, to, envelope, sender, attempt, arrivals }) =>
        this.reach(spaceId, to, waited(envelope, arrivals), sender, attempt, arrivals),
      failed: (error) => parts.faults.caught("engine", error),
    });
    this.ids = new DirectIds(parts.clock);
  }

  /** Returns `undefined` if the message reached a connection, at once or when its receiver is back. `sender` is the connection it comes from and is not sent to. */
  send(
    spaceId: SpaceId,
    to: string,
    envelope: Envelope,
    sender?: Connection,
  ): SendRefusal | undefined | Promise<SendRefusal | undefined> {
    if (this.parts.delivery.isOverQuota(spaceId, "app")) return "over_message_quota";
    if (sender?.peerId === to) return this.sendToOwn(spaceId, to, envelope, sender);
    const order = ++this.lastSend;
    const attempt = this.parts.engine.isAlone ? undefined : newAttempt(spaceId, to, this.waiting.onDeferred);
    const reached = this.waiting.mustWait(spaceId, to)
      ? DEFERRED
      : this.reachFirst(spaceId, to, envelope, sender, attempt);
    if (!(reached instanceof Promise) && reached !== DEFERRED) {
      if (attempt) this.waiting.decided(attempt);
      return this.sent(spaceId, to, envelope, sender, reached);
    }
    return this.sentLater(spaceId, to, envelope, sender, order, reached, attempt);
  }

  /** To the other connections of the same peer: it is connected, so that nothing has to wait for its return. */
  private sendToOwn(
    spaceId: SpaceId,
    to: string,
    envelope: Envelope,
    sender: Connection,
  ): SendRefusal | undefined | Promise<SendRefusal | undefined> {
    const reached = this.reach(spaceId, to, envelope, sender, undefined);
    if (reached instanceof Promise) return reached.then((result) => this.sent(spaceId, to, envelope, sender, result));
    return this.sent(spaceId, to, envelope, sender, reached);
  }

  /** DEFERRED: the service itself has closed the connection of the receiver, which is expected back. */
  private async sentLater(
    spaceId: SpaceId,
    to: string,
    envelope: Envelope,
    sender: Connection | undefined,
    order: number,
    reached: Sent,
    attempt: DirectAttempt = newAttempt(spaceId, to, this.waiting.onDeferred),
  ): Promise<SendRefusal | undefined> {
    const arrivals = arrivalsOf(sender ? sender.peer : this.parts.spaces.peer(spaceId, envelope.from));
    let result: SendResult;
    try {
      result = reached instanceof Promise ? await reached : reached;
    } finally {
      this.waiting.decided(attempt);
    }
    if (result !== DEFERRED) return this.sent(spaceId, to, envelope, sender, result);
    const decided = await this.waiting.add({ spaceId, to, envelope, sender, order, attempt, arrivals });
    if (decided !== undefined) return this.sent(spaceId, to, envelope, sender, decided);
    // What other nodes have been asked to deliver may arrive, although nothing waits for it here.
    return attempt.number > 0 ? "backend_error" : "rate_limited";
  }

  /** Later messages to the peer wait for an attempt that is not decided: an exception decides it. */
  private reachFirst(
    spaceId: SpaceId,
    to: string,
    envelope: Envelope,
    sender: Connection | undefined,
    attempt: DirectAttempt | undefined,
  ): Sent {
    try {
      return this.reach(spaceId, to, envelope, sender, attempt);
    } catch (error) {
      if (attempt) this.waiting.decided(attempt);
      throw error;
    }
  }

  /**
   * To how many connections a direct message was handed; or why to none, DEFERRED also if this node expects the peer back.
   * `arrivals`: those of the sender when it sent the message, if it has waited.
   */
  private reach(
    spaceId: SpaceId,
    to: string,
    envelope: Envelope,
    sender: Connection | undefined,
    attempt: DirectAttempt | undefined,
    arrivals?: Arrivals,
  ): Sent {
    const { spaces, presence, engine, holds } = this.parts;
    const space = sender ? sender.peer.space : spaces.get(spaceId);
    if (sender?.peer.pending) presence.announcePending(sender.peer);
    const target = space?.peers.get(to);
    if (target && sender) sender.peer.sentTo(target.peerId);
    const isHere = target?.hasOther(sender) === true;
    // The hold may end while other nodes answer: the peer that connects here meanwhile must not be "not found".
    const wasHeld = !isHere && holds.isHeld(spaceId, to);
    if (attempt) attempt.isHeld = wasHeld;
    if (wasHeld && attempt && !attempt.isNext) this.waiting.onDeferred(attempt);
    const elsewhere = engine.send(spaceId, to, orAfterRoster(envelope, target), isHere, attempt);
    if (elsewhere === UNAVAILABLE) return UNAVAILABLE;
    const here = target && isHere ? this.hand(target, fromJsonOf(envelope, sender), envelope, sender, arrivals) : 0;
    if (elsewhere instanceof Promise) return this.orDeferredLater(spaceId, to, here, wasHeld, elsewhere);
    return this.orDeferred(spaceId, to, here, wasHeld, elsewhere);
  }

  private async orDeferredLater(
    spaceId: SpaceId,
    to: string,
    here: number,
    wasHeld: boolean,
    elsewhere: Promise<SendResult>,
  ): Promise<SendResult> {
    return this.orDeferred(spaceId, to, here, wasHeld, await elsewhere);
  }

  private orDeferred(spaceId: SpaceId, to: string, here: number, wasHeld: boolean, elsewhere: SendResult): SendResult {
    const { holds } = this.parts;
    const reached = typeof elsewhere === "number" ? elsewhere : 0;
    if (reached > 0) holds.returnedElsewhere(spaceId, to);
    // Not known to have reached all connections. It is decided nevertheless: a further attempt would reach those of this node twice.
    if (here > 0 && (elsewhere === UNAVAILABLE || elsewhere === OVERTAKEN)) return OVERTAKEN;
    if (here > 0) return here + reached;
    // Also where it is not known whether another node has it: further attempts keep its number, so that it cannot arrive twice.
    const mayReturn = (elsewhere === 0 || elsewhere === UNAVAILABLE) && (wasHeld || holds.isHeld(spaceId, to));
    return mayReturn ? DEFERRED : elsewhere;
  }

  private sent(
    spaceId: SpaceId,
    to: string,
    { from, dataJson }: Envelope,
    sender: Connection | undefined,
    reached: SendResult,
  ): SendRefusal | undefined {
    if (reached === UNAVAILABLE || reached === OVERTAKEN) return "backend_error";
    if (reached === 0 || reached === DEFERRED) return "peer_not_found";
    const { emitter } = this.parts;
    if (sender) sender.peer.space.countMessage();
    else this.parts.delivery.countMessage(spaceId);
    if (emitter.events.listener !== undefined) emitter.sent(spaceId, to, from, dataJson, sender);
    return undefined;
  }

  /** Delivers a direct message of another node; returns the number of connections here that it was written to, or DEFERRED. */
  deliverTo(spaceId: SpaceId, to: string, envelope: Envelope): DeliverResult {
    const target = this.parts.spaces.peer(spaceId, to);
    const reached = target?.hasOther(undefined)
      ? this.hand(target, JSON.stringify(envelope.from), envelope, undefined, envelope.sentEarlier && NO_ARRIVALS)
      : 0;
    return reached === 0 && this.parts.holds.isHeld(spaceId, to) ? DEFERRED : reached;
  }

  /** To a peer that has a connection besides the sender's (`hasOther`). */
  private hand(
    target: Peer,
    fromJson: string,
    envelope: Envelope,
    sender: Connection | undefined,
    arrivals?: Arrivals,
  ): number {
    const { metrics, presence } = this.parts;
    const { id: spaceId } = target.space;
    const hadMs = envelope.id === undefined ? undefined : this.ids.deliveredMs(spaceId, target.peerId, envelope);
    // A connection that is newer than the first one with this id has not got it.
    if (hadMs !== undefined && !target.hasNewer(hadMs, sender)) return 1;
    const from = sender ? sender.peer : target.space.peers.get(envelope.from);
    if (!sender && from) from.sentTo(target.peerId);
    if (from?.pending) presence.beforeDirect(from, target, arrivals);
    const text = encode.direct(fromJson, envelope.metadataJson, envelope.dataJson, idField(envelope));
    // From the return of a peer until its roster.
    const isEarly = target.lostMemberships > 0 || envelope.awaitsRoster === true;
    const { onlyConnection } = target;
    let reached = 0;
    if (onlyConnection) reached += this.handTo(onlyConnection, text, envelope, sender, isEarly, arrivals);
    else
      for (const connection of target.connections)
        if (hadMs === undefined || connection.openedMs > hadMs)
          reached += this.handTo(connection, text, envelope, sender, isEarly, arrivals);
    metrics.directs.inc(reached);
    if (envelope.id !== undefined && reached > 0) this.ids.add(spaceId, target.peerId, envelope);
    return reached;
  }

  private handTo(
    connection: Connection,
    text: string,
    { from }: Envelope,
    sender: Connection | undefined,
    isEarly: boolean,
    arrivals: Arrivals | undefined,
  ): 0 | 1 {
    // Messages that waited for a stream are sent while its last subscriber ends: that connection gets nothing any more.
    if (connection === sender || !connection.open) return 0;
    if (connection.extras?.earlyDirects || (isEarly && this.early.isTooEarly(connection)))
      this.early.add(connection, {
        from,
        text,
        arrivals: arrivals ?? arrivalsOf(connection.peer.space.peers.get(from)),
      });
    else this.writeDirect(connection, text);
    return 1;
  }

  private writeDirect({ outbox, peer }: Connection, text: string): void {
    this.parts.delivery.write(outbox, text, undefined, 1, peer.space.counters);
  }

  /** With its rosters the receiver has learnt who is there, but not of senders that were still arriving, and are. */
  private writeEarly(connection: Connection, { from, text, arrivals }: EarlyDirect): void {
    const { peer } = connection;
    const sender = peer.space.peers.get(from);
    if (sender?.pending) this.parts.presence.beforeDirect(sender, peer, arrivals);
    this.writeDirect(connection, text);
  }
}

/** The same for a node on which the receiver may have come back. */
const orAfterRoster = (envelope: Envelope, target: Peer | undefined): Envelope =>
  target && target.lostMemberships > 0 ? { ...envelope, awaitsRoster: true } : envelope;

/** A message that has waited for the return of its receiver. */
const waited = (envelope: Envelope, arrivals: Arrivals): Envelope => ({
  ...envelope,
  awaitsRoster: true,
  ...(arrivals.size === 0 && { sentEarlier: true }),
});

const newAttempt = (spaceId: SpaceId, to: string, onDeferred: OnDeferred): DirectAttempt => ({
  spaceId,
  to,
  onDeferred,
  number: 0,
  firstMs: 0,
  isHeld: false,
  isUnanswered: false,
  delivered: 0,
  isNext: false,
  isLast: false,
});
