/** Backups over the control plane: started, listed, downloaded and deleted. JSON responses are also checked against /openapi.json. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { backupName } from "../../src/durable/targets/names.ts";
import { Admin } from "../support/admin.ts";
import { newApplication } from "../support/application.ts";
import { CONFLICT, NOT_FOUND, refused } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { runParley } from "../support/parley.ts";
import { PausedDownload } from "../support/paused-download.ts";
import { Backend, sha256 } from "../support/recordings.ts";
import { scratch } from "../support/temp.ts";
import { found, until, within } from "../support/wait.ts";

setDefaultTimeout(60_000);

interface Kept {
  readonly name: string;
  readonly bytes: number;
  readonly at: number;
}

interface State {
  readonly target: { readonly kind: string; readonly place: string | null } | null;
  readonly health: string | null;
  readonly making: { readonly isHere: boolean } | null;
  readonly lastSuccess: { readonly name: string | null; readonly bytes: number } | null;
  readonly data: readonly Kept[] | null;
  readonly problem: string | null;
}

const place = scratch();
const folder = join(place.path, "kept");
const server = await checkedServerForTests({ env: { PARLEY_BACKUP_TO: folder, PARLEY_BACKUP_KEEP: "2" } });
const { admin } = server;
/** More than sockets and pipes hold. */
const RECORDED_BYTES = 24 * 1024 * 1024;
await new Backend(await newApplication(server)).record({}, new Uint8Array(randomBytes(RECORDED_BYTES)));

/** Reads of an operator have a rate. */
const PAUSE_MS = 60;
const state = async (by: Admin = admin): Promise<State> => {
  await Bun.sleep(PAUSE_MS);
  return by.must<State>("GET", "/backups");
};

/** Starts one, and resolves when it is made. */
async function made(): Promise<Kept> {
  const before = server.log.length;
  await admin.must("POST", "/backups");
  const { backup } = await server.logged(({ msg }) => msg === "a backup was made", before);
  await found("its end is noted", async () => ((await state()).making === null ? true : undefined));
  const kept = (await state()).data?.find(({ name }) => name === backup);
  if (!kept) throw new Error("it is not listed");
  return kept;
}

async function newOperator(role: "admin" | "read"): Promise<Admin & { readonly id: string }> {
  const { _id, token } = await admin.must<{ _id: string; token: string }>("POST", "/operators", {
    name: crypto.randomUUID(),
    role,
  });
  return Object.assign(new Admin(server.url, token), { id: _id });
}

const download = (name: string, by: Admin = admin): Promise<Response> =>
  fetch(`${server.url}/api/internal/v1/backups/${name}`, { headers: { Authorization: `Bearer ${by.token}` } });

const audited = async (): Promise<(readonly [string, string])[]> => {
  const { data } = await admin.must<{ data: { what: string; on: string }[] }>("GET", "/audit?limit=20");
  return data.filter(({ what }) => what.startsWith("backup ")).map(({ what, on }) => [what, on] as const);
};

test("one is started, listed, downloaded, restored and deleted, and each of these is in the audit", async () => {
  expect(await state()).toMatchObject({
    target: { kind: "folder", place: folder },
    data: [],
    problem: null,
    health: null,
  });
  const { name, bytes } = await made();
  const written = readFileSync(join(folder, name));
  expect(written.length).toBe(bytes);
  expect((await state()).lastSuccess).toMatchObject({ name, bytes });

  const response = await download(name);
  expect(response.headers.get("content-disposition")).toBe(`attachment; filename="${name}"`);
  expect(response.headers.get("x-parley-bytes")).toBe(String(bytes));
  const got = await response.bytes();
  expect(sha256(got)).toBe(sha256(written));

  using other = scratch();
  const file = join(other.path, "downloaded.backup");
  writeFileSync(file, got);
  const env = { PARLEY_MASTER_KEY: readFileSync(join(server.data, "master.key"), "utf8").trim() };
  const { code, output } = await runParley(["restore", file, "--data", join(other.path, "data"), "--json"], env);
  expect([code, output]).toEqual([0, expect.stringContaining('"recordings":1')]);

  expect(await admin.must<Kept>("DELETE", `/backups/${name}`)).toMatchObject({ name, bytes });
  expect((await state()).data).toEqual([]);
  expect(await refused(admin, NOT_FOUND, "DELETE", `/backups/${name}`)).toBe("There is no such backup.");
  expect(await audited()).toEqual([
    ["backup deleted", name],
    ["backup downloaded", name],
    ["backup started", folder],
  ]);
});

test("the oldest beyond PARLEY_BACKUP_KEEP are deleted, and other files stay", async () => {
  const strangers = ["notes.txt", "parley-20300131T020000Z.backup.partial"];
  for (const one of strangers) writeFileSync(join(folder, one), "");
  const old = [Date.UTC(2020, 0, 1), Date.UTC(2020, 0, 2)].map((at) => backupName(at));
  for (const one of old) writeFileSync(join(folder, one), "");
  const { name } = await made();
  await until("the oldest is deleted", async () => !(await state()).data?.some((one) => one.name === old[0]));
  expect((await state()).data?.map((one) => one.name)).toEqual([name, old[1] as string]);
  for (const one of strangers) expect(readFileSync(join(folder, one), "utf8")).toBe("");
});

test("an operator of role read sees whether they succeed, and nothing else", async () => {
  const { name } = await made();
  const reader = await newOperator("read");
  const seen = await state(reader);
  expect(seen).toMatchObject({ data: null, problem: null, target: { kind: "folder", place: null } });
  expect(seen.lastSuccess).toMatchObject({ name: null, bytes: expect.any(Number) as number });
  expect(JSON.stringify(seen)).not.toContain(place.path);
  for (const [method, path] of [
    ["POST", "/backups"],
    ["POST", "/backups/stream"],
    ["DELETE", `/backups/${name}`],
    ["GET", `/backups/${name}`],
  ] as const)
    expect([method, path, (await reader.call(method, path)).status]).toEqual([method, path, 403]);
});

test("a second one is refused while one is made", async () => {
  const ending = new AbortController();
  const stream = await fetch(`${server.url}/api/internal/v1/backups/stream`, {
    method: "POST",
    headers: { Authorization: `Bearer ${admin.token}` },
    signal: ending.signal,
  });
  expect(stream.status).toBe(200);
  expect((await state()).making).toMatchObject({ isHere: true });
  expect(await refused(admin, CONFLICT, "POST", "/backups")).toContain("being made already");
  expect((await admin.call("POST", "/backups/stream")).status).toBe(409);
  ending.abort();
  await stream.bytes().catch(() => undefined);
  await until("it has ended", async () => (await state()).making === null);
  await made();
});

test("a download is cut when its operator is revoked", async () => {
  const { name, bytes } = await made();
  const operator = await newOperator("admin");
  const paused = await PausedDownload.begin(server.url, `/api/internal/v1/backups/${name}`, {
    Authorization: `Bearer ${operator.token}`,
  });
  expect(paused.head).toStartWith("HTTP/1.1 200");
  await admin.must("DELETE", `/operators/${operator.id}`);
  expect(await within("it is cut", paused.rest())).toBeLessThan(bytes * 0.9);
});

describe("a place that is gone", () => {
  test("is shown as such, and fails neither the page nor what follows", async () => {
    const { name } = await made();
    const away = join(place.path, "away");
    renameSync(folder, away);
    const gone = await found("it is noticed", async () => {
      const now = await state();
      return now.problem === null ? undefined : now;
    });
    expect(gone.data).toEqual([]);
    expect(gone.problem).toContain("does not exist");
    expect(await refused(admin, [503, "internal_error"], "DELETE", `/backups/${name}`)).toContain(folder);
    renameSync(away, folder);
    await until("it is back", async () => (await state()).data?.some((one) => one.name === name) === true);
    expect((await download(name)).status).toBe(200);
  });

  test.each(["../first-run.txt", "%2e%2e%2ffirst-run.txt", "parley.backup", "notes.txt"])(
    "nothing but backups can be downloaded or deleted: %s",
    async (name) => {
      for (const method of ["GET", "DELETE"])
        expect((await admin.call(method, `/backups/${encodeURIComponent(name)}`)).status).toBe(404);
    },
  );
});
