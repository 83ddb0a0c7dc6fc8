/** PostgreSQL: what it holds is listed, and what is left of a deleted application. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { openPostgresHistory } from "../history/postgres/history.ts";
import { openStore } from "../store/open.ts";
import { SqlAmounts } from "../store/sql/amounts.ts";
import { PostgresServer } from "../store/testing/postgres.ts";
import { databaseOf } from "../store/testing/recordings.ts";
import { POSTGRES_HISTORY_TABLES, STORE_TABLES } from "./inventory/inventory.ts";
import { type DurableStores, deletionSuite } from "./testing/deletion.suite.ts";
import { expectListed } from "./testing/inventory.suite.ts";
import { tablesIn } from "./testing/tables.ts";

setDefaultTimeout(60_000);

let server: PostgresServer;
/** To copy: faster than the migrations. */
let migrated: string;
beforeAll(async () => {
  server = await PostgresServer.start();
  migrated = await server.newDatabase();
  const stores = await openAt(migrated);
  await close(stores);
});
afterAll(() => server.stop());

const opened: DurableStores[] = [];
afterEach(async () => {
  for (const stores of opened.splice(0)) await close(stores);
});

const openAt = async (url: string): Promise<DurableStores> => ({
  store: await openStore("", url),
  history: await openPostgresHistory({ url }),
});

async function close({ store, history }: DurableStores): Promise<void> {
  await history.close();
  await store.close();
}

async function open(): Promise<DurableStores> {
  const stores = await openAt(await server.newDatabase(migrated));
  opened.push(stores);
  return stores;
}

test("the inventory lists every table and column in PostgreSQL", async () => {
  const { store } = await open();
  expectListed(await tablesIn(databaseOf(store)), [...STORE_TABLES, ...POSTGRES_HISTORY_TABLES]);
});

test("beyond what is counted, numbers are those of the server's statistics", async () => {
  const { store, history } = await open();
  const database = databaseOf(store);
  await database.run(
    (sql) => sql`
      INSERT INTO usage (app, period, messages, peak_connections, guest_messages)
      SELECT 'a', n, 1, 1, 0 FROM generate_series(1, 500) AS n`,
  );
  const amounts = new SqlAmounts(database, 20);
  const counted = async (): Promise<number | undefined> => (await amounts.ofTables(["usage"])).get("usage")?.count;
  // The server has not counted them yet.
  expect(await counted()).toBeGreaterThan(20);
  await database.run((sql) => sql`ANALYZE usage`);
  expect((await amounts.ofTables(["usage"])).get("usage")).toEqual({
    count: 500,
    isAbout: true,
    bytes: expect.any(Number),
  });
  expect(await history.totals()).toEqual({ streams: 0, messages: 0, bytes: 0, isAbout: false });
});

describe("the deletion of an application", () => deletionSuite(open));
