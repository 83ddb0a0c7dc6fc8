/** The frames `publish` and `send`: their checks, in the order of the protocol, and what waits for earlier messages. */
import { channelRefusal } from "../../access/admission/permissions.ts";
import { isInvited } from "../../access/tokens/guests.ts";
import type { RoomRefusal } from "../../access/tokens/room-access.ts";
import type { RoomSeat } from "../../access/tokens/room-token.ts";
import type { Clock } from "../../base/clock.ts";
import type { Envelope } from "../../engine/engine.ts";
import { bitOf } from "../../protocol/actions.ts";
import type { ClientFrame } from "../../protocol/frames.ts";
import { isMessageId, isPeerId, utf8Bytes } from "../../protocol/names.ts";
import type { Retention } from "../../protocol/patterns/channel-rules.ts";
import { positionText } from "../../protocol/position.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { RoomHooks } from "../connections/room-hooks.ts";
import type { Delivery, PublishRefusal } from "../messages/delivery.ts";
import { SEND_REFUSED } from "../messages/direct-texts.ts";
import type { Directs, SendRefusal } from "../messages/directs.ts";
import { committed, hasUncommitted, mayStore, putOff } from "../state/backlog.ts";
import type { Connection } from "../state/connection.ts";
import type { Outcome, StreamRefusal } from "../streams/outcomes.ts";
import type { Publishing } from "../streams/publishing.ts";
import type { Streams } from "../streams/streams.ts";
import { NOT_KNOWN_TO_BE_STORED, TOO_MUCH_WAITS } from "../streams/texts.ts";
import type { InSight } from "../subscriptions/in-sight.ts";
import type { Replies, Request } from "./replies.ts";

const PUBLISH = bitOf("publish");
const SEND = bitOf("send");

const OVER_GUEST_QUOTA =
  "The application has used up its messages for this period, or the half of them that room guests may use.";

interface MessageFramesParts {
  readonly boundary: Boundary;
  readonly delivery: Delivery;
  readonly directs: Directs;
  readonly publishing: Publishing;
  readonly streams: Pick<Streams, "ruleOf">;
  readonly clock: Clock;
  readonly replies: Replies;
  readonly inSight: Pick<InSight, "mayWrite">;
  readonly roomHooks: RoomHooks;
}

/** A message of a participant of a room. */
interface RoomMessage extends Request {
  readonly connection: Connection;
  readonly seat: RoomSeat;
  readonly channel: string;
  readonly data: string;
  readonly id: string | undefined;
}

export class MessageFrames {
  constructor(private readonly parts: MessageFramesParts) {}

  publish(connection: Connection, frame: ClientFrame): void {
    const { channel, data, fields } = frame;
    const { replies } = this.parts;
    const { id } = fields;
    if (id !== undefined && !isMessageId(id)) return this.refuseId(connection, frame);
    if (typeof channel !== "string" || channel !== connection.extras?.publishesTo) {
      if (typeof channel !== "string") return replies.refuse(connection, "invalid_channel", frame);
      if (connection.seat) return this.publishInRoom(connection, connection.seat, channel, frame, id);
      if (channel === connection.extras?.storesTo)
        return this.publishInOrder(connection, channel, connection.extras.keeps, frame, id);
      // A subscribed channel is allowed: an edit of the key that no longer covers the channel ends the subscription too.
      const isSubscribed = connection.subscriptionTo(channel) !== undefined;
      const refusal = channelRefusal(channel, PUBLISH, connection, isSubscribed);
      if (refusal) return replies.refuseChannel(connection, refusal, PUBLISH, channel, frame);
      return this.publishByRule(connection, channel, frame, id);
    }
    if (data === undefined) return replies.refuse(connection, "missing_data", frame);
    this.publishNow(connection, channel, envelopeOf(connection, data, id), frame);
  }

  /** The message is permitted. What the rule of its channel says is noted for the next ones, except in rooms. */
  private publishByRule(connection: Connection, channel: string, frame: ClientFrame, id: string | undefined): void {
    const { replies, streams } = this.parts;
    const { data } = frame;
    const isNoted = !connection.seat;
    const rule = streams.ruleOf(connection.peer.space.id, channel);
    const keep = rule?.history;
    if (rule?.stream) return this.publishToStream(connection, channel, frame, id);
    if (keep && isNoted) {
      const { withExtras } = connection;
      withExtras.storesTo = channel;
      withExtras.keeps = keep;
    }
    if (keep || hasUncommitted(connection)) return this.publishInOrder(connection, channel, keep, frame, id);
    if (isNoted) connection.withExtras.publishesTo = channel;
    if (data === undefined) return replies.refuse(connection, "missing_data", frame);
    this.publishNow(connection, channel, envelopeOf(connection, data, id), frame);
  }

  /** The channel is a created stream: its messages wait for the store as those of channels with history. */
  private publishToStream(
    connection: Connection,
    channel: string,
    { data, requestId }: ClientFrame,
    id: string | undefined,
  ): void {
    const { publishing, replies } = this.parts;
    const request: Request = { requestId, channel };
    if (data === undefined) return replies.refuse(connection, "missing_data", request);
    const envelope = envelopeOf(connection, data, id);
    const answer = this.answerOf(connection, channel, requestId);
    const publish = (): void => publishing.publish(connection.peer.space.id, channel, envelope, answer, connection);
    if (mayStore(connection, channel, false)) return publish();
    this.putOff(connection, data, request, publish, channel);
  }

  /** Every message is checked: what may be said in a room can change with each. So `publishesTo` and `storesTo` are never set for a seat. */
  private publishInRoom(
    connection: Connection,
    seat: RoomSeat,
    channel: string,
    frame: ClientFrame,
    id: string | undefined,
  ): void {
    const { replies, inSight } = this.parts;
    const refusal = channelRefusal(channel, PUBLISH, connection, false);
    if (refusal) return replies.refuseChannel(connection, refusal, PUBLISH, channel, frame);
    if (!inSight.mayWrite(connection, seat)) return replies.refuseUnseen(connection, seat, frame);
    const { data } = frame;
    if (data === undefined) return replies.refuse(connection, "missing_data", frame);
    const message: RoomMessage = { connection, seat, channel, data, id, requestId: frame.requestId };
    if (connection.extras?.isDeciding || connection.extras?.backlog)
      return this.putOff(connection, data, message, () => this.publishOrRefuse(message, this.refusalInRoom(message)));
    const refused = this.refusalInRoom(message);
    if (refused instanceof Promise) {
      if (!hasUncommitted(connection)) return this.publishOrRefuse(message, refused);
      const settled = refused.catch((): RoomRefusal => ({ code: "backend_error" }));
      return this.putOff(connection, data, message, () => this.publishOrRefuse(message, settled));
    }
    if (refused) return replies.refuse(connection, refused.code, frame, refused.message);
    this.publishByRule(connection, channel, frame, id);
  }

  private refusalInRoom({ seat, channel, data }: RoomMessage): ReturnType<RoomHooks["refusalOfMessage"]> {
    return this.parts.roomHooks.refusalOfMessage(seat, channel, data);
  }

  /** Nothing that this connection has sent before waits any more: it is refused or published now, or when that is decided. */
  private publishOrRefuse(message: RoomMessage, refused: ReturnType<RoomHooks["refusalOfMessage"]>): void {
    if (refused instanceof Promise) void this.publishWhenDecided(message, refused);
    else this.publishDecided(message, refused);
  }

  /** Later frames of the connection wait behind this message, as behind one that is not stored yet. */
  private async publishWhenDecided(message: RoomMessage, refused: Promise<RoomRefusal | undefined>): Promise<void> {
    const { connection } = message;
    const { boundary, publishing } = this.parts;
    connection.withExtras.isDeciding = true;
    connection.withExtras.uncommitted++;
    const decided = await refused.catch((): RoomRefusal => ({ code: "backend_error" }));
    boundary.forConnection("socket", connection, () => {
      connection.withExtras.isDeciding = false;
      try {
        this.publishDecided(message, decided);
      } finally {
        committed(connection, publishing.keepsOrder);
      }
    });
  }

  private publishDecided(message: RoomMessage, refused: RoomRefusal | undefined): void {
    const { connection, channel, data, id } = message;
    const { publishing, replies } = this.parts;
    if (!connection.open) return;
    if (refused) return replies.refuse(connection, refused.code, message, refused.message);
    const answer = this.answerOf(connection, channel, message.requestId);
    publishing.publish(connection.peer.space.id, channel, envelopeOf(connection, data, id), answer, connection);
  }

  private publishNow(connection: Connection, channel: string, envelope: Envelope, request: Request): void {
    const { delivery, clock, replies } = this.parts;
    const { space } = connection.peer;
    const refused = delivery.publish(space.id, channel, envelope, connection);
    if (refused) return this.refuseMessage(connection, refused, request);
    connection.countPublished();
    replies.ackMessage(connection, request.requestId);
    space.counters.latency.observeMs(clock.monotonicMs() - connection.lastSeenMs);
  }

  /** The channel keeps history, or earlier messages of this connection are not stored yet. */
  private publishInOrder(
    connection: Connection,
    channel: string,
    keep: Retention | undefined,
    { data, requestId }: ClientFrame,
    id: string | undefined,
  ): void {
    const request: Request = { requestId, channel };
    if (data === undefined) return this.parts.replies.refuse(connection, "missing_data", request);
    const envelope = envelopeOf(connection, data, id);
    if (!keep)
      return this.putOff(connection, data, request, () => this.publishNow(connection, channel, envelope, request));
    const store = (): void => this.store(connection, channel, keep, envelope, request);
    if (mayStore(connection, channel, this.parts.publishing.keepsOrder)) return store();
    this.putOff(connection, data, request, store, channel);
  }

  private store(
    sender: Connection,
    channel: string,
    keep: Retention,
    envelope: Envelope,
    { requestId }: Request,
  ): void {
    const { id: spaceId } = sender.peer.space;
    this.parts.publishing.store(
      { spaceId, channel, keep, envelope, sender },
      this.answerOf(sender, channel, requestId),
    );
  }

  /** What the sender gets when its message is published, or is not. */
  private answerOf(sender: Connection, channel: string, requestId: string | undefined): (outcome: Outcome) => void {
    const { clock, replies } = this.parts;
    const { counters } = sender.peer.space;
    const sinceMs = sender.lastSeenMs;
    return (outcome) => {
      if (outcome === "unconfirmed")
        return replies.refuse(sender, "backend_error", { requestId, channel }, NOT_KNOWN_TO_BE_STORED);
      if (outcome === "delivered") {
        sender.countPublished();
        replies.ackMessage(sender, requestId);
      } else if (typeof outcome === "string") return this.refuseMessage(sender, outcome, { requestId, channel });
      else {
        if (!outcome.isDuplicate) sender.countPublished();
        const duplicate = outcome.isDuplicate ? ',"duplicate":true' : "";
        replies.ackMessage(sender, requestId, `,"pos":"${positionText(outcome)}"${duplicate}`);
      }
      counters.latency.observeMs(clock.monotonicMs() - sinceMs);
    };
  }

  /** Guests are refused before the application is, whose usage does not show that a share is used up. */
  private refuseMessage(connection: Connection, refused: PublishRefusal | StreamRefusal, request: Request): void {
    const { seat } = connection;
    const isOfGuest = refused === "over_message_quota" && seat !== undefined && !isInvited(seat.claims);
    this.parts.replies.refuse(connection, refused, request, isOfGuest ? OVER_GUEST_QUOTA : undefined);
  }

  send(connection: Connection, frame: ClientFrame): void {
    const { to, data, fields, requestId } = frame;
    const { replies } = this.parts;
    const { id } = fields;
    if (id !== undefined && !isMessageId(id)) return this.refuseId(connection, frame);
    if (!isPeerId(to)) return replies.refuse(connection, "invalid_peer_id", frame);
    if (!connection.may(SEND)) return replies.refuseAction(connection, SEND, frame);
    if (data === undefined) return replies.refuse(connection, "missing_data", frame);
    const plain = envelopeOf(connection, data, id);
    const envelope = id === undefined ? plain : { ...plain, idScope: connection.idScope };
    if (!hasUncommitted(connection)) return this.sendNow(connection, to, envelope, frame);
    this.sendInOrder(connection, to, envelope, { requestId, channel: undefined });
  }

  /** Earlier messages of this connection are not stored yet. */
  private sendInOrder(connection: Connection, to: string, envelope: Envelope, request: Request): void {
    this.putOff(connection, envelope.dataJson, request, () => this.sendNow(connection, to, envelope, request));
  }

  private sendNow(connection: Connection, to: string, envelope: Envelope, request: Request): void {
    const sent = this.parts.directs.send(connection.peer.space.id, to, envelope, connection);
    if (sent instanceof Promise) void this.answerSendLater(connection, sent, request);
    else this.answerSend(connection, sent, request);
  }

  private async answerSendLater(
    connection: Connection,
    sent: Promise<SendRefusal | undefined>,
    request: Request,
  ): Promise<void> {
    try {
      this.answerSend(connection, await sent, request);
    } catch (error) {
      this.parts.boundary.connectionFailed("engine", connection, error);
    }
  }

  private answerSend(connection: Connection, refused: SendRefusal | undefined, request: Request): void {
    const { replies } = this.parts;
    if (refused) return replies.refuse(connection, refused, request, SEND_REFUSED[refused]);
    connection.countPublished();
    replies.ackMessage(connection, request.requestId);
  }

  private putOff(connection: Connection, data: string, request: Request, run: () => void, storesTo?: string): void {
    if (!putOff(connection, utf8Bytes(data), run, storesTo))
      this.parts.replies.refuse(connection, "backend_error", request, TOO_MUCH_WAITS);
  }

  private refuseId(connection: Connection, frame: ClientFrame): void {
    this.parts.replies.refuse(connection, "malformed_message", frame, "id: must be 1 to 64 printable ASCII characters");
  }
}

/** Without an id the envelope has no such property: most messages have none. */
const envelopeOf = ({ peerId, metadataJson }: Connection, dataJson: string, id: string | undefined): Envelope =>
  id === undefined ? { from: peerId, metadataJson, dataJson } : { from: peerId, metadataJson, dataJson, id };
