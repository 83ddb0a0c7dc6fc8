/**
 * The id of a room's next meeting, which joins announce before it begins. It is made of the room and of its meeting before, so that people
 * who join at the same moment, on any node, get the same one.
 */
import { digestOf } from "../../access/keys/vault.ts";
import type { MeetingRow } from "../../store/contract/meetings.ts";

const TIME_DIGITS = 12;
const DIGEST_DIGITS = 12;

/** `last` is the room's latest meeting, which has ended. */
export function nextMeetingId(room: string, last: MeetingRow | undefined): string {
  // Object ids begin with a time. That of the join would differ between two people.
  const time = last ? (last.ended ?? last.began).toString(16).padStart(TIME_DIGITS, "0") : room.slice(0, TIME_DIGITS);
  return time + digestOf(`meeting of ${room} after ${last?.id ?? "none"}`).slice(0, DIGEST_DIGITS);
}
