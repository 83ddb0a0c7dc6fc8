/** Parts that a service can do without for a while fail and return: /readyz, `parley doctor`, the metrics and the log say so, by themselves. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readMetrics } from "../conformance/raw/support/metrics.ts";
import { call } from "../support/http.ts";
import { runParley, type Server, startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { scratch } from "../support/temp.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(60_000);

interface Readiness {
  readonly ready: boolean;
  readonly degraded: readonly string[];
  readonly checks: Readonly<Record<string, string>>;
}

const ready = (server: Server) => call<Readiness>(`${server.url}/readyz`);

async function says(server: Server, check: string, text: string): Promise<void> {
  await until(`${check}: ${text}`, async () => (await ready(server)).body.checks[check]?.includes(text) === true);
  const { status, body, text: whole } = await ready(server);
  expect([status, body.ready, body.degraded]).toEqual([200, true, [check]]);
  expect(whole).not.toContain(server.data);
}

async function isWell(server: Server): Promise<void> {
  await until("it is well", async () => (await ready(server)).body.degraded.length === 0);
}

const metric = async (server: Server, name: string): Promise<number> =>
  (await readMetrics({ url: server.url, adminToken: server.adminToken })).get(name);

async function doctorLine(server: Server, check: string): Promise<string> {
  const { output } = await runParley(["doctor"], { PARLEY_URL: server.url, PARLEY_ADMIN_TOKEN: server.adminToken });
  return output.split("\n").find((line) => line.includes(` ${check}  `)) ?? "";
}

test.concurrent("the folder of recordings is removed and put back", async () => {
  using folder = scratch();
  await using server = await startParley({ data: join(folder.path, "data") });
  await isWell(server);
  const [recordings, elsewhere] = [join(server.data, "recordings"), join(folder.path, "elsewhere")];
  renameSync(recordings, elsewhere);
  await says(server, "recordings", "is missing");
  expect(await metric(server, "parley_storage_up")).toBe(0);
  expect(await doctorLine(server, "recordings storage")).toMatch(/^SERIOUS .* is missing/);
  await server.logged(({ msg }) => msg.startsWith("recordings cannot be stored:") && msg.includes("is missing"));
  renameSync(elsewhere, recordings);
  await isWell(server);
  expect(await metric(server, "parley_storage_up")).toBe(1);
  await server.logged(({ msg }) => msg.startsWith("recordings can be stored again:"));
  expect(readdirSync(join(recordings, "uploads"))).toEqual([]);
});

/** Runs a program in the mounts of a process. */
const inside = (pid: number, ...command: string[]): boolean =>
  Bun.spawnSync(["nsenter", "--mount", "--target", String(pid), ...command]).success;

describe.skipIf(!Bun.spawnSync(["unshare", "--mount", "true"]).success)(
  "a storage with a file system of its own",
  () => {
    function mounted(data: string, size: string): Promise<Server> {
      const script = 'mount -t tmpfs -o size=$SIZE tmpfs "$1"; shift; exec "$@"';
      const recordings = join(data, "recordings");
      mkdirSync(recordings);
      const wrap = ["env", `SIZE=${size}`, "unshare", "--mount", "sh", "-c", script, "sh", recordings];
      return startParley({ data, wrap, env: { PARLEY_MIN_FREE_DISK_BYTES: "0" } });
    }

    test.concurrent("that becomes read-only, and writable again", async () => {
      using folder = scratch();
      await using server = await mounted(folder.path, "4m");
      await isWell(server);
      const recordings = join(server.data, "recordings");
      expect(inside(server.pid, "mount", "-o", "remount,ro", recordings)).toBe(true);
      await says(server, "recordings", "cannot be written to");
      expect(await doctorLine(server, "recordings storage")).toMatch(/^SERIOUS .* cannot be written to/);
      inside(server.pid, "mount", "-o", "remount,rw", recordings);
      await isWell(server);
    });

    test.concurrent("that is full, and has space again", async () => {
      using folder = scratch();
      await using server = await mounted(folder.path, "1m");
      await isWell(server);
      const file = join(server.data, "recordings/fill");
      expect(inside(server.pid, "dd", "if=/dev/zero", `of=${file}`, "bs=64k")).toBe(false);
      await says(server, "recordings", "too little free disk");
      expect(inside(server.pid, "rm", file)).toBe(true);
      await isWell(server);
    });
  },
);

test.concurrent.each(IS_FULL ? [1, 2] : [2])(
  "with %d workers, mending that cannot work is shown by whichever is asked, and its return too",
  async (workers) => {
    using folder = scratch();
    const env = { PARLEY_WORKERS: String(workers) };
    await using server = await startParley({ data: join(folder.path, "data"), env });
    rmSync(join(server.data, "mending"), { recursive: true, force: true });
    // A file where the folder should be: the process has nowhere to write.
    writeFileSync(join(server.data, "mending"), "");
    for (let i = 0; i < 5 * workers; i++) await says(server, "mending", "cannot be mended");
    expect(await metric(server, "parley_mending_up")).toBe(0);
    expect(await doctorLine(server, "mending")).toMatch(/^attention .* cannot be mended/);
    await server.logged(({ msg }) => msg.startsWith("recordings cannot be mended"));
    rmSync(join(server.data, "mending"));
    await isWell(server);
  },
);
