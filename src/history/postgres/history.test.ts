/** History in a real PostgreSQL: the suite of every implementation. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { SQL } from "bun";
import { optionsOf } from "../../store/engines/postgres.ts";
import { PostgresServer } from "../../store/testing/postgres.ts";
import { historySuite } from "../testing/history.suite.ts";
import { appendTexts, STREAMS_MAX } from "../testing/kit.ts";
import { openPostgresHistory } from "./history.ts";
import { PostgresConnections } from "./server/connections.ts";

setDefaultTimeout(60_000);

let server: PostgresServer;
/** A database with the tables of the history, to copy. */
let made: string;
beforeAll(async () => {
  server = await PostgresServer.start();
  made = await server.newDatabase();
  await (await openPostgresHistory({ url: made })).close();
});
afterAll(() => server.stop());

historySuite("history in PostgreSQL", async () => {
  const url = await server.newDatabase(made);
  return {
    open: (time) => {
      const skewMs = (): number => time.passedMs + time.setMs;
      return openPostgresHistory({ url, skewMs, totalsEveryMs: 0, streamsMax: STREAMS_MAX });
    },
  };
});

test("the totals of very many channels are those of the server's statistics", async () => {
  const url = await server.newDatabase();
  await using store = disposable(await openPostgresHistory({ url, countedStreams: 1 }));
  for (const channel of ["one", "two"]) await appendTexts(store, ["a", "b"], { channel });
  await using sql = new SQL({ ...optionsOf(url), max: 1 });
  await sql`ANALYZE`;
  expect(await store.totals()).toEqual({ streams: 2, messages: 4, bytes: expect.any(Number), isAbout: true });
});

test("what a node has stored is found although it is committed long after its time, and the node is gone", async () => {
  const url = await server.newDatabase();
  await using store = disposable(await openPostgresHistory({ url }));
  await appendTexts(store, ["before"]);
  // As a node whose server waits for its disk or a standby: the transaction has made its changes, and no reader sees them yet.
  const connection = { application_name: "parley-history-of-a-node" };
  await using frozen = new SQL({ ...optionsOf(url), max: 1, connection });
  await frozen`BEGIN`;
  const [row]: { changed: string }[] = await frozen`
    UPDATE history_streams SET top = 2, top_check = 'late', changed = history_second(history_now(0)) RETURNING changed`;
  const changedMs = Number(row?.changed);
  // `changed` is a full second: a read that begins before its end would find it anyway.
  await Bun.sleep(changedMs - Date.now() + 1);
  const readMs = Date.now();
  const during = await store.heads(0);
  expect(during.heads).toEqual([]);
  await frozen`COMMIT`;
  expect((await store.heads(Date.now() - readMs)).heads).toEqual([]);
  const after = await store.heads(Date.now() - readMs + during.openMs);
  expect(after).toMatchObject({ heads: [{ app: "app", channel: "channel", offset: 2, check: "late" }], openMs: 0 });
});

test("statements that were prepared before another node has changed their tables are repeated", async () => {
  const url = await server.newDatabase();
  await using other = new SQL({ ...optionsOf(url), max: 1 });
  await other`CREATE TABLE things (id INT)`;
  await other`INSERT INTO things VALUES (1)`;
  await using connections = disposable(new PostgresConnections(optionsOf(url), 3));
  const readAll = (): Promise<object[][]> =>
    Promise.all(Array.from({ length: 12 }, () => connections.run((sql) => sql`SELECT * FROM things WHERE id = ${1}`)));
  await readAll();
  await other`ALTER TABLE things ADD COLUMN kind INT`;
  expect((await readAll()).flat()).toEqual(Array.from({ length: 12 }, () => ({ id: 1, kind: null })));
});

const disposable = <T extends { close(): Promise<void> }>(store: T): T & AsyncDisposable =>
  Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
