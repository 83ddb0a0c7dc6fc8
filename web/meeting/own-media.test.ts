import { expect, test } from "bun:test";
import type { Kind } from "./call/contract.ts";
import { OwnMedia } from "./own-media.ts";
import { fakeDevices } from "./testing/fakes.ts";

class Track extends EventTarget {
  isStopped = false;

  stop(): void {
    this.isStopped = true;
  }
}

function media() {
  const opened: [Kind, Track][] = [];
  const own = new OwnMedia(
    fakeDevices((kind) => {
      const track = new Track();
      opened.push([kind, track]);
      return track as unknown as MediaStreamTrack;
    }),
  );
  return { own, opened };
}

test("a microphone is muted and stays open; a camera goes dark", async () => {
  const { own, opened } = media();
  await Promise.all([own.turnOn("audio"), own.turnOn("video")]);
  expect(own.isOn.value).toEqual({ audio: true, video: true, screen: false });
  own.turnOff("audio");
  own.turnOff("video");
  expect(own.isOn.value).toEqual({ audio: false, video: false, screen: false });
  expect(opened.map(([kind, track]) => [kind, track.isStopped])).toEqual([
    ["audio", false],
    ["video", true],
  ]);
  await own.turnOn("audio");
  expect(opened.length).toBe(2);
  expect(own.isOn.value.audio).toBe(true);
});

test("a device that opens after it was turned off is closed at once", async () => {
  const { own, opened } = media();
  const opening = own.turnOn("video");
  own.turnOff("video");
  expect(await opening).toBe(false);
  expect(opened[0]?.[1].isStopped).toBe(true);
  expect(own.isOn.value.video).toBe(false);
});

test("a camera that is unplugged, or a screen that the browser stops, is off", async () => {
  const { own, opened } = media();
  await own.turnOn("screen");
  expect(own.isOn.value.screen).toBe(true);
  opened[0]?.[1].dispatchEvent(new Event("ended"));
  expect(own.isOn.value.screen).toBe(false);
});

test("what cannot be opened is a problem until it works; to cancel the choice of a screen is none", async () => {
  let isAllowed = false;
  const own = new OwnMedia(
    fakeDevices(() => {
      if (!isAllowed) throw new Error("denied");
      return new Track() as unknown as MediaStreamTrack;
    }),
  );
  expect(await own.turnOn("audio")).toBe(false);
  await own.turnOn("screen");
  expect(own.problems.value).toEqual([{ kind: "audio", reason: "denied" }]);
  isAllowed = true;
  await own.turnOn("audio");
  expect(own.problems.value).toEqual([]);
});
