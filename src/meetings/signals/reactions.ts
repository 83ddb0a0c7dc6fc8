/** Reactions of participants: which are accepted, and how many. They are not kept, and a stay has few of them: they are shown over the faces of everyone. */
import type { RoomRefusal } from "../../access/tokens/room-access.ts";
import { Throttle } from "../../base/throttle.ts";
import { isObject, parseStrict } from "../../protocol/json.ts";
import { isReaction, REACTIONS } from "../../protocol/room-channels.ts";
import { REACTIONS_BURST, REACTIONS_PER_SECOND } from "../contract/limits.ts";

/** The longest reaction, with room for spaces. */
const JSON_MAX_CHARS = 64;

export class ReactionRule {
  private readonly rate: Throttle;

  constructor(monotonicMs: () => number) {
    this.rate = new Throttle(REACTIONS_BURST, REACTIONS_PER_SECOND, monotonicMs);
  }

  /** Also what is refused counts: parsing it costs as much. */
  refusalOf(participantSession: string, dataJson: string): RoomRefusal | undefined {
    const waitSeconds = this.rate.take(participantSession);
    if (waitSeconds > 0)
      return { code: "rate_limited", message: `Too many reactions: at most ${REACTIONS_PER_SECOND} per second.` };
    return isOne(dataJson) ? undefined : { code: "malformed_message", message: RULE };
  }
}

const RULE = `A reaction is {name}, with one of ${REACTIONS.join(", ")}.`;

function isOne(json: string): boolean {
  const strict = json.length <= JSON_MAX_CHARS ? parseStrict(json) : undefined;
  if (!strict?.ok || !isObject(strict.value)) return false;
  return Object.keys(strict.value).length === 1 && isReaction(strict.value.name);
}
