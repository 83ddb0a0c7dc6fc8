import { expect, test } from "bun:test";
import { person, SILENT } from "../testing/fakes.ts";
import { focusOf, gridSize, type OnStage, tilesOf } from "./tiles.ts";

const track = (id: string) => ({ id }) as MediaStreamTrack;
const STAGE: OnStage = {
  me: { participantSession: "me", name: "Me", isAdmin: false, isGuest: false },
  people: [person("a", { state: { ...SILENT, video: true, screen: true } }), person("b")],
  tracks: [
    { participantSession: "a", kind: "video", track: track("a video") },
    { participantSession: "a", kind: "screen", track: track("a screen") },
    { participantSession: "b", kind: "video", track: track("b video") },
  ],
  own: {},
  isOwnAudioOn: true,
  isHandUp: false,
  speaker: "b",
  qualities: new Map(),
  unreached: new Map(),
};

test("screens first, then the others, then oneself; a camera that is off leaves no picture", () => {
  const tiles = tilesOf(STAGE);
  expect(tiles.map(({ key }) => key)).toEqual(["a screen", "a camera", "b camera", "me camera"]);
  expect(tiles.map((one) => one.track?.id)).toEqual(["a screen", "a video", undefined, undefined]);
  expect(tiles.map(({ isMuted }) => isMuted)).toEqual([true, true, false, false]);
  expect(tiles.map(({ isSpeaking }) => isSpeaking)).toEqual([false, false, true, false]);
});

test("large: what is pinned, else a screen, else who speaks", () => {
  const tiles = tilesOf(STAGE);
  const cameras = tiles.filter(({ kind }) => kind === "camera");
  const view = { pinned: undefined, layout: "speaker", lastSpeaker: "b" } as const;
  expect(focusOf(tiles, { ...view, pinned: "me camera" })?.key).toBe("me camera");
  expect(focusOf(tiles, { ...view, layout: "grid" })?.key).toBe("a screen");
  expect(focusOf(cameras, view)?.key).toBe("b camera");
  expect(focusOf(cameras, { ...view, lastSpeaker: undefined })?.key).toBe("a camera");
  expect(focusOf(cameras, { ...view, layout: "grid", pinned: "gone" })).toBeUndefined();
});

test.each([1, 2, 3, 4, 6, 9, 12])("%i tiles fit into a wide and into a narrow space", (count) => {
  for (const [width, height] of [
    [1400, 720],
    [344, 580],
    [344, 100],
  ] as const) {
    const size = gridSize(count, width, height, 12);
    const rows = Math.ceil(count / size.columns);
    expect(size.columns * size.width + (size.columns - 1) * 12).toBeLessThanOrEqual(width);
    expect(rows * size.height + (rows - 1) * 12).toBeLessThanOrEqual(height);
    expect(size.width).toBeGreaterThan(0);
  }
  expect(gridSize(count, 0, 0, 12).width).toBeLessThanOrEqual(0);
});

test("one's own screen is no tile", () => {
  const keys = tilesOf({ ...STAGE, own: { screen: track("my screen") } }).map(({ key }) => key);
  expect(keys).toEqual(["a screen", "a camera", "b camera", "me camera"]);
});

test("four on a phone are two by two", () => {
  const { columns, width, height } = gridSize(4, 374, 560, 12);
  expect([columns, width, height]).toEqual([2, 181, 274]);
});

test("two tiles beside each other are higher than 16:9, so that less of the window is empty", () => {
  expect(gridSize(2, 1212, 700, 12)).toEqual({ columns: 2, width: 600, height: 450 });
});
