/** How a member goes when its connection ends (history 4). */
import {
  type Closing,
  type Departure,
  GOING_AWAY,
  KEY_REVOKED,
  KICKED,
  RESYNC,
  TOKEN_EXPIRED,
} from "../../protocol/close.ts";
import { PUT_OUT, STAY_OVER } from "../../protocol/put-out.ts";

/** The client sends this to say goodbye; a page that is reloaded sends 1001. */
const NORMAL = 1000;

/** The client has closed, or its network connection has ended. */
export const departureByClient = (code: number): Departure => (code === NORMAL ? "goodbye" : "lost");

export function departureByService(closing: Closing): Departure {
  switch (closing) {
    case GOING_AWAY:
    case RESYNC:
    case TOKEN_EXPIRED:
      return "held";
    case KEY_REVOKED:
    case KICKED:
    case PUT_OUT.time:
    case PUT_OUT.ended:
    case PUT_OUT.removed:
    // Who comes back after these is another participant.
    case STAY_OVER.left:
    case STAY_OVER.lost:
      return "goodbye";
    // Among these the one that a newer connection has replaced: until that one subscribes, its peer must not be seen to leave.
    default:
      return "lost";
  }
}

/**
 * The order in which the service closes several connections at once: a peer that is held is shown as its last connection, and the
 * newest one counts (history 4). In another order its earlier metadata and state would be shown again.
 */
export const oldestFirst = <T extends { readonly connectedMs: number }>(connections: Iterable<T>): T[] =>
  [...connections].sort((one, other) => one.connectedMs - other.connectedMs);
