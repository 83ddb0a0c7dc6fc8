/** Whom a signal or a line of the chat is counted for. */
import { isInvited } from "../../access/tokens/guests.ts";
import type { RoomClaims } from "../../access/tokens/room-token.ts";

export interface Sender {
  readonly holder: string;
  readonly isInvited: boolean;
}

/** The id of a stay would be a new one with each join. Tokens of earlier releases say nothing else, and cannot be had any more. */
export const senderOf = (claims: RoomClaims): Sender => ({
  holder: claims.holder ?? claims.id,
  isInvited: isInvited(claims),
});
