/**
 * The single executable, as on a machine without Node and Bun: an empty folder and an empty environment. In short runs only what takes no
 * build; PARLEY_TEST_EXECUTABLE names one that exists already.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { identity } from "../../scripts/build/identity.ts";
import { fileNameOf, ownTarget } from "../../scripts/build/targets.ts";
import { TUNING } from "../../src/base/tuning.ts";
import { liveWebm } from "../../src/recordings/mending/testing/live-webm.ts";
import { Recorder, recordedRoom } from "../attack/support/recorder.ts";
import { ROOMS_ENV } from "../conformance/raw/support/rooms.ts";
import { Admin } from "../support/admin.ts";
import { sourcesCommand } from "../support/command.ts";
import { call } from "../support/http.ts";
import { Server } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { runSuites } from "../support/suites.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { build, mustBuild, run, startBare } from "./support/executable.ts";

setDefaultTimeout(600_000);

test("a target that does not exist is refused, with those that do", async () => {
  const { code, out, err } = await build("--target", "linux-riscv");
  expect([code, out]).toEqual([1, ""]);
  expect(err).toStartWith('build: there is no target "linux-riscv"; there are linux-x64, linux-arm64,');
});

test("an executable states the date that it was given, or that of its commit", () => {
  expect(identity({ SOURCE_DATE_EPOCH: "86400" }).date).toBe("1970-01-02T00:00:00.000Z");
  expect(identity({}).date).toMatch(/^20\d\d-.*T.*Z$/);
  expect(() => identity({ SOURCE_DATE_EPOCH: "today" })).toThrow("SOURCE_DATE_EPOCH must be a number of seconds");
});

const folder = tempFolder();
afterAll(() => removeFolder(folder));
let executable = "";
let folders = 0;

/** Named like one that a user has downloaded, in a folder of its own. */
function emptyFolder(): string {
  const path = join(folder, `empty ${++folders}`);
  mkdirSync(path);
  return path;
}

/** Variables of a running process, as it was started. */
const environmentOf = (pid: number): string[] => readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").slice(0, -1);

const childrenOf = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  );

const namesIn = (html: string): string[] =>
  [...html.matchAll(/(?:src|href|data-\w[\w-]*)="(\/assets\/[^"]+)"/g)].map(([, name = ""]) => name);

describe.skipIf(!IS_FULL)("the executable for this machine", () => {
  beforeAll(async () => {
    const built = process.env.PARLEY_TEST_EXECUTABLE
      ? resolve(process.env.PARLEY_TEST_EXECUTABLE)
      : (await mustBuild("--out", folder)).split("  ")[0];
    executable = join(folder, "parley");
    copyFileSync(built ?? "", executable);
  });

  test("two builds give the same bytes, without a path of the machine that built them", async () => {
    const [second] = (await mustBuild("--out", join(folder, "again"))).split("  ");
    expect(Bun.file(second ?? "").size).toBeGreaterThan(1_000_000);
    const bytes = readFileSync(executable);
    expect(bytes.equals(readFileSync(second ?? ""))).toBe(true);
    expect(bytes.includes(process.cwd())).toBe(false);
    expect(second).toEndWith(fileNameOf(ownTarget()));
  });

  test("starts in an empty folder, with pages, and keeps its data when it is killed", async () => {
    const at = emptyFolder();
    const server = await startBare(executable, at);
    try {
      expect((await call(`${server.url}/healthz`)).body).toEqual({ status: "ok" });
      await server.admin.createApp("kept");
      const meeting = await recordedRoom(server);
      const pages = [
        await call(`${server.url}/`),
        await call(`${server.url}/docs`),
        await call(`${server.url}/dashboard`),
        await call(`${server.url}/${meeting.name}`, { headers: { Host: meeting.app.host, Accept: "text/html" } }),
      ];
      expect(pages.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      const names = pages.flatMap(({ text }) => namesIn(text));
      expect(names.length).toBeGreaterThan(8);
      for (const name of new Set(names)) expect([name, (await call(server.url + name)).status]).toEqual([name, 200]);
      expect((await call(`${server.url}/client.js`)).text).toContain("export");
    } finally {
      await server.kill();
    }
    await using after = await startBare(executable, at);
    expect(
      (await after.admin.must<{ data: { name: string }[] }>("GET", "/apps")).data.map(({ name }) => name),
    ).toContain("kept");
    // Nothing but the data folder.
    expect(readdirSync(at)).toEqual(["data"]);
  });

  test("the runtime has the settings of bin/parley, without a second process", async () => {
    const at = emptyFolder();
    await using server = await startBare(executable, at, {
      env: { MIMALLOC_PURGE_DELAY: "9000", BUN_JSC_dumpOptions: "1", MIMALLOC_VERBOSE: "1" },
    });
    expect(Object.fromEntries(environmentOf(server.pid).map((one) => one.split("=", 2)))).toMatchObject({
      ...TUNING,
      // As the user has set it.
      MIMALLOC_PURGE_DELAY: "9000",
    });
    // What the compiler and the allocator say that they use.
    expect(server.output).toContain("thresholdForFTLOptimizeAfterWarmUp=1000000");
    expect(server.output).toContain("option 'purge_delay': 9000");
    expect(server.output).toContain("option 'purge_holes_min_interval': 10000");
    expect(childrenOf(server.pid)).toEqual([]);
    expect(server.log.filter(({ level }) => level !== "info")).toEqual([]);
  });

  test("neither .env nor bunfig.toml of the folder is read", async () => {
    const at = emptyFolder();
    writeFileSync(join(at, ".env"), "PARLEY_ADMIN_TOKEN=from-the-folder-from-the-folder\n");
    writeFileSync(join(at, "bunfig.toml"), 'preload = ["./preloaded.ts"]\n');
    writeFileSync(join(at, "preloaded.ts"), 'require("fs").writeFileSync("was-run", "")');
    await using server = await startBare(executable, at);
    expect(server.keys.adminToken).not.toBe("");
    expect(existsSync(join(at, "was-run"))).toBe(false);
  });

  test.each([1, 2])("a recorded meeting is mended, with %p workers", async (workers) => {
    const at = emptyFolder();
    const flags = workers > 1 ? ["--workers", String(workers)] : [];
    await using server = await startBare(executable, at, { env: ROOMS_ENV, flags });
    const ann = await Recorder.in(await recordedRoom(server));
    const sent = await ann.send(liveWebm({ seconds: 4 }));
    expect(await ann.listed(sent)).toMatchObject({ mended: true });
  });

  test("workers are the same file, with a mark against starting more, and are replaced when they are killed", async () => {
    const at = emptyFolder();
    const own = join(at, "parley");
    copyFileSync(executable, own);
    await using server = await startBare(own, at, { flags: ["--workers", "2"] });
    // An upgrade moves another file there: processes of one service are of one version nevertheless.
    writeFileSync(join(at, "newer"), "#!/bin/sh\nexit 7\n", { mode: 0o755 });
    renameSync(join(at, "newer"), own);
    const workers = childrenOf(server.pid);
    expect(workers).toHaveLength(2);
    for (const pid of workers) {
      expect(environmentOf(pid)).toContain("PARLEY_CHILD=worker");
      expect(environmentOf(pid)).toContain("BUN_JSC_thresholdForFTLOptimizeAfterWarmUp=1000000");
    }
    process.kill(workers[0] ?? 0, "SIGKILL");
    await until("another worker runs", () => childrenOf(server.pid).filter((pid) => !workers.includes(pid)).length > 0);
    await until("both are ready", async () => (await call(`${server.url}/readyz`)).status === 200);
  });

  test("a child that is asked for anything else ends at once", async () => {
    const { code, out, err } = await run(executable, emptyFolder(), ["up", "--port", "0"], { PARLEY_CHILD: "mend" });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain('started for "mend"');
  });

  test("every command answers --help with the name that it was called by", async () => {
    const at = emptyFolder();
    const { out } = await run(executable, at, ["help", "--json"]);
    const { commands } = JSON.parse(out) as { commands: { name: string }[] };
    expect(commands.length).toBeGreaterThan(30);
    for (const { name } of commands) {
      const help = await run(executable, at, [...name.split(" "), "--help"]);
      expect([name, help.code, help.err]).toEqual([name, 0, ""]);
      expect(help.out).toContain(`${folder}/parley ${name}`);
    }
  });

  test("doctor, verify, backup, restore and licences work", async () => {
    const at = emptyFolder();
    const server = await startBare(executable, at);
    const works = async (...args: string[]): Promise<string> => {
      const { code, out, err } = await run(executable, at, args);
      expect([args[0], code, code === 0 ? "" : `${out}${err}`]).toEqual([args[0], 0, ""]);
      return out;
    };
    try {
      await works("doctor");
      await works("verify", "--clients", "6", "--channels", "2", "--rate", "50", "--seconds", "2");
      await works("publish", "chat/1", '"hello"');
      expect(await works("keys", "list")).toContain("pk_live_");
      await works("apps", "create", "copied");
      await works("backup", "parley.backup");
    } finally {
      await server.stop();
    }
    const elsewhere = emptyFolder();
    mkdirSync(join(elsewhere, "data"));
    copyFileSync(join(at, "data/master.key"), join(elsewhere, "data/master.key"));
    await works("restore", "parley.backup", "--data", join(elsewhere, "data"));
    await using restored = await startBare(executable, elsewhere);
    const admin = new Admin(restored.url, server.keys.adminToken);
    expect(JSON.stringify(await admin.must("GET", "/apps"))).toContain('"copied"');
    const licences = await works("licences");
    for (const name of ["bun 1.", "mediabunny ", "preact ", "zod "]) expect(licences).toContain(`\n${name}`);
  });

  test("continues with a data folder that the sources made, and the sources with what it made", async () => {
    const at = emptyFolder();
    const fromSources = async (): Promise<Server> => {
      const server = new Server(sourcesCommand("up", "--port", "0", "--data", `${at}/data`), ENV, `${at}/data`, false);
      server.url = String((await server.logged((line) => line.msg === "parley is ready")).url);
      return server;
    };
    const ENV = { PARLEY_LOG_FORMAT: "json" };
    const before = await fromSources();
    const { keys } = before;
    await before.stop();
    const server = await startBare(executable, at);
    expect(server.keys).toEqual(keys);
    await server.admin.createApp("made-by-the-file");
    await server.stop();
    await using after = await fromSources();
    const { status, text } = await call(`${after.url}/api/internal/v1/apps/made-by-the-file`, {
      bearer: keys.adminToken,
    });
    expect([status, text]).toEqual([200, expect.stringContaining("made-by-the-file")]);
  });

  test.each([
    ["the public SDK's", "./test/conformance/sdk/sdk.bun.test.ts"],
    ["the workers'", "./test/workers/together.test.ts"],
    ["the start page's", "./test/browser/start.test.ts"],
    ["the meeting page's", "./test/browser/meetings-recording.test.ts"],
    ["the tour's", "./test/defaults/tour.test.ts"],
  ])("%s suite passes", async (_, path) => {
    const env = { PARLEY_TEST_EXECUTABLE: executable, PARLEY_TEST_INSTALLED: executable };
    const { code, passed, failed, output } = await runSuites([path], env);
    if (code !== 0) console.log(output);
    expect({ code, failed }).toEqual({ code: 0, failed: [] });
    expect(passed).toBeGreaterThan(0);
  });
});
