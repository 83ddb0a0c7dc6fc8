/** Part of the suite of every store: whether a meeting is being recorded (meetings.ts). */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { MeetingStore } from "../contract/meetings.ts";
import type { Store } from "../contract/store.ts";
import { entering, inside } from "./meetings.ts";
import { type NewPlace, withApps } from "./places.ts";

const A = anAppId("a");

export function meetingRecordingsSuite(newPlace: NewPlace): void {
  let store: Store;
  let meetings: MeetingStore;
  beforeAll(async () => {
    store = await withApps(await newPlace());
    meetings = store.meetings;
  });
  afterAll(() => store.close());

  /** As all reads show it: they must agree, also those from memory. */
  const recordingIn = async (room: string): Promise<unknown> => {
    const current = await meetings.current(A, room);
    const latest = await meetings.latest(A, room);
    const [listed] = (await meetings.meetings(A, { room, limit: 1 }))?.rows ?? [];
    expect(latest).toEqual(current);
    expect(listed).toEqual(current);
    expect(current && (await meetings.meeting(A, current.id))).toEqual(current);
    return current?.recording;
  };

  describe("the recording of a meeting", () => {
    test("begins once, in one name, and ends once", async () => {
      const { meeting } = inside(await meetings.enter(entering("r1", "recorded"), 3, 1000));
      expect(meeting).toMatchObject({ recording: null, recordingStopped: null });
      expect(await recordingIn("recorded")).toBeNull();
      expect(await meetings.setRecording(meeting.id, null, 1500)).toBe(false);
      const all = await Promise.all(["Ann", "Ben", ""].map((by) => meetings.setRecording(meeting.id, by, 2000)));
      expect(all.filter(Boolean)).toHaveLength(1);
      const by = ["Ann", "Ben", ""][all.indexOf(true)];
      expect(await recordingIn("recorded")).toEqual({ by, since: 2000 });
      expect(await meetings.setRecording(meeting.id, "Cem", 3000)).toBe(false);
      expect(await recordingIn("recorded")).toEqual({ by, since: 2000 });
      // A client that enters, or comes back, sees it too.
      expect(inside(await meetings.enter(entering("r2", "recorded"), 3, 3500)).meeting.recording).toEqual({
        by: by ?? "",
        since: 2000,
      });
      expect(inside(await meetings.enter(entering("r1", "recorded"), 3, 3500)).meeting.recording?.since).toBe(2000);
      const ends = await Promise.all([1, 2].map(() => meetings.setRecording(meeting.id, null, 4000)));
      expect(ends.filter(Boolean)).toHaveLength(1);
      expect(await recordingIn("recorded")).toBeNull();
      expect((await meetings.current(A, "recorded"))?.recordingStopped).toBe(4000);
    });

    test("begins with the meeting where the room says so, and ends with it", async () => {
      const first = entering("r3", "always", { recordsFrom: "" });
      const { meeting } = inside(await meetings.enter(first, 3, 1000));
      expect(meeting.recording).toEqual({ by: "", since: 1000 });
      expect(await recordingIn("always")).toEqual({ by: "", since: 1000 });
      expect(await meetings.setRecording(meeting.id, null, 2000)).toBe(true);
      // Only a new meeting begins with it.
      await meetings.enter(entering("r4", "always", { recordsFrom: "" }), 3, 3000);
      expect(await recordingIn("always")).toBeNull();
      expect(await meetings.setRecording(meeting.id, "Ann", 4000)).toBe(true);
      for (const id of ["r3", "r4"]) await meetings.end(id, "left", 5000);
      expect(await meetings.endMeeting(meeting.id)).toMatchObject({ recording: null, recordingStopped: 5000 });
      expect((await meetings.meeting(A, meeting.id))?.recording).toBeNull();
      expect(await meetings.setRecording(meeting.id, "Ann", 6000)).toBe(false);
      expect(await meetings.setRecording("none", "Ann", 6000)).toBe(false);
      expect(inside(await meetings.enter(entering("r5", "always"), 3, 7000)).meeting.recording).toBeNull();
    });
  });
}
