/** What the door of a room means for this person. */
import type { Door } from "./api.ts";

/** All pages do not look at a room at the same moment. */
const OPENS_SPREAD_MS = 3000;
const LOOK_AGAIN_MS = 15_000;
/** A host may open it earlier, and the visitor looks at the page. Four visitors of one address stay within its 20 calls a minute. */
const LOOK_EARLY_MS = 12_000;
/** In a tab that is not seen, and after too many calls: longer than the service makes a page wait for those. */
const LOOK_RARELY_MS = 60_000;
const LOOK_RARELY_SPREAD_MS = 15_000;
/** A service that does not respond is asked again after that long. */
const ASK_AGAIN_MS = 5000;

/**
 * In how many milliseconds a door that was closed is looked at again; undefined: not by itself. `timeMs`: when the room opens. Clocks differ: one that
 * should be open by this clock is looked at again and again.
 */
export function looksAgainInMs(why: string, timeMs: number | undefined): number | undefined {
  if (why === "failed") return ASK_AGAIN_MS;
  const rarelyMs = LOOK_RARELY_MS + Math.random() * LOOK_RARELY_SPREAD_MS;
  if (why === "busy") return rarelyMs;
  const isHidden = globalThis.document?.hidden;
  const earlyMs = isHidden ? rarelyMs : LOOK_EARLY_MS + Math.random() * OPENS_SPREAD_MS;
  if (why !== "not_open" || timeMs === undefined) return undefined;
  return Math.min(Math.max(LOOK_AGAIN_MS, timeMs - Date.now()) + Math.random() * OPENS_SPREAD_MS, earlyMs);
}

/**
 * Why the room cannot be entered now; undefined: it may be tried. The times in an access token win over the room's: then joining says whether it is
 * open. Who is known to have been inside can go on, in a second tab too.
 */
export function closedAt(
  door: Door,
  hasToken: boolean,
  wasInside: boolean,
): "not_open" | "over" | "invitation" | undefined {
  if (door.state !== "open" && !hasToken) return door.state;
  return isStranger(door) && !door.enableRequestToJoin && !wasInside ? "invitation" : undefined;
}

/** The name of the invitation: the service takes no other. */
export const vouchedName = (door: Door | undefined): string | undefined => door?.you?.name;

/** A private room, and the person's invitation, if there is one, is for another room. */
export const isStranger = (door: Door | undefined): boolean =>
  door?.privacy === "private" && door.you?.isInvited !== true;
