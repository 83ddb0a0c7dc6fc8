/** A store that was moved away or replaced, beside a folder of recordings that was not: nothing of it is lost. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, renameSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { MARK_NAME } from "../../src/recordings/storage.ts";
import { Application, newApplication } from "../support/application.ts";
import { call } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { Backend, type Recording, sha256, webm } from "../support/recordings.ts";
import { scratch } from "../support/temp.ts";

setDefaultTimeout(60_000);

const filesIn = (data: string): string[] =>
  readdirSync(join(data, "recordings"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== MARK_NAME)
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

/** Older than anything that an upload could still belong to. */
function age(data: string): void {
  for (const path of filesIn(data)) utimesSync(path, 1, 1);
}

/** The sweep of the start is over. */
async function swept(server: Server): Promise<void> {
  while (!(await call(`${server.url}/metrics`)).text.includes('parley_recording_sweeps_total{outcome="done"} 1'))
    await Bun.sleep(20);
}

const STORE_FILES = ["parley.sqlite", "parley.sqlite-wal", "parley.sqlite-shm"];
function moveStore(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of STORE_FILES) if (readdirSync(from).includes(name)) renameSync(join(from, name), join(to, name));
}

test.each(["marked", "of an older version, without a mark"])(
  "a folder that is %s, and an empty store in place of its own: all recordings stay, and are there again with their store",
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
    await using again = await startParley({ data });
    await swept(again);
    expect(again.log.filter(({ level }) => level === "warn")).toEqual([]);
    const backend = on(again);
    for (const [i, { _id }] of made.entries()) {
      const bytes = await (await backend.fetch(await backend.link(_id, "download"))).bytes();
      expect(sha256(bytes)).toBe(sha256(all[i] ?? new Uint8Array()));
    }
  },
);

test("PARLEY_SWEEP_STRAYS=on takes the folder over: what it held is set aside, and not removed", async () => {
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
