import { expect, test } from "bun:test";
import { MeetingPlayer, type PlayedMedia } from "./meeting-player.ts";
import type { Timeline, Track } from "./timeline.ts";

/** Plays on the test's clock, a little too fast or slow. */
class FakeMedia implements PlayedMedia {
  currentTime = 0;
  playbackRate = 1;
  muted = false;
  paused = true;
  ended = false;
  seeking = false;
  readyState = 4;
  duration = Number.POSITIVE_INFINITY;
  seeks = 0;
  /** How fast its own clock is. */
  clock = 1;

  constructor() {
    let at = 0;
    Object.defineProperty(this, "currentTime", {
      get: () => at,
      set: (seconds: number) => {
        at = seconds;
        this.seeks++;
      },
    });
    this.goOn = (ms) => {
      if (!this.paused && this.readyState >= 3) at += (ms / 1000) * this.playbackRate * this.clock;
    };
  }

  goOn: (ms: number) => void;

  async play(): Promise<void> {
    this.paused = false;
  }

  pause(): void {
    this.paused = true;
  }
}

const track = (id: string, from: number, to: number): Track =>
  ({ id, lane: `lane-${id}`, isLarge: false, hasPicture: true, from, to }) as unknown as Track;

class World {
  nowMs = 0;
  readonly media = new Map<string, FakeMedia>();
  readonly player: MeetingPlayer;

  constructor(...tracks: readonly Track[]) {
    const length = Math.max(...tracks.map(({ to }) => to));
    this.player = new MeetingPlayer({ startMs: 0, length, lanes: [], tracks } as Timeline, () => this.nowMs);
    for (const one of tracks) {
      const media = new FakeMedia();
      this.media.set(one.id, media);
      this.player.attach(one, media);
    }
  }

  of(id: string): FakeMedia {
    const media = this.media.get(id);
    if (!media) throw new Error(`there is no ${id}`);
    return media;
  }

  run(seconds: number): void {
    for (let n = 0; n < seconds * 10; n++) {
      this.nowMs += 100;
      for (const media of this.media.values()) media.goOn(100);
      this.player.tick();
    }
  }

  /** How far a file is from its place, in ms. */
  drift(id: string, from: number): number {
    return Math.abs(this.of(id).currentTime * 1000 + from - this.player.position.value);
  }
}

test("files begin at their time, and end at theirs", () => {
  const world = new World(track("a", 0, 10_000), track("b", 4000, 8000));
  world.player.play();
  world.run(2);
  expect([world.of("a").paused, world.of("b").paused]).toEqual([false, true]);
  world.run(3);
  expect([world.of("a").paused, world.of("b").paused]).toEqual([false, false]);
  expect(world.drift("b", 4000)).toBeLessThan(200);
  world.run(4);
  expect([world.of("a").paused, world.of("b").paused]).toEqual([false, true]);
  world.run(2);
  expect([world.player.isPlaying.value, world.player.position.value]).toEqual([false, 10_000]);
  expect(world.of("a").paused).toBe(true);
  // From the beginning.
  world.player.play();
  expect(world.player.position.value).toBe(0);
});

test("files with clocks of their own stay in step, without seeks", () => {
  const world = new World(track("a", 0, 600_000), track("b", 500, 600_000));
  world.of("a").clock = 1.02;
  world.of("b").clock = 0.98;
  world.player.play();
  world.run(5);
  const seeks = world.of("a").seeks + world.of("b").seeks;
  for (let n = 0; n < 60; n++) {
    world.run(5);
    expect(world.drift("a", 0)).toBeLessThan(100);
    expect(world.drift("b", 500)).toBeLessThan(100);
  }
  expect(world.of("a").seeks + world.of("b").seeks).toBe(seeks);
});

test("all seek together, playing or not, also before and behind a file", () => {
  const world = new World(track("a", 0, 60_000), track("b", 20_000, 40_000));
  world.player.seek(30_000);
  expect([world.of("a").currentTime, world.of("b").currentTime]).toEqual([30, 10]);
  world.player.play();
  world.run(1);
  world.player.seek(25_000);
  expect([world.of("a").currentTime, world.of("b").currentTime]).toEqual([25, 5]);
  world.run(1);
  expect(world.drift("b", 20_000)).toBeLessThan(200);
  world.player.seek(10_000);
  expect([world.of("b").paused, world.of("b").currentTime]).toEqual([true, 0]);
  world.player.seek(1e9);
  expect(world.player.position.value).toBe(60_000);
  world.player.seek(-5);
  expect(world.player.position.value).toBe(0);
});

test("a file that waits for bytes holds all others, and they go on together", () => {
  const world = new World(track("a", 0, 60_000), track("b", 0, 60_000));
  world.player.play();
  world.run(5);
  world.of("b").readyState = 2;
  world.run(3);
  expect([world.player.isWaiting.value, world.of("a").paused, world.player.isPlaying.value]).toEqual([
    true,
    true,
    true,
  ]);
  const held = world.player.position.value;
  expect(held).toBeLessThan(5200);
  world.of("b").readyState = 4;
  world.run(2);
  expect([world.player.isWaiting.value, world.of("a").paused]).toEqual([false, false]);
  expect(world.player.position.value).toBeGreaterThan(held + 1500);
  for (const id of ["a", "b"]) expect(world.drift(id, 0)).toBeLessThan(200);
});

test("a file that seeks is not paused before it is there: Chromium would never end the seek", () => {
  const world = new World(track("a", 0, 60_000), track("b", 0, 60_000));
  world.player.play();
  world.run(1);
  Object.assign(world.of("b"), { seeking: true, readyState: 1 });
  world.player.seek(30_000);
  world.run(1);
  expect([world.of("a").paused, world.of("b").paused]).toEqual([true, false]);
  world.player.pause();
  expect(world.of("b").paused).toBe(false);
  Object.assign(world.of("b"), { seeking: false, readyState: 4 });
  world.run(1);
  expect(world.of("b").paused).toBe(true);
});

test("a file that gets no bytes at all holds the others for ten seconds, and no longer", () => {
  const world = new World(track("a", 0, 60_000), track("b", 0, 60_000));
  world.of("b").readyState = 0;
  world.player.play();
  world.run(9);
  expect(world.player.position.value).toBe(0);
  world.run(6);
  expect(world.player.position.value).toBeGreaterThan(4000);
  expect(world.of("a").paused).toBe(false);
  // When it has some at last, it takes its place.
  world.of("b").readyState = 4;
  world.run(2);
  expect(world.drift("b", 0)).toBeLessThan(200);
});

test("a file that cannot be played does not stop the others", () => {
  const world = new World(track("a", 0, 60_000), track("b", 0, 60_000));
  world.of("b").readyState = 0;
  world.player.fail("b");
  world.player.play();
  world.run(3);
  expect(world.player.position.value).toBeGreaterThan(2500);
  expect([...world.player.broken.value]).toEqual(["b"]);
  expect([world.of("a").paused, world.of("b").paused]).toEqual([false, true]);
});

test("a file that is shorter than expected ends, and the others go on", () => {
  const world = new World(track("a", 0, 60_000), track("b", 0, 60_000));
  world.of("b").duration = 5;
  world.player.play();
  world.run(10);
  expect([world.of("a").paused, world.of("b").paused]).toEqual([false, true]);
  expect(world.player.position.value).toBeGreaterThan(9000);
});

test("a file that cannot seek is not sought again and again", () => {
  const world = new World(track("a", 0, 60_000), track("b", 0, 60_000));
  const stuck = world.of("b");
  stuck.goOn = () => undefined;
  const before = stuck.seeks;
  world.player.play();
  world.run(15);
  expect(stuck.seeks - before).toBeLessThan(12);
  expect(world.player.position.value).toBeGreaterThan(14_000);
});

test("speed and mute apply to files that come later, too", () => {
  const world = new World(track("a", 0, 60_000), track("b", 10_000, 60_000));
  world.player.setMuted("lane-a", true);
  world.player.setRate(2);
  world.player.play();
  world.run(10);
  expect(world.player.position.value).toBe(20_000);
  for (const [id, from] of [
    ["a", 0],
    ["b", 10_000],
  ] as const) {
    expect(world.drift(id, from)).toBeLessThan(200);
    expect(world.of(id).playbackRate).toBeCloseTo(2, 0);
  }
  const late = new FakeMedia();
  world.player.attach(track("a", 0, 60_000), late);
  expect([late.muted, world.of("b").muted]).toEqual([true, false]);
  world.player.setMuted("lane-a", false);
  expect(late.muted).toBe(false);
});

test("a jump to a person marks them until they have spoken for a moment, and another seek ends that", () => {
  const world = new World(track("a", 0, 60_000));
  const { player } = world;
  player.seek(10_000, "lane-a");
  expect(player.asked.value).toBe("lane-a");
  player.play();
  world.run(1.5);
  expect(player.asked.value).toBe("lane-a");
  world.run(1);
  expect(player.asked.value).toBeUndefined();
  player.seek(20_000, "lane-a");
  player.seek(5000);
  expect(player.asked.value).toBeUndefined();
});
