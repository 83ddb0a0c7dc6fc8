import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { copyFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../../test/support/wait.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { openStore, sqliteFile } from "../../store/open.ts";
import { newFolders } from "../../store/testing/places.ts";
import { ALL, appendTexts, numbers } from "../testing/kit.ts";
import { historyFile } from "./file.ts";
import { SqliteHistory } from "./history.ts";
import { holdStillOf } from "./hold-still.ts";

const newFolder = newFolders();
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function opened(logMaxBytes?: number) {
  const folder = newFolder();
  const paths = [sqliteFile(folder), historyFile(folder)];
  const store = await openStore(folder);
  const history = new SqliteHistory({ path: historyFile(folder), sync: "process", setAside: () => undefined });
  ends.push(async () => {
    await history.close();
    await store.close();
  });
  const failures: unknown[] = [];
  const failed = (error: unknown): void => void failures.push(error);
  const holdStill = holdStillOf({ store, history, paths, failed, ...(logMaxBytes && { logMaxBytes }) });
  const note = (value: string): Promise<void> => store.change((change) => change.putMeta("note", value));
  return { folder, paths, store, history, holdStill, note, failures };
}

const sha = async (path: string): Promise<string> => {
  // Another process: closing a file here would end the locks of SQLite on it.
  const process = Bun.spawn(["sha256sum", path], { stdout: "pipe" });
  return (await new Response(process.stdout).text()).split(" ")[0] ?? "";
};

const copied = async (path: string, to: string): Promise<Database> => {
  await Bun.spawn(["cp", path, to]).exited;
  return new Database(to, { readonly: true });
};

test("both files have what was acknowledged before, and nothing of what came later", async () => {
  const { folder, paths, history, store, holdStill, note } = await opened();
  await appendTexts(history, numbers(1, 500));
  await note("before");
  const still = await holdStill();
  await appendTexts(history, numbers(501, 1500));
  await note("after");
  using storeCopy = await copied(sqliteFile(folder), join(folder, "s"));
  using historyCopy = await copied(historyFile(folder), join(folder, "h"));
  expect(storeCopy.query("SELECT value FROM meta WHERE name = 'note'").get()).toEqual({ value: "before" });
  expect(historyCopy.query("SELECT top FROM streams").get()).toEqual({ top: 500 });
  expect(historyCopy.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  expect(still.files.map(({ name, path, bytes }) => [name, path, bytes])).toEqual(
    paths.map((path) => [path.split("/").at(-1) ?? "", path, statSync(path).size]),
  );
  expect(await still.release()).toBeTrue();
  expect(await store.meta("note")).toBe("after");
  expect(await history.read(anAppId("app"), "channel", ALL)).toMatchObject({ state: { top: 1500 } });
});

test("the files do not change while they are held, and do so afterwards", async () => {
  const { folder, paths, history, holdStill, note } = await opened();
  await appendTexts(history, numbers(1, 500));
  const still = await holdStill();
  const before = await Promise.all(paths.map(sha));
  for (let i = 0; i < 20; i++) {
    await appendTexts(history, numbers(1, 1000));
    await note(String(i));
  }
  expect(await Promise.all(paths.map(sha))).toEqual(before);
  await still.release();
  expect(statSync(`${historyFile(folder)}-wal`).size).toBe(0);
  expect((await Promise.all(paths.map(sha))).every((one, i) => one !== before[i])).toBeTrue();
});

test("a second hold waits for the first, and is of a later moment", async () => {
  const { holdStill, note, folder } = await opened();
  const first = await holdStill();
  let isSecond = false;
  const second = holdStill().then((still) => {
    isSecond = true;
    return still;
  });
  await note("between");
  expect(isSecond).toBeFalse();
  await first.release();
  const still = await second;
  using copy = await copied(sqliteFile(folder), join(folder, "s"));
  expect(copy.query("SELECT value FROM meta WHERE name = 'note'").get()).toEqual({ value: "between" });
  expect(await still.release()).toBeTrue();
});

test("a hold ends by itself when the logs grow too long, and says so", async () => {
  const { holdStill, history, folder } = await opened(200_000);
  const still = await holdStill();
  const wal = (): number => statSync(`${historyFile(folder)}-wal`).size;
  do await appendTexts(history, numbers(1, 1000));
  while (wal() > 0 && wal() < 50_000_000);
  await until("the hold has ended", () => wal() === 0);
  expect(await still.release()).toBeFalse();
  const next = await holdStill();
  expect(await next.release()).toBeTrue();
});

test("a copy is of no use if the history was found to be damaged meanwhile", async () => {
  const { holdStill, history } = await opened();
  const still = await holdStill();
  const damage = Object.assign(new Error("database disk image is malformed"), { code: "SQLITE_CORRUPT" });
  Reflect.get(history, "beginAnew").call(history, damage);
  expect(await still.release()).toBeFalse();
});

test("what is written during a hold survives the end of the process", async () => {
  const { holdStill, history, folder, note, store } = await opened();
  await holdStill();
  await appendTexts(history, numbers(1, 100));
  await note("kept");
  // As a kill leaves them: files and logs as they are now.
  const killed = newFolder();
  for (const name of ["parley.sqlite", "parley.sqlite-wal", "history.sqlite", "history.sqlite-wal"])
    copyFileSync(join(folder, name), join(killed, name));
  const reopened = await openStore(killed);
  const kept = new SqliteHistory({ path: historyFile(killed), sync: "process", setAside: () => undefined });
  expect(await reopened.meta("note")).toBe("kept");
  expect(await kept.read(anAppId("app"), "channel", ALL)).toMatchObject({ state: { top: 100 } });
  await kept.close();
  await reopened.close();
  expect(await store.meta("note")).toBe("kept");
});
