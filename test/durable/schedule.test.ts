/** Backups that a service makes by itself: they restore, restarts do not repeat them, and one that was interrupted leaves nothing. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { newApplication } from "../support/application.ts";
import { call } from "../support/http.ts";
import { runParley, type Server, startParley } from "../support/parley.ts";
import { Backend } from "../support/recordings.ts";
import { scratch } from "../support/temp.ts";
import { found, until } from "../support/wait.ts";

setDefaultTimeout(120_000);

const KEY = randomBytes(32).toString("base64");
/** Takes longer to copy than a test needs to notice that it has begun. */
const RECORDED_BYTES = 24 * 1024 * 1024;

let folder: ReturnType<typeof scratch>;
let data: string;
let kept: string;
beforeEach(() => {
  folder = scratch();
  data = join(folder.path, "data");
  kept = join(folder.path, "kept");
});
afterEach(() => folder[Symbol.dispose]());

const start = (env: Readonly<Record<string, string>> = {}): Promise<Server> =>
  startParley({
    data,
    env: { PARLEY_BACKUP_TO: kept, PARLEY_BACKUP_EVERY: "1d", PARLEY_BACKUP_KEY: KEY, ...env },
  });

const filesIn = (path: string, part: string): string[] => {
  try {
    return readdirSync(path).filter((name) => name.includes(part));
  } catch {
    // The first backup makes it.
    return [];
  }
};
const listed = (): string[] => filesIn(kept, "").filter((name) => name.endsWith(".backup"));
const made = (server: Server) => server.logged(({ msg }) => msg === "a backup was made");
const metric = async ({ url }: Server, name: string): Promise<number> =>
  Number(new RegExp(`^${name} (\\S+)$`, "m").exec((await call(`${url}/metrics`)).text)?.[1]);
const check = async ({ url }: Server): Promise<unknown> =>
  (await call<{ checks: Record<string, string> }>(`${url}/readyz`)).body.checks.backups;

test("the first start makes one, which restores; the next start makes none", async () => {
  const server = await start();
  await made(server);
  expect(await check(server)).toBe("ok");
  const { adminToken } = server;
  await server.stop();
  const [name = ""] = listed();
  expect(listed()).toEqual([name]);

  const restored = join(folder.path, "restored");
  const env = { PARLEY_MASTER_KEY: readFileSync(join(data, "master.key"), "utf8").trim() };
  const file = join(kept, name);
  const locked = await runParley(["restore", file, "--data", restored], env);
  expect([locked.code, locked.output]).toEqual([1, expect.stringContaining("PARLEY_BACKUP_KEY")]);
  const opened = await runParley(["restore", file, "--data", restored], { ...env, PARLEY_BACKUP_KEY: KEY });
  expect([opened.code, opened.output]).toEqual([0, expect.stringContaining("restored")]);
  await using other = await startParley({ data: restored, env: { ...env, PARLEY_ADMIN_TOKEN: adminToken } });
  expect((await other.admin.must<{ data: { name: string }[] }>("GET", "/apps")).data.map((app) => app.name)).toEqual([
    "demo",
  ]);

  await using restarted = await start();
  await until(
    "it has looked",
    async () => (await metric(restarted, "parley_backup_last_success_timestamp_seconds")) > 0,
  );
  expect((await restarted.admin.must<{ making: unknown }>("GET", "/backups")).making).toBeNull();
  expect(listed()).toEqual([name]);
});

test.each(["SIGKILL", "SIGTERM"] as const)(
  "after %s in the middle of one, the next start makes it, and nothing is left of the first",
  async (signal) => {
    const before = await startParley({ data });
    await new Backend(await newApplication(before)).record({}, new Uint8Array(randomBytes(RECORDED_BYTES)));
    await before.stop();

    const server = await start();
    const partial = await found("it is being written", () => filesIn(kept, ".partial")[0]);
    const pid = Number(/-(\d+)-[0-9a-f]+\.partial$/.exec(partial)?.[1]);
    // It goes no further before the service has ended.
    process.kill(pid, "SIGSTOP");
    expect([listed(), filesIn(data, "backup-in-progress-")]).toEqual([[], [`backup-in-progress-${pid}`]]);
    const code = await server.kill(signal);
    expect(code).toBe(signal === "SIGTERM" ? 0 : 137);
    // Workers that are left end it themselves.
    if (isRunning(pid)) process.kill(pid, "SIGCONT");
    await until("its process has ended", () => !isRunning(pid));
    if (signal === "SIGTERM") expect(filesIn(data, "backup-in-progress-")).toEqual([]);
    expect(listed()).toEqual([]);

    await using next = await start();
    await made(next);
    expect([listed().length, filesIn(kept, ".partial"), filesIn(data, "backup-in-progress-")]).toEqual([1, [], []]);
    const { failures } = await next.admin.must<{ failures: number }>("GET", "/backups");
    expect(failures).toBe(0);
  },
);

function isRunning(pid: number): boolean {
  try {
    // One that was killed and not waited for yet does nothing any more.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

test("a failure is in the log and in /readyz, and neither has a credential", async () => {
  const secret = "SECRETSECRETSECRET";
  await using server = await start({
    PARLEY_BACKUP_TO: `s3://KEYKEYKEY:${secret}@bucket/prefix?endpoint=http://127.0.0.1:1`,
  });
  await server.logged(({ msg }) => msg === "a backup failed; nothing of it was kept");
  await until("/readyz has it", async () => (await check(server)) !== "ok");
  expect(await check(server)).toBe("the last backup failed; trying again. The log says why");
  const state = await server.admin.must<{ lastFailure: { why: string } }>("GET", "/backups");
  expect(state).toMatchObject({ health: "failed", failures: 1, target: { place: "s3://bucket/prefix" } });
  expect(state.lastFailure.why).toContain("the bucket bucket (prefix/) cannot be used");
  expect(server.output + JSON.stringify(state)).not.toContain(secret);
});

test("a place that cannot be used is refused at the start", async () => {
  const { code, output } = await runParley(["up", "--port", "0", "--data", data], { PARLEY_BACKUP_TO: "s3://bucket" });
  expect([code, output]).toEqual([
    expect.any(Number),
    expect.stringContaining("PARLEY_BACKUP_TO: it needs a credential"),
  ]);
  expect(code).toBeGreaterThan(0);
});
