import { expect, test } from "bun:test";
import type { Recording } from "../api/room-types.ts";
import { isAt, isSpeaking, pathOf, speechFrom, startOfTurn, ticksOf, timelineOf, turnsOf } from "./timeline.ts";

const recording = (_id: string, fields: Partial<Recording> = {}): Recording => ({
  _id,
  room: "r",
  roomName: "standup",
  participantSession: "p1",
  meetingSession: "m",
  participantUsername: "Ann",
  downloadName: `${_id}.webm`,
  sizeInBytes: 1,
  type: "video",
  startTime: 100,
  endTime: 110,
  completed: 200,
  ...fields,
});

test("recordings are on one clock, by the millisecond where it is known, and in the lane of their person", () => {
  const ben = { participantSession: "p2", participantUsername: "Ben" };
  const { startMs, length, lanes, tracks } = timelineOf(
    [
      recording("later", { startTime: 130, endTime: 130 }),
      recording("ben", { ...ben, startTimeMs: 100_900, type: "audio", endTime: 125 }),
      recording("ann", { startTimeMs: 100_250, mended: true }),
      recording("screen", { startTime: 104, endTime: 112, type: "screen" }),
    ],
    [],
  );
  expect(startMs).toBe(100_250);
  expect(lanes.map(({ name, tracks }) => [name, tracks.map(({ id }) => id)])).toEqual([
    ["Ann", ["ann", "screen", "later"]],
    ["Ben", ["ben"]],
  ]);
  expect(tracks.map(({ id, from, to }) => [id, from, to])).toEqual([
    ["ann", 0, 10_500],
    ["ben", 650, 25_650],
    ["screen", 3750, 11_750],
    // A second, because its length is unknown.
    ["later", 29_750, 30_750],
  ]);
  expect(length).toBe(30_750);
  expect(tracks.map(({ isLarge, hasPicture }) => [isLarge, hasPicture])).toEqual([
    [false, true],
    [false, false],
    [true, true],
    [false, true],
  ]);
  expect(tracks.filter((one) => isAt(one, 10_500)).map(({ id }) => id)).toEqual(["ben", "screen"]);
  expect(timelineOf([], [])).toEqual({ startMs: 0, length: 0, lanes: [], tracks: [] });
});

test("speech of several files of a person is joined, and what was not measured is not silence", () => {
  const { lanes } = timelineOf(
    [
      recording("a"),
      recording("b", { startTime: 105, endTime: 120 }),
      recording("c", { participantSession: "p2" }),
      recording("d", { participantSession: "p3" }),
    ],
    [
      {
        _id: "a",
        intervals: [
          [1000, 2000],
          [5500, 6000],
        ],
      },
      { _id: "b", intervals: [[700, 3000]] },
      { _id: "c", intervals: null },
      { _id: "d", intervals: [] },
    ],
  );
  expect(lanes.map(({ spoken, spokenMs }) => [spoken, spokenMs])).toEqual([
    [
      [
        [1000, 2000],
        [5500, 8000],
      ],
      3500,
    ],
    [undefined, 0],
    [[], 0],
  ]);
  const [ann] = lanes;
  expect(ann && [900, 1000, 1999, 2000].map((at) => isSpeaking(ann, at))).toEqual([false, true, true, false]);
});

test("jumps go to where someone begins to speak, a moment before", () => {
  const { lanes } = timelineOf(
    [recording("a", { endTime: 160 }), recording("b", { participantSession: "p2", endTime: 160 })],
    [
      {
        _id: "a",
        intervals: [
          [10_000, 12_000],
          [40_000, 41_000],
        ],
      },
      { _id: "b", intervals: [[20_000, 30_000]] },
    ],
  );
  expect(speechFrom(lanes, 0, 1)).toBe(9500);
  expect(speechFrom(lanes, 9500, 1)).toBe(19_500);
  expect(speechFrom(lanes, 39_500, 1)).toBeUndefined();
  // Shortly after the beginning of one it is the one before.
  expect(speechFrom(lanes, 19_600, -1)).toBe(9500);
  expect(speechFrom(lanes, 25_000, -1)).toBe(19_500);
  expect(speechFrom(lanes, 5000, -1)).toBeUndefined();
  expect(speechFrom(lanes.slice(1), 0, 1)).toBe(19_500);
  expect(speechFrom([], 0, 1)).toBeUndefined();
});

test("a lane of very many intervals is drawn with as many rectangles as can be seen", () => {
  expect(
    pathOf(
      [
        [0, 1000],
        [5000, 10_000],
      ],
      10_000,
    ),
  ).toBe("M0 0H200V1H0ZM1000 0H2000V1H1000Z");
  // Too short to be seen.
  expect(pathOf([[0, 1]], 10_000_000)).toBe("M0 0H1V1H0Z");
  const many = Array.from({ length: 20_000 }, (_, n) => [n * 1000, n * 1000 + 500] as const);
  expect(pathOf(many, 20_000_000).split("M").length).toBeLessThan(2001);
  expect(pathOf([], 0)).toBe("");
});

test("speech ends with its file, whose length is known once it has been mended", () => {
  const speech = (_id: string) => ({
    _id,
    intervals: [
      [8000, 12_000],
      [12_500, 13_000],
    ] as const,
  });
  const { lanes } = timelineOf(
    [recording("a", { mended: true }), recording("b", { participantSession: "p2" })],
    [speech("a"), speech("b")],
  );
  expect(lanes.map(({ spoken }) => spoken)).toEqual([
    [[8000, 10_500]],
    [
      [8000, 12_000],
      [12_500, 13_000],
    ],
  ]);
  expect(lanes[0]?.spokenMs).toBe(2500);
});

test("turns are listed in order, and short pauses do not end them", () => {
  const { lanes } = timelineOf(
    [recording("a", { endTime: 160 }), recording("b", { participantSession: "p2", endTime: 160 })],
    [
      {
        _id: "a",
        intervals: [
          [100, 2000],
          [4500, 6000],
          [30_000, 31_000],
        ],
      },
      { _id: "b", intervals: [[5000, 9000]] },
    ],
  );
  const turns = turnsOf(lanes);
  expect(turns.map(({ lane, from, to }) => [lane.id, from, to])).toEqual([
    ["p1", 100, 6000],
    ["p2", 5000, 9000],
    ["p1", 30_000, 31_000],
  ]);
  expect(turns.map(startOfTurn)).toEqual([0, 4500, 29_500]);
});

test("an axis has round times, and few of them", () => {
  expect(ticksOf(383_000)).toEqual([0, 120_000, 240_000, 360_000]);
  expect(ticksOf(4000)).toEqual([0, 1000, 2000, 3000, 4000]);
  expect(ticksOf(0)).toEqual([0]);
  for (const hours of [1, 5, 24, 100]) expect(ticksOf(hours * 3_600_000).length).toBeLessThanOrEqual(7);
});
