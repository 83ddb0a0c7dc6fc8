/** What the mesh decides by numbers: who speaks, how good a connection is, how large a picture is. */
import { describe, expect, test } from "bun:test";
import { countsOf, isPoor } from "./quality.ts";
import { cameraEncoding, heightFor } from "./resolution.ts";
import { readSignal } from "./signalling.ts";
import { SpeakerChoice } from "./speaker.ts";

describe("the speaker", () => {
  const levels = (levels: Record<string, number>): Map<string, number> => new Map(Object.entries(levels));

  /** Looks every 100 ms with the same levels; returns who speaks at the end. */
  const hear = (choice: SpeakerChoice, given: Record<string, number>, fromMs: number, toMs: number) => {
    let speaker: string | undefined;
    for (let atMs = fromMs; atMs <= toMs; atMs += 100) speaker = choice.next(levels(given), atMs);
    return speaker;
  };

  test("is the loudest for half a second", () => {
    const choice = new SpeakerChoice();
    expect(hear(choice, { ann: 0.2, bob: 0.1 }, 0, 400)).toBeUndefined();
    expect(hear(choice, { ann: 0.2, bob: 0.1 }, 500, 1000)).toBe("ann");
    expect(hear(choice, { ann: 0.1, bob: 0.3 }, 1100, 1500)).toBe("ann");
    expect(hear(choice, { ann: 0.1, bob: 0.3 }, 1600, 1600)).toBe("bob");
  });

  test("stays for a moment of silence, and not longer", () => {
    const choice = new SpeakerChoice();
    hear(choice, { ann: 0.2 }, 0, 500);
    expect(hear(choice, { ann: 0 }, 600, 2000)).toBe("ann");
    expect(hear(choice, { ann: 0 }, 2100, 6000)).toBeUndefined();
  });

  test("is no one who has left", () => {
    const choice = new SpeakerChoice();
    choice.next(levels({ ann: 0.2 }), 0);
    choice.next(levels({ ann: 0.2 }), 500);
    expect(choice.next(levels({ bob: 0 }), 750)).toBeUndefined();
  });
});

describe("quality", () => {
  const report = (lost: number, roundTrip: number): Map<string, Record<string, unknown>> =>
    new Map<string, Record<string, unknown>>([
      ["a", { type: "inbound-rtp", packetsReceived: 90, packetsLost: lost }],
      ["b", { type: "candidate-pair", nominated: true, state: "succeeded", currentRoundTripTime: roundTrip }],
      ["c", { type: "candidate-pair", nominated: false, state: "failed", currentRoundTripTime: 9 }],
    ]);

  test("is poor when packets are lost or late", () => {
    expect(isPoor(countsOf(report(0, 0.01)), undefined)).toBe(false);
    expect(isPoor(countsOf(report(10, 0.01)), undefined)).toBe(true);
    expect(isPoor(countsOf(report(0, 0.5)), undefined)).toBe(true);
  });

  test("is judged by what came since the last look", () => {
    const before = countsOf(report(10, 0.01));
    expect(isPoor({ ...before, received: before.received + 100 }, before)).toBe(false);
  });
});

test("more participants get smaller pictures, and none is made larger than it is", () => {
  expect([2, 3, 4, 5, 6].map(heightFor)).toEqual([720, 360, 360, 180, 180]);
  expect(cameraEncoding(4, 720).scaleResolutionDownBy).toBe(2);
  expect(cameraEncoding(2, 180).scaleResolutionDownBy).toBe(1);
  expect(cameraEncoding(6, 0).scaleResolutionDownBy).toBe(1);
});

describe("signals of others", () => {
  test("are read field by field", () => {
    expect(readSignal({ description: { type: "offer", sdp: "v=0", more: 1 } })).toEqual({
      description: { type: "offer", sdp: "v=0" },
    });
    expect(readSignal({ candidate: { candidate: "c", sdpMid: "0", sdpMLineIndex: "0" } })).toEqual({
      candidate: { candidate: "c", sdpMid: "0", sdpMLineIndex: null, usernameFragment: null },
    });
    expect(readSignal({ bye: true })).toEqual({ bye: true });
  });

  test.each([{}, { description: null }, { description: { type: 1, sdp: "" } }, { candidate: null }, { bye: 1 }])(
    "%j is none",
    (data) => {
      expect(readSignal(data)).toBeUndefined();
    },
  );
});
