/** Connections of nodes of 0.1.0, as far as PostgreSQL sees them, while another node changes their tables. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { SQL } from "bun";
import { until } from "../../../test/support/wait.ts";
import { openStore } from "../open.ts";
import { fillAsVersion } from "../testing/older.ts";
import { PostgresServer } from "../testing/postgres.ts";
import { EarlierNodes } from "./earlier-nodes.ts";

setDefaultTimeout(60_000);

const CONNECTIONS = 4;
/** That of 0.1.0. */
const SCHEMA_OF_THEM = 16;
const TABLES = ["things", "not_there_yet"];

let server: PostgresServer;
let url: string;
let opened: SQL[];
beforeAll(async () => {
  server = await PostgresServer.start();
});
beforeEach(async () => {
  url = await server.newDatabase();
  opened = [];
});
afterEach(async () => {
  await Promise.all(opened.map((sql) => sql.close({ timeout: 0 })));
});
afterAll(() => server.stop());

function connect(max: number, name = "parley"): SQL {
  const sql = new SQL({ url, max, connection: { application_name: name } });
  opened.push(sql);
  return sql;
}

/** In a transaction: outside of one, Bun prepares a statement again by itself. */
const things = (sql: SQL): Promise<object[]> => sql.begin((tx) => tx`SELECT * FROM things WHERE id > ${0}`);
const pids = async (sql: SQL): Promise<number[]> =>
  (
    await Promise.all(Array.from({ length: CONNECTIONS }, () => sql`SELECT pg_backend_pid() AS pid, pg_sleep(0.1)`))
  ).map(([row]) => Number(row?.pid));

/** A pool whose connections have all prepared what they ask. */
async function prepared(name?: string): Promise<SQL> {
  const sql = connect(CONNECTIONS, name);
  await sql`CREATE TABLE IF NOT EXISTS things (id INT)`;
  await Promise.all(Array.from({ length: 10 * CONNECTIONS }, () => things(sql)));
  return sql;
}

async function change(earlier: EarlierNodes | undefined, meanwhile: () => Promise<void> = async () => {}) {
  const sql = connect(1, "migrating");
  await sql.begin(async (tx) => {
    await earlier?.lock(tx, TABLES);
    await meanwhile();
    await tx`ALTER TABLE things ADD COLUMN more INT`;
  });
  await earlier?.closeRest(sql);
}

/** Statements of all connections, one after another; how many have failed. */
async function failures(sql: SQL): Promise<number> {
  let failed = 0;
  for (let at = 0; at < 5 * CONNECTIONS; at++) await things(sql).catch(() => failed++);
  return failed;
}

/** Closed connections are noticed by their client a moment later. */
const replaced = (sql: SQL, before: readonly number[]): Promise<unknown> =>
  until("its connections are new", async () => {
    const now = await pids(sql).catch(() => before);
    return !now.some((pid) => before.includes(pid));
  });

describe("statements of a node of 0.1.0", () => {
  test("would fail", async () => {
    const node = await prepared();
    await change(undefined);
    // Once on each connection that it was prepared on, which may not be all.
    expect(await failures(node)).toBeWithin(1, CONNECTIONS + 1);
  });

  test("do not fail, neither those that wait for the change nor those that follow", async () => {
    const node = await prepared();
    const before = await pids(node);
    const { promise: asked, resolve } = Promise.withResolvers<Promise<object[]>>();
    await change(new EarlierNodes(), async () => {
      await replaced(node, before);
      resolve(things(node));
      await until("it waits for the table", async () => {
        const [row] = await connect(1, "watching")`
          SELECT count(*) AS waiting FROM pg_locks WHERE relation = 'things'::regclass AND NOT granted`;
        return Number(row?.waiting) === 1;
      });
    });
    expect(await asked).toEqual([]);
    expect(await failures(node)).toBe(0);
  });

  test("that are under way end as usual, and their connection is closed then", async () => {
    const node = await prepared();
    const slow = node`SELECT pg_sleep(1), 'done' AS outcome`.then(([row]) => row?.outcome);
    await until("it has begun", async () => {
      const [row] = await connect(1, "watching")`
        SELECT count(*) AS busy FROM pg_stat_activity WHERE state = 'active' AND application_name = 'parley'`;
      return Number(row?.busy) === 1;
    });
    await change(new EarlierNodes());
    expect(await slow).toBe("done");
    const [row] = await connect(1, "watching")`
      SELECT count(*) AS old FROM pg_stat_activity WHERE application_name = 'parley' AND state <> 'active'`;
    expect(Number(row?.old)).toBe(0);
  });
});

test("an upgrade of the store from 0.1.0 makes no statement of its nodes fail", async () => {
  await fillAsVersion(connect(1, "filling"), SCHEMA_OF_THEM);
  const names: { name: string }[] = await connect(1, "filling")`
    SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`;
  expect(names.length).toBeGreaterThan(20);
  const node = connect(CONNECTIONS);
  const ask = (name: string): Promise<unknown> => node.begin((tx) => tx`SELECT * FROM ${tx(name)} WHERE ${1} = 1`);
  for (const { name } of names) await Promise.all(Array.from({ length: 3 * CONNECTIONS }, () => ask(name)));
  await (await openStore("", url)).close();
  const failed: string[] = [];
  for (let at = 0; at < 2 * CONNECTIONS; at++)
    for (const { name } of names) await ask(name).catch((error: Error) => failed.push(`${name}: ${error.message}`));
  expect(failed).toEqual([]);
});

test("an upgrade that PostgreSQL ends because a node locks the same tables in another order is repeated", async () => {
  await fillAsVersion(connect(1, "filling"), SCHEMA_OF_THEM);
  const node = connect(1);
  // The other one finds the deadlock first, and is ended.
  await node`SET deadlock_timeout = '30s'`;
  const said: string[] = [];
  const log = { info: (text: string) => said.push(text), warn: (text: string) => said.push(text) };
  const { opening } = await node.begin(async (tx) => {
    await tx`UPDATE recordings SET room = room`;
    const opening = openStore("", url, log);
    await until("the upgrade waits for the table", async () => {
      const [row] = await connect(1, "watching")`
        SELECT count(*) AS waiting FROM pg_locks WHERE relation = 'recordings'::regclass AND NOT granted`;
      return Number(row?.waiting) === 1;
    });
    // Which it has locked before that one.
    await tx`UPDATE uploads SET room = room`;
    return { opening };
  });
  await (await opening).close();
  expect(said).toEqual([
    expect.stringMatching(/^upgrading the store/),
    expect.stringMatching(/^the store was upgraded/),
  ]);
});

test("connections of other programs stay, and one that holds a lock", async () => {
  const [other, locking] = [await prepared("parley-store"), connect(1)];
  await locking`SELECT pg_advisory_lock(1, 2)`;
  const before = await pids(other);
  const [lock] = await locking`SELECT pg_backend_pid() AS pid`;
  await change(new EarlierNodes());
  expect(new Set(await pids(other))).toEqual(new Set(before));
  expect((await locking`SELECT pg_backend_pid() AS pid`)[0]).toEqual(lock);
});
