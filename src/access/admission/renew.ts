/** Whether a token may take the place of the one that a connection was made with: it must be good for a connect of the same peer. */
import type { SpaceId } from "../../base/ids.ts";
import { BLOCK_CHECK } from "../checks.ts";
import type { RoomSeat } from "../tokens/room-token.ts";
import { type AdmitParts, admitToken, type Grant, Refusal } from "./admit.ts";

/** Who a connection belongs to. A renewal cannot change that. */
export interface Identity {
  readonly spaceId: SpaceId;
  readonly peerId: string;
  /** The place of a connection in a room. */
  readonly seat?: RoomSeat | undefined;
}

/** One text for both: the holder of a token need not learn which application another key belongs to. */
export const OTHER_PEER = "The token belongs to another peer or application. Connect with it instead.";

export function renew(
  token: string,
  { spaceId, peerId, seat }: Identity,
  parts: AdmitParts,
  nowMs: number,
): Grant | Refusal {
  const admitted = admitToken(token, parts, nowMs);
  const { extraConnects } = admitted;
  if (admitted instanceof Refusal)
    // On a connection there is no answer `unauthorized`: a peer that is blocked is disconnected in a moment.
    return admitted.check === BLOCK_CHECK
      ? new Refusal("invalid_token", admitted.reason, BLOCK_CHECK, false, extraConnects)
      : admitted;
  if (admitted.spaceId === spaceId && admitted.peerId === peerId && isSameRoom(admitted.seat, seat)) return admitted;
  return new Refusal("invalid_token", OTHER_PEER, "claims", false, extraConnects);
}

const isSameRoom = (one: RoomSeat | undefined, other: RoomSeat | undefined): boolean =>
  one?.claims.room === other?.claims.room && one?.claims.kind === other?.claims.kind;
