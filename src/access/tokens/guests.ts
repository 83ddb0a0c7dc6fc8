/**
 * Guests of rooms: people without an access token for the room whom no admin has let in, and visitors who wait in its lobby. Anyone can be one, as often as
 * wanted. So of what a plan gives to an application (messages, connections, bytes of recordings) all guests together have at most half: the rest is left
 * for the application's own clients and for the people it has invited.
 */
import type { RoomClaims } from "./room-token.ts";

/** It has an access token for this room, or an admin has let it in. With one of another room it is a guest with a name. */
export const isInvited = ({ opens, isLetIn }: RoomClaims): boolean => opens !== undefined || isLetIn === true;

/** Rounded up: under a cap of 1 a room can still be entered by a guest. */
export const guestShareOf = (cap: number): number => Math.ceil(cap / 2);
