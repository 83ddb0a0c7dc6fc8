import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { IS_FULL } from "../../../test/support/slack.ts";
import { until } from "../../../test/support/wait.ts";
import { formatOf } from "../files/signature.ts";
import { MEND_LIMITS, type MendLimits } from "./limits.ts";
import type { Mended, MenderInput } from "./mender.ts";
import { MendingStopped } from "./mender.ts";
import { MEND_COMMAND, ProcessMender } from "./process-mender.ts";
import { hostileFiles } from "./testing/hostile-files.ts";
import { liveWebm } from "./testing/live-webm.ts";
import { readBack } from "./testing/read-back.ts";

const RECORDED = join(import.meta.dir, "../../../test/fixtures/recorded");
const folder = mkdtempSync(join(tmpdir(), "parley-mender-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function inputOf(bytes: Uint8Array): { input: MenderInput; output: string } {
  const own = mkdtempSync(join(folder, `${files++}-`));
  const path = join(own, "recorded");
  writeFileSync(path, bytes);
  return { input: { path, format: formatOf(bytes.subarray(0, 64)), size: bytes.length }, output: join(own, "mended") };
}

async function mend(bytes: Uint8Array, limits: Partial<MendLimits> = {}, command = MEND_COMMAND): Promise<Mended> {
  const { input, output } = inputOf(bytes);
  return new ProcessMender({ command, limits: { ...MEND_LIMITS, ...limits } }).mend(input, output);
}

/** A program instead of the one that mends: it gets the paths as its last two arguments. */
const instead = (script: string): readonly string[] => [process.execPath, "--no-env-file", "-e", script];

test.each([
  ["camera.webm", 7996],
  ["microphone.webm", 7980],
  ["camera.mp4", 7942],
])("%s, as Chromium recorded it, gets its duration", async (name, wantedMs) => {
  const bytes = readFileSync(join(RECORDED, name));
  const { input, output } = inputOf(bytes);
  const mended = await new ProcessMender({ command: MEND_COMMAND }).mend(input, output);
  expect(mended).toEqual({ outcome: "mended", durationMs: wantedMs, size: Bun.file(output).size });
  expect((await readBack(output)).duration).toBeCloseTo(wantedMs / 1000, 2);
});

/** Each has its process, which takes a third of a second: outside full runs, every fifth has its turn by days. */
const today = Math.floor(Date.now() / 86_400_000);
const hostile = hostileFiles().filter((_, at) => IS_FULL || at % 5 === today % 5);

describe("whatever the file is, it is answered within the limits", () => {
  test.each(hostile)(
    "%s",
    async (_, bytes) => {
      const mended = await mend(bytes(), { cpuMs: () => 8000 });
      if (mended.outcome === "as_it_came") expect(mended.why).toMatch(/^[ -~]{1,300}$/);
      else expect(mended.durationMs).toBeLessThan(48 * 3_600_000);
    },
    20_000,
  );
});

test("a file that is neither WebM, MP4 nor Ogg starts no process", async () => {
  const command = instead("throw new Error('started')");
  expect(await mend(new TextEncoder().encode("<!doctype html><p>webm"), {}, command)).toEqual({
    outcome: "as_it_came",
    why: "its first bytes are not those of a WebM, MP4 or Ogg file",
  });
});

describe("a process that misbehaves is killed, and the reason said", () => {
  const bytes = liveWebm({ seconds: 2 });
  /** For these, the file is to blame. */
  const ofFile = ["loops", "takes too much memory", "writes too much", "says so"];
  test.each<[string, string, Partial<MendLimits>, RegExp]>([
    ["hangs", "setInterval(() => {}, 1000)", { wallMs: 500 }, /^it was not done after 0.5 s$/],
    ["is stopped", "process.kill(process.pid, 'SIGSTOP')", { wallMs: 800 }, /^it was not done after 0.8 s$/],
    ["loops", "for (;;);", { cpuMs: () => 500 }, /^it took more than 0.5 s of CPU time$/],
    [
      "takes too much memory",
      "const all = []; setInterval(() => all.push(Buffer.alloc(5e6, 1)), 5)",
      { memoryBytes: 150 * 1024 * 1024 },
      /^it took \d+ MiB of memory, and may take 150$/,
    ],
    [
      "writes too much",
      "const fs = require('fs'); setInterval(() => fs.appendFileSync(process.argv.at(-1), Buffer.alloc(1e6)), 5)",
      {},
      /^its output has \d+ bytes and more, from \d+ bytes$/,
    ],
    ["dies", "process.kill(process.pid, 'SIGSEGV')", {}, /^its process ended with \S+ and without a result$/],
    ["fails", "process.exit(3)", {}, /^its process ended with 3 and without a result$/],
    ["prints nonsense", "console.log('{')", {}, /^its process ended with 0 and without a result$/],
    [
      "prints without end",
      "setInterval(() => console.log('x'.repeat(1e5)), 1)",
      { wallMs: 600 },
      /^it was not done after/,
    ],
    [
      "gives a reason that would control a terminal",
      "console.log(JSON.stringify({ why: 'a\\x1b[2Jb\\n12:00 INFO c\\u009b\\u202ed' + 'x'.repeat(999) }))",
      {},
      /^a \[2Jb 12:00 INFO c dx{270,}$/,
    ],
    ["says so", `console.log('{"why":"its times go back","isOfFile":true}')`, {}, /^its times go back$/],
    ["claims what cannot be", "console.log('{\"durationMs\":-1}')", {}, /without a result$/],
  ])("one that %s", async (name, script, limits, why) => {
    const started = performance.now();
    const mended = await mend(bytes, limits, instead(script));
    expect(mended).toEqual({
      outcome: "as_it_came",
      why: expect.stringMatching(why),
      ...(ofFile.includes(name) && { isOfFile: true }),
    });
    expect(performance.now() - started).toBeLessThan(30_000);
  });
});

test("a process that waits for long, as on a busy machine, is not given up while it takes little CPU time", async () => {
  const { input, output } = inputOf(liveWebm({ seconds: 1 }));
  const script = `setTimeout(() => {
    require("fs").writeFileSync(process.argv.at(-1), "mended");
    console.log('{"durationMs":7}');
  }, 700);`;
  const limits = { ...MEND_LIMITS, cpuMs: () => 500 };
  const mended = await new ProcessMender({ command: instead(script), limits }).mend(input, output);
  expect(mended).toEqual({ outcome: "mended", durationMs: 7, size: 6 });
});

test("the process has nothing of the environment, the temporary folder, and a low priority for time and memory", async () => {
  const { input, output } = inputOf(liveWebm({ seconds: 1 }));
  const script = `const fs = require("fs");
    const adjusted = fs.existsSync("/proc/self/oom_score_adj") ? fs.readFileSync("/proc/self/oom_score_adj", "utf8") : "1000";
    const priority = () => require("os").getPriority();
    const started = Date.now();
    while (priority() !== 15 && Date.now() - started < 5000);
    fs.writeFileSync(process.argv.at(-1), JSON.stringify([process.env, process.cwd(), priority(), adjusted.trim()]));`;
  await new ProcessMender({ command: instead(script) }).mend(input, output);
  const [env, cwd, ...priorities] = JSON.parse(readFileSync(output, "utf8"));
  // What a shell sets by itself, and what the process is for.
  expect(Object.keys(env).filter((name) => !["PWD", "SHLVL", "_", "OLDPWD"].includes(name))).toEqual(["PARLEY_CHILD"]);
  expect(join(cwd, "mended")).toBe(output);
  expect(priorities).toEqual([15, "1000"]);
});

test("stopping ends what is under way", async () => {
  const { input, output } = inputOf(liveWebm({ seconds: 1 }));
  const mender = new ProcessMender({ command: instead("setInterval(() => {}, 1000)") });
  const mending = mender.mend(input, output).catch((error: unknown) => error);
  await mender.stop();
  expect(await mending).toBeInstanceOf(MendingStopped);
  expect(mender.mend(input, output)).rejects.toThrow(MendingStopped);
});

/** The ids of processes that have this path as an argument. */
const processesOf = (path: string): string[] =>
  readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(path);
    } catch {
      return false;
    }
  });

test.skipIf(!existsSync("/proc/self/cmdline"))("the process ends when the service is killed", async () => {
  // A fifo: reading its beginning waits, so that the process is alive when its parent is not.
  const { output } = inputOf(new Uint8Array(1));
  const fifo = `${output}-fifo`;
  Bun.spawnSync(["mkfifo", fifo]);
  const script = `
    const { ProcessMender, MEND_COMMAND } = await import(${JSON.stringify(join(import.meta.dir, "process-mender.ts"))});
    void new ProcessMender({ command: MEND_COMMAND }).mend({ path: ${JSON.stringify(fifo)}, format: "webm", size: 1 }, ${JSON.stringify(output)});`;
  const service = Bun.spawn(instead(script) as string[], { stdio: ["ignore", "ignore", "inherit"] });
  await until("the mender runs", () => processesOf(fifo).some((pid) => pid !== String(service.pid)));
  service.kill("SIGKILL");
  await until("the mender has ended", () => processesOf(fifo).length === 0);
});

test.if(IS_FULL)(
  "a large file takes bounded memory",
  async () => {
    const { input, output } = inputOf(new Uint8Array(1));
    // 120 MB, written piece by piece.
    const { live } = await import("./testing/live-webm.ts");
    const writer = Bun.file(input.path).writer();
    truncateSync(input.path, 0);
    for (const part of live({ seconds: 240, frameBytes: 20_000 })) {
      writer.write(part);
      await writer.flush();
    }
    await writer.end();
    const size = Bun.file(input.path).size;
    expect(size).toBeGreaterThan(110_000_000);
    const limits = { ...MEND_LIMITS, memoryBytes: 256 * 1024 * 1024 };
    const mended = await new ProcessMender({ command: MEND_COMMAND, limits }).mend(
      { ...input, format: "webm", size },
      output,
    );
    expect(mended).toMatchObject({ outcome: "mended", durationMs: 240_000 });
  },
  60_000,
);
