/** Files that are made to harm the process that mends them, and that process itself: killed, stopped, and out of memory. */
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { hostileFiles } from "../../src/recordings/mending/testing/hostile-files.ts";
import { liveWebm } from "../../src/recordings/mending/testing/live-webm.ts";
import { ROOMS_ENV } from "../conformance/raw/support/rooms.ts";
import { serverForTests } from "../support/for-tests.ts";
import { call } from "../support/http.ts";
import { menderOf, signalMender } from "../support/menders.ts";
import type { Server } from "../support/parley.ts";
import { sha256 } from "../support/recordings.ts";
import { isInSample } from "../support/sample.ts";
import { IS_FULL } from "../support/slack.ts";
import { Recorder, recordedRoom } from "./support/recorder.ts";
import { shortLimits } from "./support/short-limits.ts";

setDefaultTimeout(900_000);

const MIB = 1024 * 1024;
const ENV = { ...ROOMS_ENV, PARLEY_REST_REQUESTS_PER_SECOND: "0" };
/** Long enough for a file that can be mended, also on a busy machine. */
const MEND_MS = 12_000;

const server = await serverForTests({ env: { ...ENV, ...shortLimits({ mendMs: MEND_MS }) } });
const cramped = await serverForTests({ env: { ...ENV, ...shortLimits({ mendMemoryBytes: 20 * MIB }) } });

const pageOn = async (where: Server): Promise<Recorder> => Recorder.in(await recordedRoom(where));

/** Mending it takes a while. */
const LARGE = liveWebm({ seconds: 240, frameBytes: 4000 });
const GOOD = liveWebm({ seconds: 4 });

const reasonOf = async (where: Server, id: string): Promise<string> =>
  (await where.logged(({ recording, msg }) => recording === id && msg.includes("listed unchanged"))).msg;

/** The service goes on, mends what comes next, and leaves nothing of its own. */
async function isWell(where: Server, mends = true): Promise<void> {
  expect((await call(`${where.url}/healthz`)).status).toBe(200);
  const ann = await pageOn(where);
  const next = async () => ann.listed(await ann.send(GOOD));
  let listed = await next();
  // A process that mends yields to all others: where they take the whole machine, its time may end.
  for (let tries = 0; tries < 4 && mends && !listed.mended; tries++) {
    expect(await reasonOf(where, listed._id)).toContain("not done after");
    listed = await next();
  }
  expect(listed.mended).toBe(mends);
  const folder = join(where.data, "mending");
  expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
}

interface Struck {
  readonly run: Awaited<ReturnType<Recorder["send"]>>;
  readonly mender: number;
}

/** Sends a recording, and a signal to the process that mends it. On a busy machine that may have ended before it is found: then once more. */
async function strike(ann: Recorder, signal: NodeJS.Signals): Promise<Struck> {
  for (let tries = 0; tries < 5; tries++) {
    const run = await ann.send(LARGE);
    const mender = await menderOf(server.pid, MEND_MS);
    if (mender !== undefined && signalMender(mender, signal)) return { run, mender };
    await ann.listed(run);
  }
  throw new Error("the process that mends was never found");
}

describe("the process that mends", () => {
  afterEach(() => isWell(server));

  test("is killed: the file is listed as it came, with a reason in the log", async () => {
    const ann = await pageOn(server);
    const { run } = await strike(ann, "SIGKILL");
    expect(await ann.listed(run)).toMatchObject({ mended: false, sizeInBytes: LARGE.length });
    expect(sha256(await ann.bytes(run))).toBe(sha256(LARGE));
    expect(await reasonOf(server, run._id)).toContain("without a result");
  });

  test.if(IS_FULL)("is stopped: its time ends, and the file is listed as it came", async () => {
    const ann = await pageOn(server);
    const { run, mender } = await strike(ann, "SIGSTOP");
    // The service answers meanwhile.
    expect((await call(`${server.url}/healthz`)).status).toBe(200);
    expect(await ann.listed(run)).toMatchObject({ mended: false, sizeInBytes: LARGE.length });
    expect(await reasonOf(server, run._id)).toContain(`not done after ${MEND_MS / 1000} s`);
    // It is gone.
    expect(signalMender(mender, "SIGCONT")).toBe(false);
  });
});

test("a process that mends and takes too much memory is ended, and the file is listed as it came", async () => {
  const ann = await pageOn(cramped);
  const run = await ann.send(LARGE);
  expect(await ann.listed(run)).toMatchObject({ mended: false, sizeInBytes: LARGE.length });
  expect(await reasonOf(cramped, run._id)).toMatch(/took \d+ MiB of memory, and may take 20/);
  expect(sha256(await ann.bytes(run))).toBe(sha256(LARGE));
  expect((await call(`${cramped.url}/healthz`)).status).toBe(200);
});

/** Each takes the process that mends at least a third of a second. */
const hostile = hostileFiles().filter((_, at) => isInSample(at, 8));

test(`${hostile.length} hostile files are listed within the limits, and others are not held up`, async () => {
  const others = await pageOn(server);
  const before = memoryOf(server);
  for (const [name, make] of hostile) {
    const ann = await pageOn(server);
    const bytes = make();
    const run = await ann.send(bytes);
    const { mended, sizeInBytes } = await ann.listed(run, 3 * MEND_MS);
    expect([name, mended === true || sizeInBytes === bytes.length]).toEqual([name, true]);
    expect([name, (await call(`${server.url}/healthz`)).status]).toEqual([name, 200]);
  }
  await others.listed(await others.send(GOOD));
  expect(memoryOf(server) - before).toBeLessThan(300 * MIB);
  await isWell(server);
});

function memoryOf({ pid }: Server): number {
  const status = Bun.spawnSync(["cat", `/proc/${pid}/status`]).stdout.toString();
  return 1024 * Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0);
}
