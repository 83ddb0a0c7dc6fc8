/** A store that was moved or replaced while its folder of recordings stayed: no recording is lost. */
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { MARK_NAME } from "../../src/recordings/storage/storage.ts";
import { Application, newApplication } from "../support/application.ts";
import { call } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { Backend, type Recording, sha256, webm } from "../support/recordings.ts";
import { IS_FULL } from "../support/slack.ts";
import { scratch } from "../support/temp.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(60_000);

const filesIn = (data: string): string[] =>
  readdirSync(join(data, "recordings"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== MARK_NAME)
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

/** Older than any upload can be. */
function age(data: string): void {
  for (const path of filesIn(data)) utimesSync(path, 1, 1);
}

/** Waits for the sweep at the start. */
async function swept(server: Server): Promise<void> {
  await until("the sweep is done", async () =>
    (await call(`${server.url}/metrics`)).text.includes('parley_recording_sweeps_total{outcome="done"} 1'),
  );
}

const STORE_FILES = ["parley.sqlite", "parley.sqlite-wal", "parley.sqlite-shm"];
function moveStore(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of STORE_FILES) if (readdirSync(from).includes(name)) renameSync(join(from, name), join(to, name));
}

/** Without a mark it is kept in the same way: src/recordings/strays.test.ts. */
const FOLDERS = IS_FULL ? ["marked", "of an older version, without a mark"] : ["marked"];

test.each(FOLDERS)(
  "a folder that is %s, with an empty store instead of its own: all recordings stay, and are listed again with their store",
  async (kind) => {
    using folder = scratch();
    const data = folder.path;
    await using first = await startParley({ data });
    const { name, secretKey, id } = await newApplication(first);
    const on = (server: Server): Backend => new Backend(new Application(server.url, name, secretKey, id));
    const all = Array.from({ length: 4 }, (_, i) => webm(1000, i));
    const made: Recording[] = [];
    for (const bytes of all) made.push(await on(first).record({}, bytes));
    await swept(first);
    await first.kill("SIGTERM");
    age(data);
    if (kind !== "marked") rmSync(join(data, "recordings", MARK_NAME));
    const files = filesIn(data);
    expect(files).toHaveLength(4);

    moveStore(data, join(data, "away"));
    await using other = await startParley({ data });
    const warning = await other.logged(({ level }) => level === "warn");
    expect(warning.msg).toContain(join(data, "recordings"));
    expect(warning.msg).toContain("PARLEY_SWEEP_STRAYS=on");
    await swept(other);
    await other.kill("SIGTERM");
    expect(filesIn(data)).toEqual(files);

    moveStore(data, join(data, "other"));
    moveStore(join(data, "away"), data);
    await using restarted = await startParley({ data });
    await swept(restarted);
    expect(restarted.log.filter(({ level }) => level === "warn")).toEqual([]);
    const backend = on(restarted);
    for (const [i, { _id }] of made.entries()) {
      const bytes = await (await backend.fetch(await backend.link(_id, "download"))).bytes();
      expect(sha256(bytes)).toBe(sha256(all[i] ?? new Uint8Array()));
    }
  },
);

test("PARLEY_SWEEP_STRAYS=on adopts the folder: its files are set aside, not removed", async () => {
  using folder = scratch();
  const data = folder.path;
  await using first = await startParley({ data });
  const backend = new Backend(await newApplication(first));
  const { _id } = await backend.record();
  await swept(first);
  await first.kill("SIGTERM");
  age(data);
  moveStore(data, join(data, "away"));
  await using other = await startParley({ data, env: { PARLEY_SWEEP_STRAYS: "on" } });
  await other.logged((line) => line.msg === "recordings swept" && line.strays === 1);
  expect(filesIn(data)).toEqual([expect.stringMatching(new RegExp(`/quarantine/[^/]+/[^/]+/${_id}$`))]);
});

test("a backup from before a completion, restored a day later: the file is set aside, not removed", async () => {
  using folder = scratch();
  const data = folder.path;
  await using first = await startParley({ data });
  const application = await newApplication(first);
  const { _id, uploadUrl } = await new Backend(application).begin();
  await swept(first);
  await first.kill("SIGTERM");
  mkdirSync(join(data, "backup"));
  for (const name of STORE_FILES)
    if (readdirSync(data).includes(name)) cpSync(join(data, name), join(data, "backup", name));

  await using second = await startParley({ data });
  const backend = new Backend(new Application(second.url, application.name, application.secretKey, application.id));
  await backend.mustPut(uploadUrl, webm(1000));
  await backend.complete(_id);
  await second.kill("SIGTERM");

  moveStore(data, join(data, "newer"));
  moveStore(join(data, "backup"), data);
  const store = new Database(join(data, "parley.sqlite"));
  store.run("UPDATE uploads SET touched = touched - 25 * 3600 * 1000");
  store.close(true);
  await using restored = await startParley({ data });
  await swept(restored);
  await restored.kill("SIGTERM");
  expect(filesIn(data)).toEqual([expect.stringMatching(new RegExp(`/quarantine/[^/]+/[^/]+/${_id}$`))]);

  moveStore(data, join(data, "older"));
  moveStore(join(data, "newer"), data);
  await using restarted = await startParley({ data });
  await restarted.logged((line) => line.msg === "recordings swept" && line.restored === 1);
});

test("a volume that is not mounted: nothing is accepted or removed, the node reports it, and all is there once it is mounted", async () => {
  using folder = scratch();
  const data = folder.path;
  const [mounted, unmounted] = [join(data, "recordings"), join(data, "unmounted")];
  await using first = await startParley({ data });
  const { name, secretKey, id } = await newApplication(first);
  const on = (server: Server): Backend => new Backend(new Application(server.url, name, secretKey, id));
  const bytes = webm(1000);
  const kept = await on(first).record({}, bytes);
  const deleted = await on(first).record();
  const open = await on(first).begin();
  await swept(first);
  await first.kill("SIGTERM");
  renameSync(mounted, unmounted);

  await using without = await startParley({ data });
  const warning = await without.logged(({ level }) => level === "warn");
  expect(warning.msg).toContain(`${mounted} is empty and has no mark`);
  const ready = await call<{ ready: boolean; degraded: string[] }>(`${without.url}/readyz`);
  expect([ready.status, ready.body.degraded]).toEqual([200, ["recordings"]]);
  const backend = on(without);
  const room = await backend.room();
  const begun = await backend.app.call("POST", "/recording", { room, participantUsername: "ann", type: "video" });
  expect(begun.status).toBe(507);
  expect((await backend.put(open.uploadUrl, webm(10))).status).toBe(507);
  await backend.app.must("DELETE", `/recording/${deleted._id}`);
  await swept(without);
  expect(filesIn(data)).toEqual([]);

  // The volume is mounted while the node runs.
  renameSync(mounted, join(data, "hidden"));
  renameSync(unmounted, mounted);
  await backend.mustPut(open.uploadUrl, webm(10));
  await backend.complete(open._id);
  await without.kill("SIGTERM");

  await using restarted = await startParley({ data });
  await swept(restarted);
  expect(restarted.log.filter(({ level }) => level === "warn")).toEqual([]);
  const link = await on(restarted).link(kept._id, "download");
  expect(sha256(await (await on(restarted).fetch(link)).bytes())).toBe(sha256(bytes));
  expect(
    filesIn(data)
      .map((path) => path.slice(-24))
      .sort(),
  ).toEqual([kept._id, open._id].sort());
});

test("PARLEY_SWEEP_STRAYS=on starts with an empty storage instead of the previous one", async () => {
  using folder = scratch();
  const data = folder.path;
  await using first = await startParley({ data });
  const { name, secretKey, id } = await newApplication(first);
  await swept(first);
  await first.kill("SIGTERM");
  rmSync(join(data, "recordings"), { recursive: true });
  await using adopting = await startParley({ data, env: { PARLEY_SWEEP_STRAYS: "on" } });
  await swept(adopting);
  await adopting.kill("SIGTERM");
  await using second = await startParley({ data });
  await new Backend(new Application(second.url, name, secretKey, id)).record();
  expect(second.log.filter(({ level }) => level === "warn")).toEqual([]);
});
