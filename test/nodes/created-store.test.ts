/**
 * Batches of writes to created streams whose answer does not come, on a real PostgreSQL: `settle` says what became of each write, and a
 * batch that it reports as not stored is never stored later.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { HistoryUnavailable } from "../../src/history/contract/history.ts";
import { created, outcomes, producer, textsIn, write, writeOf } from "../../src/history/testing/created-kit.ts";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import { until } from "../support/wait.ts";
import { lockStreams, settle, setup, waiting } from "./support/created-nodes.ts";

setDefaultTimeout(60_000);

/** Long enough for every call that is to succeed, also on a busy machine. */
const ANSWER_MS = 1500;

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server.stop());

test("a batch whose connection breaks before it is stored is not stored, and its numbers are free", async () => {
  await using kit = await setup(server);
  const [node] = kit.nodes;
  await created(node.store);
  await node.write(writeOf(["first"], { producer: producer(0, 0) }));
  const release = await lockStreams(kit);
  const batch = node.batch(writeOf(["lost"], { producer: producer(0, 1), closes: true }));
  const writing = node.store.write(batch).catch((error: unknown) => error);
  await until("the write waits", async () => (await waiting(kit)).length === 1);
  await kit.sql`SELECT pg_terminate_backend(${(await waiting(kit))[0]}::INT)`;
  expect(await writing).toBeInstanceOf(HistoryUnavailable);
  await release();
  // Nothing is written before the fate of the last batch is known.
  expect(node.write(writeOf(["too early"]))).rejects.toBeInstanceOf(HistoryUnavailable);
  expect(await settle(node, batch)).toBeUndefined();
  expect(outcomes(await node.write(writeOf(["next"], { producer: producer(0, 1) })))).toEqual(["written"]);
  expect(await textsIn(node.store)).toEqual(["first", "next"]);
});

test("a batch that was stored but not answered is found, with what became of each write", async () => {
  await using kit = await setup(server, ANSWER_MS);
  const [node] = kit.nodes;
  await created(node.store);
  // From now on the writer is known to the server, and nothing precedes its batch.
  await node.write(writeOf(["x"], { channel: "nowhere" }));
  kit.proxy.stall("down");
  const batch = node.batch(
    writeOf(["a", "b"], { producer: producer(0, 0) }),
    writeOf(["x"], { channel: "nowhere" }),
    writeOf(["x"], { producer: producer(0, 5) }),
    writeOf(["c"], { closes: true }),
  );
  await expect(node.store.write(batch)).rejects.toBeInstanceOf(HistoryUnavailable);
  await expect(node.store.settle(batch)).rejects.toBeInstanceOf(HistoryUnavailable);
  kit.proxy.cut();
  kit.proxy.mend();
  const results = await settle(node, batch);
  expect(results).toMatchObject([
    { outcome: "written", producerSeq: 0, end: { offset: 2 }, appended: [{ offset: 1 }, { offset: 2 }] },
    { outcome: "not found" },
    { outcome: "gap", expected: 1 },
    { outcome: "written", isClosed: true, end: { offset: 3, check: batch.check } },
  ]);
  expect(await textsIn(node.store)).toEqual(["a", "b", "c"]);
});

test("a batch that lies in a buffer while it is settled is stored as settled, and never later", async () => {
  await using kit = await setup(server, ANSWER_MS);
  const [node] = kit.nodes;
  await created(node.store);
  const expected: string[] = [];
  for (let round = 0; round < (process.env.PARLEY_TEST_FULL ? 10 : 3); round++) {
    const name = `round ${round}`;
    kit.proxy.stall("up");
    const batch = node.batch(writeOf([name]));
    await expect(node.store.write(batch)).rejects.toBeInstanceOf(HistoryUnavailable);
    const settling = settle(node, batch);
    const pauseMs = Math.random() * 50;
    await Bun.sleep(pauseMs);
    kit.proxy.resume();
    if (await settling) expected.push(name);
    await node.write(writeOf([`after ${round}`]));
    expected.push(`after ${round}`);
  }
  expect(await textsIn(node.store)).toEqual(expected);
});

test("a frozen process of the server keeps its batch unsettled, and loses it when it goes on", async () => {
  await using kit = await setup(server, ANSWER_MS);
  const [node] = kit.nodes;
  await created(node.store);
  await node.write(writeOf(["first"]));
  const release = await lockStreams(kit);
  const batch = node.batch(writeOf(["frozen"]));
  const writing = node.store.write(batch).catch((error: unknown) => error);
  await until("the write waits", async () => (await waiting(kit)).length === 1);
  const pid = (await waiting(kit))[0] as number;
  process.kill(pid, "SIGSTOP");
  try {
    expect(await writing).toBeInstanceOf(HistoryUnavailable);
    await release();
    // It holds the lock of its writer, so nothing can be said yet.
    await expect(node.store.settle(batch)).rejects.toBeInstanceOf(HistoryUnavailable);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  const isStored = (await settle(node, batch)) !== undefined;
  await node.write(writeOf(["next"]));
  expect(await textsIn(node.store)).toEqual(isStored ? ["first", "frozen", "next"] : ["first", "next"]);
});

test("a writer whose generation another process has raised writes on", async () => {
  await using kit = await setup(server);
  const [first, second] = kit.nodes;
  await created(first.store);
  await write(first.store, ["a"]);
  // Both have the writer of the kit.
  await write(second.store, ["b"]);
  await write(first.store, ["c"]);
  expect(await textsIn(first.store)).toEqual(["a", "b", "c"]);
});
