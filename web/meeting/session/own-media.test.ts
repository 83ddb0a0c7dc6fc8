import { afterEach, expect, test } from "bun:test";
import type { Kind } from "../call/contract.ts";
import * as devices from "../call/devices.ts";
import { fakeDevices } from "../testing/fakes.ts";
import { OwnMedia } from "./own-media.ts";

const real = {
  navigator: globalThis.navigator,
  document: globalThis.document,
  isSecureContext: globalThis.isSecureContext,
};

function withBrowser(navigator: object, isSecure = true): void {
  const given = { navigator, document: {}, isSecureContext: isSecure };
  for (const [name, value] of Object.entries(given))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

afterEach(() => {
  for (const [name, value] of Object.entries(real))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
});

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

test("the reason is the one that the browser has given, of each device", async () => {
  const cases = [
    ["NotAllowedError", "Permission denied", "denied"],
    ["NotAllowedError", "Permission denied by system", "system"],
    ["SecurityError", "", "denied"],
    ["NotFoundError", "", "none"],
    ["NotReadableError", "", "busy"],
    ["OverconstrainedError", "", "failed"],
    ["AbortError", "", "failed"],
  ] as const;
  for (const kind of ["video", "audio"] as const)
    for (const [name, message, reason] of cases) {
      const getUserMedia = () => Promise.reject(new DOMException(message, name));
      withBrowser({
        mediaDevices: { getUserMedia, enumerateDevices: async () => [], addEventListener: () => undefined },
      });
      const own = new OwnMedia(devices);
      await own.turnOn(kind);
      expect(own.problems.value).toEqual([{ kind, reason }]);
    }
  for (const [isSecure, reason] of [
    [true, "unsupported"],
    [false, "insecure"],
  ] as const) {
    withBrowser({}, isSecure);
    const own = new OwnMedia(devices);
    await own.turnOn("video");
    expect(own.problems.value).toEqual([{ kind: "video", reason }]);
  }
});

test("what cannot be opened is a problem until it works; to cancel the choice of a screen is none", async () => {
  let isAllowed = false;
  const own = new OwnMedia(
    fakeDevices(() => {
      if (!isAllowed) throw new devices.DeviceError("denied");
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
