/** What an application that stores more than it may has to lose, and where: of its own channels, and of its rooms. */
import { type AppId, roomSpaceOf, type SpaceId, spaceOf } from "../../base/ids.ts";
import { ROOMS_SHARE } from "./limits.ts";

export interface Excess {
  /** The application's own channels, or its rooms. */
  readonly spaceId: SpaceId;
  readonly bytes: number;
}

/**
 * Guests write in rooms without any credential, and must not push out what the application has stored: rooms lose first, until they are down to
 * their share. They keep that much: the application's own channels do not push out the chats either.
 */
export function excessOf(app: AppId, ownBytes: number, roomBytes: number, maxBytes: number): readonly Excess[] {
  const over = Math.ceil(ownBytes + roomBytes - maxBytes);
  // Also for an application without a limit, of which there is no share.
  if (over <= 0) return [];
  const ofRooms = Math.min(over, Math.max(roomBytes - Math.floor(maxBytes * ROOMS_SHARE), 0));
  return [
    { spaceId: roomSpaceOf(app), bytes: ofRooms },
    { spaceId: spaceOf(app), bytes: over - ofRooms },
  ].filter(({ bytes }) => bytes > 0);
}
