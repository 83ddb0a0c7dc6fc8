/** Reactions are shown for a few seconds, on the tile of the person who has sent them. */
import { REACTIONS, type Reaction } from "../../../src/protocol/room-channels.ts";
import type { TextKey } from "../texts/en.ts";
import type { Session } from "./session.ts";

export const REACTION_SIGNS: Readonly<Record<Reaction, string>> = {
  thumbsup: "👍",
  clap: "👏",
  heart: "❤️",
  laugh: "😂",
  wow: "😮",
  party: "🎉",
};

export const REACTION_TEXTS: Readonly<Record<Reaction, TextKey>> = {
  thumbsup: "reactThumbsUp",
  clap: "reactClap",
  heart: "reactHeart",
  laugh: "reactLaugh",
  wow: "reactWow",
  party: "reactParty",
};

export { REACTIONS };

const SHOWN_MS = 4000;
/** Ten people may send two per second each. */
const AT_ONCE_MAX = 40;
let last = 0;

export function showReaction({ reactions }: Session, participantSession: string, name: Reaction): void {
  const id = ++last;
  reactions.value = [...reactions.value, { id, participantSession, name }].slice(-AT_ONCE_MAX);
  setTimeout(() => {
    reactions.value = reactions.value.filter((one) => one.id !== id);
  }, SHOWN_MS);
}
