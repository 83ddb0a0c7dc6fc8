/** Answers to the frames of a client: acks, and errors that leave the connection open. */
import { type ChannelRefusal, narrowForAction, narrowForChannel } from "../../access/admission/permissions.ts";
import type { RoomSeat } from "../../access/tokens/room-token.ts";
import type { ActionSet } from "../../protocol/actions.ts";
import type { Code } from "../../protocol/codes.ts";
import * as encode from "../../protocol/encode.ts";
import type { ClientFrame } from "../../protocol/frames.ts";
import { isChannelName } from "../../protocol/names.ts";
import { roomChannel } from "../../protocol/room-channels.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { Emitter } from "../events/emitter.ts";
import type { Delivery } from "../messages/delivery.ts";
import type { Connection } from "../state/connection.ts";
import { unseenText } from "../subscriptions/narrowing.ts";

/** What an answer says of its frame. */
export type Request = Pick<ClientFrame, "requestId" | "channel">;

interface RepliesParts {
  readonly delivery: Pick<Delivery, "answer">;
  readonly emitter: Emitter;
  readonly metrics: RealtimeMetrics;
}

export class Replies {
  constructor(private readonly parts: RepliesParts) {}

  /** `fields`: more members of the ack. */
  ack(connection: Connection, requestId: string | undefined, fields?: string): void {
    if (requestId === undefined || !connection.open) return;
    this.parts.metrics.acks.inc();
    connection.socket.send(encode.ack(requestId, fields));
  }

  /** The ack of a publish or send, of which many may come in one turn. It leaves behind the messages of the same turn. */
  ackMessage(connection: Connection, requestId: string | undefined, fields?: string): void {
    if (requestId === undefined || !connection.open) return;
    this.parts.metrics.acks.inc();
    this.parts.delivery.answer(connection, encode.ack(requestId, fields));
  }

  refuseChannel(
    connection: Connection,
    refusal: ChannelRefusal,
    action: ActionSet,
    channel: string,
    request: Request,
  ): void {
    if (refusal === "action_not_permitted") return this.refuseAction(connection, action, request);
    if (refusal !== "channel_not_authorized") return this.refuse(connection, refusal, request);
    const narrow = narrowForChannel(connection, channel);
    this.refuse(connection, refusal, request, `The ${narrow} does not cover this channel.`);
  }

  refuseAction(connection: Connection, action: ActionSet, request: Request): void {
    const narrow = narrowForAction(connection, action);
    this.refuse(connection, "action_not_permitted", request, `The ${narrow} does not permit this action.`);
  }

  /** A participant of a room that is not shown there. */
  refuseUnseen(connection: Connection, { claims }: RoomSeat, request: Request): void {
    this.refuse(connection, "action_not_permitted", request, unseenText(roomChannel(claims.room)));
  }

  refuse(connection: Connection, code: Code, request: Request | undefined, message?: string): void {
    if (!this.error(connection, code, request, message)) return;
    this.parts.emitter.failed(connection, code, isChannelName(request?.channel) ? request.channel : undefined);
  }

  /** Only for the client: it is not listed among refusals. */
  error(connection: Connection, code: Code, request: Request | undefined, message?: string): boolean {
    if (!connection.open) return false;
    this.parts.metrics.errors.inc();
    connection.socket.send(encode.error(code, request?.requestId, message));
    return true;
  }
}
