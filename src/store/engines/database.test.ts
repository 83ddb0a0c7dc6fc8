/** One connection to SQLite: what waits for the disk, and what survives the end of the process. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { SQL } from "bun";
import { anAppId } from "../../base/testing/ids.ts";
import { openSqlite, openStore, sqliteFile } from "../open.ts";
import { newFolders } from "../testing/places.ts";
import { OneConnection } from "./database.ts";

const newFolder = newFolders();

/** As SQLite numbers them. */
const NORMAL = 1;
const FULL = 2;

test("only quick statements are committed without a sync, in whatever order they are asked for", async () => {
  const database = new OneConnection(await openSqlite(sqliteFile(newFolder())));
  const sync = async (sql: SQL): Promise<number> => Number((await sql`PRAGMA synchronous`)[0]?.synchronous);
  const failing = database.quickTransaction(async () => {
    throw new Error("no");
  });
  const seen = await Promise.all([
    database.run(sync),
    database.quickRun(sync),
    database.transaction(sync),
    database.quickTransaction(sync),
    database.quickTransaction(sync),
    database.probe(sync),
    failing.catch(() => 0),
    database.consistentRead(sync),
  ]);
  expect(seen).toEqual([FULL, NORMAL, FULL, NORMAL, NORMAL, FULL, 0, FULL]);
  await database.close();
});

test("a stay that has begun is there after kill -9", async () => {
  const folder = newFolder();
  const program = `
    import { openStore } from "${join(import.meta.dir, "../open.ts")}";
    import { entering } from "${join(import.meta.dir, "../testing/meetings.ts")}";
    import { appRow } from "${join(import.meta.dir, "../testing/rows.ts")}";
    const store = await openStore(${JSON.stringify(folder)});
    await store.change((change) => change.putApp(appRow("a")));
    for (const id of ["p", "q"]) await store.meetings.enter(entering(id, "r"), 5, 1000);
    await store.meetings.end("q", "left", 2000);
    console.log("entered");
    setInterval(() => undefined, 1000);`;
  const child = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe" });
  const { value } = await child.stdout.getReader().read();
  expect(new TextDecoder().decode(value)).toBe("entered\n");
  child.kill("SIGKILL");
  await child.exited;
  const store = await openStore(folder);
  expect((await store.meetings.openStays(anAppId("a"), "r")).map(({ id }) => id)).toEqual(["p"]);
  expect(await store.meetings.stay("q")).toMatchObject({ ended: 2000 });
  // Its node does not beat any more.
  const overdue = await store.meetings.overdue(1001, 9);
  expect((await store.meetings.endOverdue(1001, overdue)).map(({ id, ended }) => [id, ended])).toEqual([["p", 1000]]);
  await store.close();
});
