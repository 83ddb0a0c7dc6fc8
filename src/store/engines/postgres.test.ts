/** A real PostgreSQL: the suite of every store, and what several processes that share it rely on. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { SQL } from "bun";
import { until } from "../../../test/support/wait.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { freePort } from "../../testing/ports.ts";
import type { Store } from "../contract/store.ts";
import { StoreUnreachable } from "../contract/store.ts";
import { schemaVersion } from "../migrate.ts";
import { openStore } from "../open.ts";
import { withApps } from "../testing/places.ts";
import { PostgresServer } from "../testing/postgres.ts";
import { appRow, COMPLETION, roomRow, uploadRow } from "../testing/rows.ts";
import { storeSuite } from "../testing/store.suite.ts";
import type { Run, Work } from "./database.ts";
import { connectProblem, Postgres } from "./postgres.ts";
import type { DbRow } from "./rows.ts";

const A = anAppId("a");

setDefaultTimeout(60_000);

let server: PostgresServer;
/** A database with the schema and nothing else, to copy: faster than one migration per test. */
let migrated: string;
beforeAll(async () => {
  server = await PostgresServer.start();
  migrated = await server.newDatabase();
  await (await open(migrated)).close();
});
afterAll(() => server.stop());

const open = (url: string): Promise<Store> => openStore("", url);

describe("PostgreSQL", () =>
  storeSuite(
    async () => {
      const url = await server.newDatabase(migrated);
      return () => open(url);
    },
    { isSample: true },
  ));

/** Two nodes on one database. */
async function two(): Promise<{ one: Store; other: Store; close: () => Promise<void> }> {
  const url = await server.newDatabase(migrated);
  const one = await withApps(() => open(url));
  const other = await open(url);
  return { one, other, close: async () => void (await Promise.all([one.close(), other.close()])) };
}

describe("several processes", () => {
  test("that start on an empty database at once migrate it once", async () => {
    const url = await server.newDatabase();
    const stores = await Promise.all(Array.from({ length: 6 }, () => open(url)));
    await using sql = new SQL({ url, max: 1 });
    const versions = (await sql`SELECT version FROM migrations ORDER BY version`).map(
      ({ version }: { version: string }) => Number(version),
    );
    expect(versions).toEqual(Array.from({ length: schemaVersion() }, (_, i) => i + 1));
    for (const store of stores) await store.close();
  });

  test("a database of a newer version is refused", async () => {
    const url = await server.newDatabase();
    await (await open(url)).close();
    await using sql = new SQL({ url, max: 1 });
    await sql`INSERT INTO migrations (version, applied) VALUES (9999, 0)`;
    await expect(open(url)).rejects.toThrow("written by a newer Parley (its schema is 9999");
  });

  test("change one after the other: what a change has read stays as it is until its end", async () => {
    const { one, other, close } = await two();
    const count = (store: Store): Promise<void> =>
      store.change(async (change) => {
        const seen = Number((await change.meta("count")) ?? 0);
        await change.putMeta("count", String(seen + 1));
      });
    await Promise.all(Array.from({ length: 30 }, (_, i) => count(i % 2 === 0 ? one : other)));
    expect([await one.meta("count"), (await other.revisions()).keys]).toEqual(["30", 31]);
    await close();
  });

  test("a snapshot is consistent, whatever is changed meanwhile", async () => {
    const { one, other, close } = await two();
    let changing = true;
    const changes = (async () => {
      for (let i = 0; i < 60; i++)
        await one.change(async (change) => {
          const revision = i + 2;
          await change.putApp(appRow("a", { created: 1, planName: String(revision) }));
          await change.putApp(appRow("b", { created: 1, planName: String(revision) }));
        });
      changing = false;
    })();
    while (changing) {
      const { revision, apps } = await other.snapshot();
      const plans = apps.map(({ planName }) => planName).filter((name) => name !== "default");
      expect(plans).toEqual(plans.map(() => String(revision)));
    }
    await changes;
    await close();
  });

  test("one of them archives a due room, takes a free upload, completes and deletes", async () => {
    const { one, other, close } = await two();
    for (let i = 0; i < 40; i++) await one.rooms.addRoom(roomRow(`${i}`, { archiveAt: 5 }));
    const archived = await Promise.all([one, other, one, other].map((store) => store.rooms.archiveDue(10, 500)));
    expect(archived.reduce((sum, count) => sum + count, 0)).toBe(40);

    const stores = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? one : other).recordings);
    const added = await Promise.all(stores.map((store, i) => store.addUpload(uploadRow(`u${i}`), 5)));
    expect(added.filter(Boolean)).toHaveLength(5);
    const first = `u${added.indexOf(true)}`;
    const completed = await Promise.all(stores.map((store) => store.complete(first, 0, COMPLETION)));
    expect(completed.filter((row) => row !== undefined)).toHaveLength(1);
    const deleted = await Promise.all(stores.map((store) => store.deleteRecordings(A, [first])));
    expect(deleted.flat()).toEqual([first]);
    await close();
  });

  test("a reader that follows the order misses nothing while several complete", async () => {
    const { one, other, close } = await two();
    const names = Array.from({ length: 60 }, (_, i) => `u${i}`);
    for (const name of names) await one.recordings.addUpload(uploadRow(name), 1e9);
    let left = names.length;
    const completing = names.map(async (name, i) => {
      await (i % 2 === 0 ? one : other).recordings.complete(name, 0, COMPLETION);
      left--;
    });
    const seen: number[] = [];
    for (let isOver = false; !isOver; ) {
      isOver = left === 0;
      const rows = await other.recordings.page(A, { filter: {}, order: "asc", limit: 100, after: seen.at(-1) });
      seen.push(...rows.map(({ seq }) => seq));
    }
    await Promise.all(completing);
    expect(seen).toEqual(names.map((_, i) => i + 1));
    await close();
  });

  test("usage of the same applications, written by both in any order, is summed", async () => {
    const { one, other, close } = await two();
    const apps = Array.from({ length: 20 }, (_, i) => anAppId(`app${i}`));
    const rows = apps.map((name) => ({ app: name, period: 1, messages: 1, guestMessages: 0, peakConnections: 1 }));
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        i % 2 === 0
          ? one.addUsage(rows, { writer: `w${i}`, seq: 1, atMs: 1 })
          : other.addUsage(rows.toReversed(), { writer: `w${i}`, seq: 1, atMs: 1 }),
      ),
    );
    expect((await one.usage(1)).map(({ messages }) => messages)).toEqual(apps.map(() => 20));
    await close();
  });

  test("a write of usage that is repeated while its first attempt is under way counts once", async () => {
    const { one, other, close } = await two();
    const row = { app: A, period: 1, messages: 3, guestMessages: 1, peakConnections: 1 };
    for (let seq = 1; seq <= 20; seq++)
      await Promise.all([one, other, one].map((store) => store.addUsage([row], { writer: "w", seq, atMs: 1 })));
    expect(await one.usage(1)).toEqual([{ ...row, messages: 60, guestMessages: 20 }]);
    await close();
  });

  test("a lock has one holder, and is free after its release", async () => {
    const { one, other, close } = await two();
    const got: string[] = [];
    const release = await one.lock("first run");
    const second = other.lock("first run").then((letGo) => {
      got.push("second");
      return letGo;
    });
    expect(await one.lock("something else")).toBeFunction();
    expect(got).toEqual([]);
    got.push("released");
    await release();
    await second;
    expect(got).toEqual(["released", "second"]);
    // Closing releases the locks that are still held.
    await close();
  });

  test("a lock is free after its holder was killed", async () => {
    const url = await server.newDatabase();
    const store = await open(url);
    const script = `import { openStore } from "${join(import.meta.dir, "../open.ts")}";
      const store = await openStore("", process.env.URL); await store.lock("first run"); console.log("held"); setInterval(() => {}, 1000)`;
    const child = Bun.spawn([process.execPath, "-e", script], { env: { ...process.env, URL: url }, stdout: "pipe" });
    const held = await child.stdout.getReader().read();
    expect(new TextDecoder().decode(held.value)).toBe("held\n");
    let isFree = false;
    const locked = store.lock("first run").then((release) => {
      isFree = true;
      return release();
    });
    await store.revisions();
    expect(isFree).toBe(false);
    child.kill("SIGKILL");
    await locked;
    await store.close();
  });
});

test("a text with U+0000 is not found, and refused when it is written", async () => {
  const url = await server.newDatabase();
  const store = await withApps(() => open(url));
  expect([await store.app("a\0b"), await store.rooms.room(A, "\0", 0)]).toEqual([undefined, undefined]);
  const putting = store.change((change) => change.putApp(appRow("x", { name: "\0" })));
  await expect(putting).rejects.toThrow("U+0000");
  await store.close();
});

describe("unreachable", () => {
  test("at the start: the error names host and database, and not the password", async () => {
    const url = server.url("not_there");
    const refused = await open(url).catch((error: Error) => error.message);
    expect(refused).toBe(
      `PARLEY_DATABASE_URL: PostgreSQL at 127.0.0.1:${server.port}/not_there refuses the connection: database "not_there" does not exist`,
    );
  });

  test("at the start: a server that is down is distinguished from one that refuses the login", async () => {
    const problem = async (url: string): Promise<string> => {
      const database = new Postgres(url);
      const error: unknown = await database.probe((sql) => sql`SELECT 1`).catch((reason: unknown) => reason);
      await database.close();
      return connectProblem(error);
    };
    const down = await problem(`postgres://parley:hunter2@127.0.0.1:${await freePort()}/parley`);
    expect(down).toMatch(/^cannot be reached \(.+\): start it, or correct the address$/);
    const login = await problem(server.url("postgres").replace(/\/\/([^@/]+@)?/, "//nobody_there:hunter2@"));
    expect(login).toMatch(/^refuses the login: .*nobody_there/);
    expect(down + login).not.toContain("hunter2");
    expect(connectProblem(new StoreUnreachable("it has not answered for 3 seconds"))).toStartWith("cannot be reached");
  });

  test("calls fail meanwhile, acknowledged changes are kept, and the store recovers by itself", async () => {
    const url = await server.newDatabase();
    const store = await withApps(() => open(url));
    await server.checkpoint();
    const acknowledged: number[] = [];
    let writing = true;
    const writer = (async () => {
      for (let i = 0; writing; i++)
        await store
          .change((change) => change.putMeta(`m${i}`, "x"))
          .then(
            () => acknowledged.push(i),
            (error) => expect(error).toBeInstanceOf(StoreUnreachable),
          );
    })();
    await until("20 changes are acknowledged", () => acknowledged.length >= 20);
    await server.end();
    for (const call of [
      () => store.revisions(),
      () => store.apps(),
      () => store.rooms.rooms(A, 5, undefined, 0),
      () => store.recordings.addUpload(uploadRow("u"), 5),
      () =>
        store.addUsage([{ app: A, period: 1, messages: 1, guestMessages: 0, peakConnections: 1 }], {
          writer: "w",
          seq: 1,
          atMs: 1,
        }),
    ])
      await expect(call()).rejects.toBeInstanceOf(StoreUnreachable);
    writing = false;
    await writer;
    await server.begin();
    for (const i of acknowledged) expect(await store.meta(`m${i}`)).toBe("x");
    await store.change((change) => change.putMeta("after", "x"));
    await store.close();
  });

  test("frozen: the probe times out, and all waiting calls fail with it", async () => {
    const url = await server.newDatabase();
    const store = await withApps(() => open(url));
    await server.freeze();
    try {
      const waiting = store.apps().catch((error) => error);
      await expect(store.revisions()).rejects.toBeInstanceOf(StoreUnreachable);
      expect(await waiting).toBeInstanceOf(StoreUnreachable);
    } finally {
      await server.thaw();
    }
    expect((await store.apps()).map(({ id }) => id)).toEqual([A, anAppId("b")]);
    await store.close();
  });
});

describe("another node changes the tables", () => {
  const CALLS = 20;

  /** A table, and what this node has prepared for it on every connection. */
  async function prepared(): Promise<{ database: Postgres; other: SQL; readAll: (run: Run) => Promise<DbRow[]> }> {
    const url = await server.newDatabase();
    const other = new SQL({ url, max: 1 });
    await other`CREATE TABLE things (id INT)`;
    await other`INSERT INTO things VALUES (1)`;
    const database = new Postgres(url);
    const readAll = async (run: Run): Promise<DbRow[]> => {
      const read: Work<DbRow[]> = (sql) => sql`SELECT * FROM things WHERE id = ${1}`;
      return (await Promise.all(Array.from({ length: CALLS }, () => run(read)))).flat();
    };
    return { database, other, readAll };
  }

  test("prepared statements go on", async () => {
    const { database, other, readAll } = await prepared();
    for (const [i, how] of (["run", "transaction", "consistentRead", "probe"] as const).entries()) {
      await readAll(database[how]);
      await other.unsafe(`ALTER TABLE things ADD COLUMN kind${i} INT`);
      const columns = (await readAll(database[how])).map((row) => Object.keys(row).length);
      expect([how, ...columns]).toEqual([how, ...Array.from({ length: CALLS }, () => i + 2)]);
    }
    await Promise.all([database.close(), other.close()]);
  });

  test("a transaction is repeated as a whole, and its changes are made once", async () => {
    const { database, other } = await prepared();
    const count: Work<void> = async (tx) => {
      await tx`UPDATE things SET id = id + 1`;
      await tx`SELECT * FROM things WHERE id > ${0}`;
    };
    await database.transaction(count);
    await other`ALTER TABLE things ADD COLUMN kind INT`;
    await Promise.all(Array.from({ length: CALLS }, () => database.transaction(count)));
    expect(await other`SELECT id FROM things`).toEqual([{ id: 1 + 1 + CALLS }]);
    await Promise.all([database.close(), other.close()]);
  });
});
