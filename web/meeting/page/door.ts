/** What the door of a room means for this visitor. */
import type { Door } from "./api.ts";

/** The name of the invitation: the service takes no other. */
export const vouchedName = (door: Door | undefined): string | undefined => door?.you?.name;

/** A private room, and the visitor's invitation, if there is one, is for another room. */
export const isStranger = (door: Door | undefined): boolean =>
  door?.privacy === "private" && door.you?.isInvited !== true;
