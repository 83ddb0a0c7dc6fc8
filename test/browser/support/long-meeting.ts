/** A meeting of an hour that two people recorded, and its playback in a browser. */

import { expect } from "bun:test";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { Room } from "../../conformance/raw/support/rooms.ts";
import type { Server } from "../../support/parley.ts";
import type { Backend } from "../../support/recordings.ts";
import { scratch } from "../../support/temp.ts";
import { until } from "../../support/wait.ts";
import { button, Dashboard, heading } from "./dashboard.ts";

const HOUR_S = 3600;
/** The second person came later. */
const LATER_S = 90;
const NAMES = ["Ada", "Ben"] as const;
const MINUTE_50_S = 50 * 60;

const PIECE_S = 60;

async function ffmpeg(...args: readonly string[]): Promise<void> {
  const child = Bun.spawn(["ffmpeg", "-v", "error", ...args], { stdio: ["ignore", "ignore", "pipe"] });
  const stderr = await child.stderr.text();
  if ((await child.exited) !== 0) throw new Error(`ffmpeg failed: ${stderr}`);
}

/** A picture per second and a tone, as VP8 and Opus: a minute is encoded, and repeated. */
async function hour(folder: string): Promise<Uint8Array> {
  const [piece, path] = [join(folder, "minute.webm"), join(folder, "hour.webm")];
  await ffmpeg(
    ...["-f", "lavfi", "-i", `testsrc=size=320x180:rate=1:duration=${PIECE_S}`],
    ...["-f", "lavfi", "-i", `sine=frequency=440:duration=${PIECE_S}`],
    ...["-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "100k", "-g", "5"],
    ...["-c:a", "libopus", "-b:a", "16k", piece],
  );
  await ffmpeg("-stream_loop", String(HOUR_S / PIECE_S - 1), "-i", piece, "-c", "copy", "-t", String(HOUR_S), path);
  return Bun.file(path).bytes();
}

export interface LongMeeting {
  readonly meetingSession: string;
  readonly bytes: number;
}

export async function longMeeting(backend: Backend): Promise<LongMeeting> {
  using folder = scratch();
  const bytes = await hour(folder.path);
  const room = await backend.room("allhands");
  const { join: joined, wire } = await new Room(backend.app, "allhands", room).inside({ name: NAMES[0] });
  const { meetingSession } = joined;
  wire.close();
  const startTime = Math.floor(Date.now() / 1000) - 2 * HOUR_S;
  for (const [at, participantUsername] of NAMES.entries()) {
    const from = startTime + at * LATER_S;
    const { _id, uploadUrl } = await backend.begin({ room, meetingSession, participantUsername, startTime: from });
    await backend.mustPut(uploadUrl, bytes);
    await backend.complete(_id, { endTime: from + HOUR_S });
  }
  return { meetingSession, bytes: NAMES.length * bytes.length };
}

interface State {
  /** In seconds. */
  readonly position: number;
  readonly at: readonly number[];
  readonly isPlaying: boolean;
}

const stateOf = (page: Page): Promise<State> =>
  page.evaluate<State>(`(() => {
    const all = [...document.querySelectorAll(".tile:not([hidden]) video")];
    return {
      position: document.querySelector("input.seek").valueAsNumber / 1000,
      at: all.map((one) => one.currentTime),
      isPlaying: all.length === ${NAMES.length} && all.every((one) => !one.paused && !one.seeking),
    };
  })()`);

/** Each file is where the clock is. */
const areInStep = ({ position, at }: State, withinSec: number): boolean =>
  at.length === NAMES.length && at.every((own, nth) => Math.abs(own + nth * LATER_S - position) < withinSec);

/** Opens it, goes to minute 50, and plays at twice the speed. `opened`: before anything is loaded. */
export async function playsLongMeeting(
  browser: Browser,
  server: Server,
  app: string,
  { meetingSession }: LongMeeting,
  opened: (page: Page) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  await using dashboard = await Dashboard.open(browser, server.url, { token: server.adminToken });
  const page = await dashboard.page();
  await opened(page);
  await page.goto(`${server.url}/dashboard/apps/${app}/meetings/${meetingSession}/playback`);
  await heading(page, "Playback of allhands").waitFor();
  const seek = page.getByLabel("Position in the meeting");
  const [length, whole] = [async () => Number(await seek.getAttribute("max")), (HOUR_S + LATER_S) * 1000];
  await until("both files are known", async () => (await length()) === whole);
  await seek.fill(String(MINUTE_50_S * 1000));
  await until("both files are at minute 50", async () => areInStep(await stateOf(page), 0.2));
  await page.getByLabel("Speed").selectOption("2");
  await button(page, "Play").click();
  await until("both play", async () => (await stateOf(page)).isPlaying);
  const [startedMs, before] = [performance.now(), await stateOf(page)];
  await until("20 seconds were played, in step", async () => {
    const now = await stateOf(page);
    return now.position > before.position + 20 && areInStep(now, 0.25);
  });
  // At the speed of one it would take 20 seconds.
  expect((performance.now() - startedMs) / 1000).toBeLessThan(17);
  await seek.fill("600000");
  await until("both play at minute 10", async () => {
    const now = await stateOf(page);
    return now.isPlaying && now.position < 700 && areInStep(now, 0.25);
  });
}
