/** With very many messages that wait, each call reads few rows: the plans of the databases themselves say so. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { SQL } from "bun";
import type { Store } from "../../contract/store.ts";
import type { Database, Work } from "../../engines/database.ts";
import type { DbRow } from "../../engines/rows.ts";
import { openStore } from "../../open.ts";
import { newFolders, withApps } from "../../testing/places.ts";
import { type PlanNode, rowsRead } from "../../testing/plans.ts";
import { PostgresServer } from "../../testing/postgres.ts";
import { databaseOf } from "../../testing/recordings.ts";
import { aFailure, aMessage, anOutcome, leaseOf, quotaEvent, withWebhooks } from "../../testing/webhooks.ts";
import { Outbox } from "./outbox.ts";
import { SqlWebhooks } from "./webhooks.ts";

setDefaultTimeout(120_000);

const WAITING = 100_000;
const SUBJECTS = 1000;
const EVENTS = 100_000;
const ATTEMPTS = 60_000;
const NOW = 1_800_000_000_000;
/** A batch, and the index of the newest attempts. */
const ROWS_MAX = 2000;

type Value = string | number | null;
type Explain = (sql: SQL, text: string, values: readonly Value[]) => Promise<void>;

/** The same database, where each statement is explained before it is run. */
function explaining(database: Database, explain: Explain): Database {
  const wrapped = (sql: SQL): SQL => {
    const unsafe = async (text: string, values: readonly Value[] = []): Promise<unknown> => {
      await explain(sql, text, values);
      return sql.unsafe(text, [...values]);
    };
    const template = (texts: TemplateStringsArray, ...values: Value[]): Promise<unknown> =>
      unsafe(
        texts.reduce((text, next, at) => `${text}$${at}${next}`),
        values,
      );
    return Object.assign(template, { unsafe }) as unknown as SQL;
  };
  return {
    isShared: database.isShared,
    quickRun: <T>(work: Work<T>) => database.quickRun((sql) => work(wrapped(sql))),
    quickTransaction: <T>(work: Work<T>) => database.quickTransaction((sql) => work(wrapped(sql))),
  } as unknown as Database;
}

/** Every subject has 100 messages, of which the first may go; every tenth endpoint that is in the way has some, too. */
async function fill(store: Store): Promise<void> {
  await withWebhooks(store, "w1", "w2");
  await databaseOf(store).transaction(async (tx) => {
    await tx.unsafe(`
      INSERT INTO webhook_messages (webhook, seq, app, type, subject, happened, data, state, attempts, due, is_blocked,
        is_beside, is_lossy, last_attempt)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${WAITING})
      SELECT CASE WHEN i % 10 = 0 THEN 'w2' ELSE 'w1' END, i, 'a', 'room.updated', 's' || (i % ${SUBJECTS}), i, '{}',
        'waiting', 0, CASE WHEN i % 7 = 0 THEN ${NOW} + i ELSE 0 END, CASE WHEN i > ${SUBJECTS} THEN 1 ELSE 0 END, 0, i % 2, 0 FROM n`);
    await tx.unsafe(`
      INSERT INTO webhook_attempts (webhook, nr, app, seq, type, attempt, at, took_ms, is_success, status)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ATTEMPTS})
      SELECT 'w1', i, 'a', i, 'room.updated', 1, ${NOW}, 5, CASE WHEN i % 100 = 0 THEN 0 ELSE 1 END, 200 FROM n`);
    await tx.unsafe(`
      INSERT INTO webhook_events (id, nr, app, type, subject, happened, fact)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${EVENTS})
      SELECT 'e' || i, i, 'a', 'webhook.test', 's', 1, '{"type":"webhook.test"}' FROM n`);
    for (const webhook of ["w1", "w2"])
      await tx`
        INSERT INTO webhook_states (webhook, app, last_seq, last_attempt, backlog, dropped, delivered, failed)
        VALUES (${webhook}, 'a', ${WAITING}, ${ATTEMPTS}, ${webhook === "w1" ? WAITING * 0.9 : WAITING / 10}, 0, 0, 0)`;
  });
  if (store.isShared) await databaseOf(store).run((sql) => sql.unsafe("ANALYZE"));
}

/** Each call once. */
async function callAll(store: Store, database: Database): Promise<void> {
  const webhooks = new SqlWebhooks(database, new Outbox(database.isShared));
  const lease = await leaseOf(store);
  const bounds = { backlogMax: WAITING };
  await webhooks.addEvents([quotaEvent("q"), quotaEvent("q")]);
  const events = await webhooks.events(100);
  const messages = Array.from({ length: 10 }, (_, at) => aMessage(`s${at}`));
  await webhooks.enter(
    lease,
    messages,
    events.map(({ id }) => id),
    bounds,
  );
  await webhooks.enter(lease, messages, [], { backlogMax: WAITING * 0.9 });
  expect((await webhooks.waiting()).length).toBe(2);
  const due = await webhooks.due("w1", NOW * 2, 10, [1, 2]);
  expect(due.length).toBe(10);
  const outcomes = due.map(({ seq, subject }, at) => (at % 2 === 0 ? anOutcome(seq, subject) : aFailure(seq, subject)));
  expect(await webhooks.settle(lease, outcomes)).toBe("settled");
  await webhooks.states(["w1", "w2"]);
  await webhooks.message("w1", 5);
  await webhooks.attempts("w1", { limit: 50 });
  await webhooks.attempts("w1", { limit: 50, isSuccess: false, after: ATTEMPTS / 2 });
  await webhooks.attempt("w1", 5);
  await webhooks.resend("w1", due[0]?.seq ?? 0, NOW);
  await webhooks.trim("w1", NOW);
  const cursor = { webhook: "w1", app: aMessage("s").app, channel: "c", epoch: "e", position: 1, used: 1 };
  await webhooks.advance(lease, [cursor], [quotaEvent("q")], 10);
  await webhooks.cursors("w1");
  await webhooks.forget(100);
  await store.change((change) => change.removeWebhook("w2"));
  expect(await webhooks.forget(100)).toBe(100);
  expect(await webhooks.clearApp(cursor.app, 100)).toBe(100);
}

describe("SQLite", () => {
  const newFolder = newFolders();

  /** Tables of which few rows exist, or which the statement goes through in the order of an index until it has enough. */
  const isFine = (step: string): boolean =>
    !step.startsWith("SCAN") ||
    /^SCAN (v|json_each|CONSTANT ROW|oldest|\(subquery)/.test(step) ||
    /^SCAN (webhook_events|s) USING (COVERING )?INDEX webhook_(events_nr|states_backlog)/.test(step) ||
    /^SCAN s( USING COVERING INDEX sqlite_autoindex_webhook_states_1)?$/.test(step);

  test("reads no table from its beginning to its end", async () => {
    const store = await withApps(() => openStore(newFolder()));
    await fill(store);
    const scans = new Set<string>();
    const explain: Explain = async (sql, text, values) => {
      const steps: DbRow[] = await sql.unsafe(`EXPLAIN QUERY PLAN ${text}`, [...values]);
      for (const { detail } of steps) if (!isFine(String(detail))) scans.add(`${detail}: ${text}`);
    };
    await callAll(store, explaining(databaseOf(store), explain));
    expect([...scans]).toEqual([]);
    await store.close();
  });
});

describe("PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.stop());

  test("reads few rows in each step of each statement", async () => {
    const url = await server.newDatabase();
    const store = await withApps(() => openStore("", url));
    await fill(store);
    const large: string[] = [];
    const explain: Explain = async (sql, text, values) => {
      const isRead = text.trim().startsWith("SELECT");
      if (!isRead) await sql.unsafe("SAVEPOINT explained");
      const rows: { "QUERY PLAN": [{ Plan: PlanNode }] }[] = await sql.unsafe(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        [...values],
      );
      if (!isRead) await sql.unsafe("ROLLBACK TO explained");
      const read = Math.max(...rows.map((row) => rowsRead(row["QUERY PLAN"][0].Plan)));
      if (read > ROWS_MAX) large.push(`${read} rows: ${text}`);
    };
    await callAll(store, explaining(databaseOf(store), explain));
    expect(large).toEqual([]);
    await store.close();
  });
});
