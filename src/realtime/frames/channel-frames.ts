/** The frames `subscribe`, `unsubscribe`, `state` and `history`: their checks, in the order of the protocol. */
import { channelRefusal } from "../../access/admission/permissions.ts";
import type { RoomSeat } from "../../access/tokens/room-token.ts";
import { bitOf } from "../../protocol/actions.ts";
import type { ClientFrame } from "../../protocol/frames.ts";
import { CHANNELS_PER_CONNECTION_MAX } from "../../protocol/limits.ts";
import { isChannelName, utf8Bytes } from "../../protocol/names.ts";
import { type SubscribeOptions, subscribeOptions } from "../../protocol/subscribe-options.ts";
import type { RoomHooks } from "../connections/room-hooks.ts";
import { PRESENCE, type StateRefusal, type States } from "../presence/states.ts";
import { hasUncommitted, putOff } from "../state/backlog.ts";
import type { Connection } from "../state/connection.ts";
import type { HistoryFrames } from "../streams/history-frames.ts";
import { historyPageRequest } from "../streams/page-request.ts";
import { HISTORY_AWAY, TOO_MUCH_WAITS } from "../streams/texts.ts";
import type { Channels } from "../subscriptions/channels.ts";
import type { InSight } from "../subscriptions/in-sight.ts";
import type { Replies, Request } from "./replies.ts";

const SUBSCRIBE = bitOf("subscribe");

interface ChannelFramesParts {
  readonly channels: Channels;
  readonly states: States;
  readonly replies: Replies;
  readonly historyFrames: HistoryFrames;
  readonly inSight: InSight;
  readonly roomHooks: RoomHooks;
}

export class ChannelFrames {
  constructor(private readonly parts: ChannelFramesParts) {}

  subscribe(connection: Connection, frame: ClientFrame): void {
    const { replies } = this.parts;
    const options = subscribeOptions(frame.fields);
    if (typeof options === "string") return replies.refuse(connection, "malformed_message", frame, options);
    // An unsubscribe of the same channel may wait there.
    if (!connection.extras?.backlog) this.subscribeNow(connection, frame, options);
    else this.subscribeLater(connection, frame, options);
  }

  private subscribeLater(connection: Connection, frame: ClientFrame, options: SubscribeOptions): void {
    const { replies } = this.parts;
    if (!isChannelName(frame.channel)) return replies.refuse(connection, "invalid_channel", frame);
    // Not the frame: its other fields may be of any length.
    const { channel, requestId } = frame;
    if (!putOff(connection, 0, () => this.subscribeNow(connection, { channel, requestId }, options)))
      replies.refuse(connection, "backend_error", frame, TOO_MUCH_WAITS);
  }

  private subscribeNow(connection: Connection, request: Request, options: SubscribeOptions): void {
    const { channel, requestId } = request;
    const { channels, replies } = this.parts;
    if (!connection.open) return;
    if (!this.mayRead(connection, channel, request)) return;
    if (options.withOccupancy && !connection.mayOn(PRESENCE, channel))
      return replies.refuseAction(connection, PRESENCE, request);
    if (connection.subscriptionCount >= CHANNELS_PER_CONNECTION_MAX && !connection.subscriptionTo(channel))
      return replies.refuse(connection, "channel_limit_exceeded", request);
    // Participants of a room see each other: to listen without being shown is not for them.
    const shown = connection.seat ? { ...options, isPresent: true } : options;
    channels.subscribe(connection, channel, shown, (refused, fields) => {
      if (refused === "backend_error") replies.refuse(connection, refused, request, HISTORY_AWAY);
      else if (refused) replies.refuse(connection, refused, request);
      else {
        replies.ack(connection, requestId, fields);
        const { seat, open } = connection;
        if (seat && open) this.subscribedInRoom(connection, seat, channel);
      }
    });
    if (connection.seat) this.parts.inSight.subscribed(connection, connection.seat, channel);
  }

  private subscribedInRoom(connection: Connection, seat: RoomSeat, channel: string): void {
    const { inSight, roomHooks } = this.parts;
    inSight.reads(connection, seat, channel);
    roomHooks.subscribed(seat, channel);
  }

  unsubscribe(connection: Connection, frame: ClientFrame): void {
    const { channel, requestId } = frame;
    const { channels, replies, inSight } = this.parts;
    if (!isChannelName(channel)) return replies.refuse(connection, "invalid_channel", frame);
    const unsubscribe = (): void => {
      const { seat } = connection;
      const isLeaving = seat !== undefined && connection.subscriptionTo(channel) !== undefined;
      channels.unsubscribe(connection, channel);
      replies.ack(connection, requestId);
      if (isLeaving) inSight.unsubscribed(connection, seat, channel);
    };
    // The others see its messages before they see that it has left.
    if (!hasUncommitted(connection)) unsubscribe();
    else if (!putOff(connection, 0, unsubscribe)) replies.refuse(connection, "backend_error", frame, TOO_MUCH_WAITS);
  }

  /** `text`: the frame as it came. */
  state(connection: Connection, frame: ClientFrame, text: string): void {
    const { channel, requestId, fields } = frame;
    const { states, replies } = this.parts;
    const state = states.read(connection, fields, text);
    if (state !== null && typeof state !== "string") return this.refuseState(connection, state, frame);
    const set = (): void => {
      if (!connection.open) return;
      const refusal = states.set(connection, channel, state);
      if (refusal) this.refuseState(connection, refusal, { channel, requestId });
      else replies.ack(connection, requestId);
    };
    // An unsubscribe of the same channel may wait there. Counted whole: the state may keep the text of its frame in memory.
    if (!connection.extras?.backlog) set();
    else if (!putOff(connection, utf8Bytes(text), set))
      replies.refuse(connection, "backend_error", frame, TOO_MUCH_WAITS);
  }

  private refuseState(connection: Connection, { code, message, isEarly }: StateRefusal, request: Request): void {
    const { replies } = this.parts;
    if (isEarly) replies.error(connection, code, request, message);
    else if (code === "action_not_permitted" && message === undefined)
      replies.refuseAction(connection, PRESENCE, request);
    else replies.refuse(connection, code, request, message);
  }

  history(connection: Connection, frame: ClientFrame): void {
    const { channel, requestId, fields } = frame;
    const { replies, historyFrames } = this.parts;
    const request = historyPageRequest(fields);
    if (typeof request === "string") return replies.refuse(connection, "malformed_message", frame, request);
    if (!this.mayRead(connection, channel, frame)) return;
    if (connection.seat) this.parts.inSight.reads(connection, connection.seat, channel);
    historyFrames.request(connection, { ...request, channel, requestId }, (code, message) =>
      replies.refuse(connection, code, { channel, requestId }, message),
    );
  }

  /** Refuses the frame if not. */
  private mayRead(connection: Connection, channel: unknown, request: Request): channel is string {
    const { replies, inSight } = this.parts;
    const { seat } = connection;
    if (typeof channel !== "string") {
      replies.refuse(connection, "invalid_channel", request);
      return false;
    }
    const refusal = channelRefusal(channel, SUBSCRIBE, connection, false);
    const isHidden = !refusal && seat !== undefined && !inSight.mayRead(connection, seat, channel);
    if (refusal) replies.refuseChannel(connection, refusal, SUBSCRIBE, channel, request);
    else if (isHidden) replies.refuseUnseen(connection, seat, request);
    return !refusal && !isHidden;
  }
}
