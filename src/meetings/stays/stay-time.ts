/**
 * When the time of a stay is over, by the room as it is now: the row of the stay has what was true when its last connection came in. Only nodes with a connection of
 * a stay put it out, so each call with its token asks this.
 */
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import type { MeetingStore, StayRow } from "../../store/contract/meetings.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import { ejectAtOf, ejectionOf } from "../rules/ejection.ts";

/** Unix ms; null: never. */
export async function ejectAtOfStay(
  store: Pick<MeetingStore, "firstEntry">,
  room: RoomRow,
  claims: RoomClaims,
  { meeting, accessToken, began }: StayRow,
): Promise<number | null> {
  const ejection = ejectionOf(room, claims);
  const isCounted = ejection.afterSec !== null && accessToken !== null;
  return ejectAtOf(ejection, (isCounted ? await store.firstEntry(meeting, accessToken) : undefined) ?? began);
}
