/** Whom a message is counted for (counting/quota.ts). */
import { isInvited } from "../../access/tokens/guests.ts";
import { isRoomSpace, type SpaceId } from "../../base/ids.ts";
import { roomChannelKind } from "../../protocol/room-channels.ts";
import type { Payer } from "../counting/quota.ts";
import type { Connection } from "../state/connection.ts";

/** `sender`: the connection that it comes from, absent for REST and for the service itself. Asked for every message. */
export function payerOf(spaceId: SpaceId, channel: string, sender: Connection | undefined): Payer {
  if (sender === undefined) return isNotice(spaceId, channel) ? "service" : "app";
  const { seat } = sender;
  return seat === undefined || isInvited(seat.claims) ? "app" : "guests";
}

/**
 * The same of a message that was stored after its publisher had got an error. Its connection may have ended: then a message of a room
 * is counted for the guests, because what a guest sends must not be left out.
 */
export function latePayerOf(
  spaceId: SpaceId,
  channel: string,
  id: string | undefined,
  sender: Connection | undefined,
): Payer {
  return id !== undefined && sender === undefined && isRoomSpace(spaceId)
    ? "guests"
    : payerOf(spaceId, channel, sender);
}

/** In the chat of a room, what has no connection is a line of the application's server; on the other channels it is the service that speaks. */
const isNotice = (spaceId: SpaceId, channel: string): boolean =>
  isRoomSpace(spaceId) && roomChannelKind(channel) !== "chat";
