/** Whom a signal or a line of the chat is counted for. */
import type { RoomClaims } from "../../access/tokens/room-token.ts";

export interface Sender {
  readonly holder: string;
  /** It has an access token for this room, or an admin has let it in. With one of another room it is a guest with a name. */
  readonly isInvited: boolean;
}

/** The id of a stay would be a new one with each join. Tokens of earlier releases say nothing else, and cannot be had any more. */
export const senderOf = ({ holder, id, opens, isLetIn }: RoomClaims): Sender => ({
  holder: holder ?? id,
  isInvited: opens !== undefined || isLetIn === true,
});
