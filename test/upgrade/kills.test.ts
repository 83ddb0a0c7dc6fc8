/**
 * Upgrades of a store that are killed at random moments, or run out of disk: the store is then either as it was, or upgraded; a copy that has its
 * name is complete; and the next start finishes the upgrade.
 */
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { closeSync, cpSync, existsSync, openSync, readdirSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { copiesFolder } from "../../src/store/before-upgrade.ts";
import { foundEmbedded } from "../../src/store/found.ts";
import { schemaVersion } from "../../src/store/migrate.ts";
import { openSqlite, sqliteFile } from "../../src/store/open.ts";
import { fillAsVersion } from "../../src/store/testing/older.ts";
import { Chance } from "../support/random.ts";
import { IS_FULL } from "../support/slack.ts";
import { scratch } from "../support/temp.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(600_000);

const OLD = 16;
/** With this many recordings and stays, copy and migrations take long enough to be hit. */
const ROWS = IS_FULL ? 60_000 : 500;
const KILLS = IS_FULL ? 60 : 2;
const FULL_DISKS = 30;
/** About how long the migrations take behind the copy. */
const MIGRATIONS_MS = 60;
const OPEN = `import { openStore } from "${join(import.meta.dir, "../../src/store/open.ts")}";
  console.log("opening");
  const log = { info: (text) => console.log(text), warn: console.log };
  await (await openStore(process.argv.at(-1), "", log)).close();`;

/** A store of schema 16 with many rows in the tables that later migrations change. */
async function fill(folder: string): Promise<void> {
  const sql = await openSqlite(sqliteFile(folder));
  await fillAsVersion(sql, OLD);
  await sql.unsafe(`
    INSERT INTO meetings (id, app, room, room_name, began, ended, is_locked, is_empty, last_end)
      VALUES ('m', 'old', 'r', 'standup', 1, 2, 0, 1, 2);
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})
      INSERT INTO stays (id, meeting, app, room, name, is_admin, is_guest, seen, began, ended, why)
      SELECT 'stay-' || i, 'm', 'old', 'r', 'a name ' || i, 0, 1, i, i, i, CASE WHEN i % 3 = 0 THEN 'removed' ELSE 'left' END FROM n;
  `);
  await sql.close();
}

/** Everything that the earlier version knows, whatever the schema is. */
function digestOf(path: string): string {
  using db = new Database(path, { readwrite: true, create: false });
  expect(db.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  const rows = [
    db.query("SELECT id, name, secret_sealed FROM apps").values(),
    db.query("SELECT id, name, why, ended FROM stays ORDER BY id").values(),
    db.query("SELECT id, fields FROM rooms").values(),
  ];
  return String(Bun.hash(JSON.stringify(rows)));
}

/** A copy of the folder that a killed process has left, judged by opening it. */
function judge(folder: string, expected: string): number {
  using copy = scratch();
  cpSync(folder, copy.path, { recursive: true });
  const { schema } = foundEmbedded(copy.path);
  expect([OLD, schemaVersion()]).toContain(schema);
  expect(digestOf(sqliteFile(copy.path))).toBe(expected);
  const file = join(copiesFolder(copy.path), `parley-schema-${OLD}.sqlite`);
  if (schema === schemaVersion()) expect(existsSync(file)).toBe(true);
  if (existsSync(file)) expect(digestOf(file)).toBe(expected);
  return schema;
}

const upgrading = (folder: string, wrap: readonly string[] = []) =>
  Bun.spawn([...wrap, process.execPath, "-e", OPEN, folder], { stdout: "pipe", stderr: "pipe" });

test("a start that is killed at any moment of an upgrade leaves the store as it was, or upgraded", async () => {
  using seed = scratch();
  await fill(seed.path);
  const expected = digestOf(sqliteFile(seed.path));
  const chance = new Chance(1);
  // How long a whole upgrade takes here.
  const [beganMs, whole] = [performance.now(), scratch()];
  using _whole = whole;
  cpSync(seed.path, whole.path, { recursive: true });
  expect(await upgrading(whole.path).exited).toBe(0);
  const takesMs = performance.now() - beganMs;
  const found = new Map<string, number>();
  for (let round = 0; round < KILLS; round++) {
    using folder = scratch();
    cpSync(seed.path, folder.path, { recursive: true });
    const child = upgrading(folder.path);
    // Every second one while the migrations run, which take less time than the copy.
    if (round % 2 === 0) await Bun.sleep(takesMs * (0.1 + chance.below(900) / 1000));
    else await copied(folder.path, chance.below(MIGRATIONS_MS));
    child.kill("SIGKILL");
    await child.exited;
    const schema = judge(folder.path, expected);
    const copies = existsSync(copiesFolder(folder.path)) ? readdirSync(copiesFolder(folder.path)) : [];
    const what = `schema ${schema}, ${copies.length === 0 ? "no copy" : copies.some((name) => name.endsWith(".sqlite")) ? "a copy" : "a part of a copy"}`;
    found.set(what, (found.get(what) ?? 0) + 1);
    // The next start finishes it, and leaves one whole copy.
    expect(await upgrading(folder.path).exited).toBe(0);
    expect(judge(folder.path, expected)).toBe(schemaVersion());
    expect(readdirSync(copiesFolder(folder.path))).toEqual([`parley-schema-${OLD}.sqlite`]);
  }
  console.log(`killed upgrades of ${Math.round(takesMs)} ms: ${JSON.stringify(Object.fromEntries(found))}`);
});

test("a file that cannot grow ends the start with the reason, and the store is as it was", async () => {
  using seed = scratch();
  await fill(seed.path);
  const expected = digestOf(sqliteFile(seed.path));
  // No file may grow beyond this limit, of 512 bytes: half of the copy. Without the trap the signal would end the process.
  const blocks = Math.ceil(foundEmbedded(seed.path).bytes / 2 / 512);
  const child = upgrading(seed.path, ["sh", "-c", `trap "" XFSZ; ulimit -f ${blocks}; exec "$@"`, "sh"]);
  const [text, code] = [await new Response(child.stderr).text(), await child.exited];
  expect(code).not.toBe(0);
  expect(text).toContain(
    `the store could not be upgraded from schema ${OLD} to ${schemaVersion()}: disk I/O error. It is unchanged`,
  );
  expect(judge(seed.path, expected)).toBe(OLD);
  expect(readdirSync(copiesFolder(seed.path))).toEqual([]);
  expect(await upgrading(seed.path).exited).toBe(0);
  expect(judge(seed.path, expected)).toBe(schemaVersion());
});

const MAY_MOUNT = Bun.spawnSync(["unshare", "--mount", "true"]).success;
const ROOM_FOR_CHECK = 40 * 1024 * 1024;

test.skipIf(!IS_FULL || !MAY_MOUNT)(
  "a disk that becomes full at any moment: the store is as it was, or upgraded",
  async () => {
    using seed = scratch();
    await fill(seed.path);
    const expected = digestOf(sqliteFile(seed.path));
    const chance = new Chance(2);
    const found = new Map<string, number>();
    for (let round = 0; round < FULL_DISKS; round++) {
      using disk = mounted(3 * foundEmbedded(seed.path).bytes + ROOM_FOR_CHECK);
      cpSync(seed.path, disk.path, { recursive: true });
      const child = upgrading(disk.path);
      const lines = child.stdout.getReader();
      await lines.read();
      await Bun.sleep(chance.below(250));
      const filler = join(disk.path, "filler");
      fillDisk(filler, chance.pick([0, 0, 16, 128]) * 1024);
      const [text, code] = [await new Response(child.stderr).text(), await child.exited];
      rmSync(filler);
      const outcome = code === 0 ? "done" : (/error: (the store.*?)\. /.exec(text)?.[1] ?? text.slice(0, 500));
      found.set(outcome, (found.get(outcome) ?? 0) + 1);
      expect(judge(disk.path, expected)).toBe(code === 0 ? schemaVersion() : OLD);
      expect(await upgrading(disk.path).exited).toBe(0);
      expect(judge(disk.path, expected)).toBe(schemaVersion());
    }
    console.log(`disks that became full: ${JSON.stringify(Object.fromEntries(found), null, 1)}`);
  },
);

/** Resolves some time after the copy has its name. */
async function copied(folder: string, afterMs: number): Promise<void> {
  const file = join(copiesFolder(folder), `parley-schema-${OLD}.sqlite`);
  await until("the copy is made", () => existsSync(file));
  await Bun.sleep(afterMs);
}

/** A disk of its own, in memory. */
function mounted(bytes: number): Disposable & { readonly path: string } {
  const folder = scratch();
  const { success, stderr } = Bun.spawnSync([
    "mount",
    "-t",
    "tmpfs",
    "-o",
    `size=${bytes}`,
    "parley-test",
    folder.path,
  ]);
  if (!success) throw new Error(`no tmpfs could be mounted: ${stderr}`);
  return {
    path: folder.path,
    [Symbol.dispose]: () => {
      Bun.spawnSync(["umount", "--lazy", folder.path]);
      folder[Symbol.dispose]();
    },
  };
}

/** Takes all that is free, except for about this number of bytes. */
function fillDisk(file: string, left: number): void {
  const { bavail, bsize } = statfsSync(join(file, ".."));
  const handle = openSync(file, "w");
  try {
    const chunk = Buffer.alloc(1 << 20);
    for (let free = bavail * bsize - left; free > 0; free -= chunk.length)
      writeSync(handle, chunk, 0, Math.min(chunk.length, free));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    closeSync(handle);
  }
}
