/**
 * Batches whose answer does not come, on a real PostgreSQL: `settle` says what became of each, and a batch that it reports as not
 * stored is never stored later, wherever it was on its way.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { SQL } from "bun";
import { anAppId } from "../../src/base/testing/ids.ts";
import { type Batch, HistoryUnavailable } from "../../src/history/contract/history.ts";
import { openPostgresHistory, type PostgresHistory } from "../../src/history/postgres/history.ts";
import { ALL, batchOf, KEEP, texts } from "../../src/history/testing/kit.ts";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import { NetworkProxy } from "../support/network-proxy.ts";
import { retried, until } from "../support/wait.ts";

const APP = anAppId("app");

setDefaultTimeout(60_000);

/** Long enough for every call that is to succeed, also on a busy machine. */
const ANSWER_MS = 1500;
let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server.stop());

interface Kit extends AsyncDisposable {
  readonly history: PostgresHistory;
  readonly proxy: NetworkProxy;
  /** Connections of the test itself, past the proxy. */
  readonly sql: SQL;
}

/** A history behind a proxy, with one message in it. */
async function setup(answerMs = ANSWER_MS): Promise<Kit> {
  const url = await server.newDatabase();
  const proxy = await NetworkProxy.to(server.port);
  const history = await openPostgresHistory({ url: url.replace(`:${server.port}/`, `:${proxy.port}/`), answerMs });
  const sql = new SQL({ url, max: 3 });
  await history.append(named("first"));
  return {
    history,
    proxy,
    sql,
    [Symbol.asyncDispose]: async () => {
      await history.close();
      await sql.close({ timeout: 0 });
      await proxy.close();
    },
  };
}

const named = (text: string): Batch => batchOf({ dataJson: JSON.stringify(text) });

async function stored({ history }: Kit): Promise<readonly string[]> {
  const page = await history.read(APP, "channel", ALL);
  expect(page?.messages.map(({ offset }) => offset)).toEqual(page?.messages.map((_, index) => index + 1) ?? []);
  return texts(page?.messages ?? []);
}

/** Retries like the appender does. */
const settle = ({ history }: Kit, batch: Batch) =>
  retried(
    "the batch is settled",
    () => history.settle(batch),
    (error) => error instanceof HistoryUnavailable,
  );

/** The processes of the server that wait in an append. */
const waiting = async ({ sql }: Kit): Promise<readonly number[]> => {
  const rows: { pid: number }[] = await sql`
    SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'parley-history-%' AND wait_event_type = 'Lock'`;
  return rows.map(({ pid }) => pid);
};

/** Locks the stream until released, so that an append waits in the server. */
async function lockStream({ sql }: Kit): Promise<() => Promise<void>> {
  const held = await sql.reserve();
  await held`BEGIN`;
  await held`SELECT 1 FROM history_streams FOR UPDATE`;
  return async () => {
    await held`ROLLBACK`;
    held.release();
  };
}

test("a batch whose connection breaks before it is stored is not stored", async () => {
  await using kit = await setup(5000);
  const release = await lockStream(kit);
  const batch = named("lost");
  const appending = kit.history.append(batch).catch((error: unknown) => error);
  await until("the append waits", async () => (await waiting(kit)).length === 1);
  await kit.sql`SELECT pg_terminate_backend(${(await waiting(kit))[0]}::INT)`;
  expect(await appending).toBeInstanceOf(HistoryUnavailable);
  await release();
  // Nothing is appended before the fate of the last batch is known.
  expect(kit.history.append(named("too early"))).rejects.toBeInstanceOf(HistoryUnavailable);
  expect(await settle(kit, batch)).toBeUndefined();
  await kit.history.append(named("next"));
  expect(await stored(kit)).toEqual(["first", "next"]);
});

test("a batch that was stored but not answered is found, and appending goes on", async () => {
  await using kit = await setup();
  await kit.history.open(APP, "other", KEEP);
  kit.proxy.stall("down");
  const batch = batchOf({ dataJson: '"stored"', id: "i" }, { channel: "other", id: "j" });
  await expect(kit.history.append(batch)).rejects.toBeInstanceOf(HistoryUnavailable);
  await expect(kit.history.settle(batch)).rejects.toBeInstanceOf(HistoryUnavailable);
  kit.proxy.cut();
  kit.proxy.mend();
  const results = await settle(kit, batch);
  expect(results?.map(({ offset, check, isDuplicate }) => [offset, check, isDuplicate])).toEqual([
    [2, batch.check, false],
    [1, batch.check, false],
  ]);
  await kit.history.append(named("next"));
  expect(await stored(kit)).toEqual(["first", "stored", "next"]);
});

test("a batch that lies in a buffer while it is settled is stored as settled, and never later", async () => {
  await using kit = await setup();
  const expected = ["first"];
  for (let round = 0; round < (process.env.PARLEY_TEST_FULL ? 10 : 3); round++) {
    const name = `round ${round}`;
    kit.proxy.stall("up");
    const batch = named(name);
    await expect(kit.history.append(batch)).rejects.toBeInstanceOf(HistoryUnavailable);
    const settling = settle(kit, batch);
    await Bun.sleep(Math.random() * 50);
    kit.proxy.resume();
    if (await settling) expected.push(name);
    await kit.history.append(named(`after ${round}`));
    expected.push(`after ${round}`);
  }
  await kit.history.append(named("end"));
  expect(await stored(kit)).toEqual([...expected, "end"]);
});

test("a batch is not stored under an earlier generation", async () => {
  await using kit = await setup();
  const writers = () => kit.sql`SELECT id, generation::TEXT AS generation FROM history_writers`;
  const [{ id, generation }] = await writers();
  expect(await kit.history.settle(named("unknown"))).toBeUndefined();
  const [late] = await kit.sql`
    SELECT history_append_2(${id}, ${generation}::BIGINT, 'late', 0, 120000, 3600000, '{app}', '{channel}', '{10}', '{60000}',
      '{1}', '{ann}', '{NULL}', '{NULL}', '{ann}', '{NULL}', '{late}', '{1}') AS result`;
  expect(late.result).toBeNull();
  expect(await stored(kit)).toEqual(["first"]);
});

test("a frozen process of the server keeps its batch unsettled, and loses it when it goes on", async () => {
  await using kit = await setup();
  const release = await lockStream(kit);
  const batch = named("frozen");
  const appending = kit.history.append(batch).catch((error: unknown) => error);
  await until("the append waits", async () => (await waiting(kit)).length === 1);
  const pid = (await waiting(kit))[0] as number;
  process.kill(pid, "SIGSTOP");
  try {
    expect(await appending).toBeInstanceOf(HistoryUnavailable);
    await release();
    // It holds the lock of its writer, so nothing can be said yet.
    await expect(kit.history.settle(batch)).rejects.toBeInstanceOf(HistoryUnavailable);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  const isStored = (await settle(kit, batch)) !== undefined;
  await kit.history.append(named("next"));
  expect(await stored(kit)).toEqual(isStored ? ["first", "frozen", "next"] : ["first", "next"]);
});

test("a frozen server fails every call in time, and what was settled stays so when it goes on", async () => {
  await using kit = await setup();
  await server.freeze();
  const batch = named("frozen");
  try {
    await expect(kit.history.append(batch)).rejects.toBeInstanceOf(HistoryUnavailable);
    await expect(kit.history.read(APP, "channel", ALL)).rejects.toBeInstanceOf(HistoryUnavailable);
    await expect(kit.history.settle(batch)).rejects.toBeInstanceOf(HistoryUnavailable);
  } finally {
    await server.thaw();
  }
  const isStored = (await settle(kit, batch)) !== undefined;
  await kit.history.append(named("next"));
  expect(await stored(kit)).toEqual(isStored ? ["first", "frozen", "next"] : ["first", "next"]);
});

test("two nodes that publish the same id at the same time store it once", async () => {
  const url = await server.newDatabase();
  const nodes = await Promise.all([0, 1, 2].map(() => openPostgresHistory({ url })));
  for (let round = 0; round < 20; round++) {
    const id = `id-${round}`;
    const results = await Promise.all(
      nodes.map((node) => node.append(batchOf({ id }, { channel: "b", id }, { channel: "a" }))),
    );
    const firsts = results.map(([first]) => first);
    expect(firsts.filter((one) => one?.isDuplicate === false)).toHaveLength(1);
    expect(new Set(firsts.map((one) => one?.offset))).toEqual(new Set([round + 1]));
  }
  const page = await nodes[0]?.read(APP, "a", ALL);
  expect(page?.messages.map(({ offset }) => offset)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
  for (const node of nodes) await node.close();
});

test("nodes that append, trim and remove the same streams do not block each other", async () => {
  const url = await server.newDatabase();
  const nodes = await Promise.all([0, 1].map(() => openPostgresHistory({ url, totalsEveryMs: 0 })));
  const keep = { messages: 5, seconds: 3600 };
  let isOver = false;
  const background = nodes.map(async (node, nr) => {
    for (let round = 0; !isOver; round++) {
      await node.trim(() => 20_000);
      if (round % 5 === 0) await node.remove(APP, `c${(round + nr) % 7}`);
      if (round % 7 === 0) await node.applyRules(APP, (channel) => (channel === "c3" ? undefined : keep));
    }
  });
  await Promise.all(
    nodes.map(async (node) => {
      for (let round = 0; round < 60; round++) {
        const channels = Array.from({ length: 10 }, () => `c${Math.floor(Math.random() * 7)}`);
        await node.append(batchOf(...channels.map((channel) => ({ channel, keep }))));
      }
    }),
  );
  isOver = true;
  await Promise.all(background);
  for (let nr = 0; nr < 7; nr++) {
    const page = await nodes[0]?.read(APP, `c${nr}`, ALL);
    const offsets = page?.messages.map(({ offset }) => offset) ?? [];
    expect(offsets).toEqual(offsets.map((_, index) => (offsets[0] ?? 0) + index));
    expect(offsets.at(-1) ?? page?.state.top).toBe(page?.state.top);
  }
  for (const node of nodes) await node.close();
});
