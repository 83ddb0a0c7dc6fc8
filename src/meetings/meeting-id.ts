/**
 * The id of a room's next meeting, which joins announce before it begins. It is made of the room and of its meeting before, so that people
 * who join at the same moment, on any node, get the same one.
 */
import { digestOf } from "../access/vault.ts";
import type { MeetingStore } from "../store/meetings.ts";

const TIME_DIGITS = 12;
const DIGEST_DIGITS = 12;

export async function nextMeetingId(
  store: Pick<MeetingStore, "meetings">,
  app: string,
  room: string,
  nowMs: number,
): Promise<string> {
  const last = (await store.meetings(app, { room, limit: 1 }))?.rows[0];
  // Object ids begin with a time. That of the join would differ between two people.
  const time = last?.ended ?? last?.began ?? Number.parseInt(room.slice(0, TIME_DIGITS), 16);
  const prefix = (Number.isSafeInteger(time) ? time : nowMs).toString(16).padStart(TIME_DIGITS, "0");
  return prefix + digestOf(`meeting of ${room} after ${last?.id ?? "none"}`).slice(0, DIGEST_DIGITS);
}
