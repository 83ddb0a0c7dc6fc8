/** Created streams that several nodes use at once, on a real PostgreSQL: numbers of producers and offsets stay exact, and nothing blocks. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { SQL } from "bun";
import type { Written } from "../../src/history/contract/created-streams.ts";
import {
  created,
  creation,
  NAME,
  outcomes,
  producer,
  SPACE,
  textsIn,
  writeOf,
} from "../../src/history/testing/created-kit.ts";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import { offsetsIn, setup, upTo } from "./support/created-nodes.ts";

setDefaultTimeout(60_000);

const ROUNDS = process.env.PARLEY_TEST_FULL ? 100 : 20;

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server.stop());

test("two nodes that write under the same number of a producer store it once", async () => {
  await using kit = await setup(server);
  const [first] = kit.nodes;
  await created(first.store);
  for (let seq = 0; seq < ROUNDS; seq++) {
    const results = await Promise.all(
      kit.nodes.map((node, at) => node.write(writeOf([`${seq} of ${at}`], { producer: producer(0, seq) }))),
    );
    expect(outcomes(results.flat()).toSorted()).toEqual(["duplicate", "written"]);
  }
  expect(await offsetsIn(first)).toEqual(upTo(ROUNDS));
  // The same of a whole batch, and of a producer that is new.
  const many = () => upTo(10).map((nr) => writeOf([`${nr}`], { producer: producer(0, nr - 1, { id: "new" }) }));
  const results = await Promise.all(kit.nodes.map((node) => node.write(...many())));
  expect(outcomes(results.flat()).filter((outcome) => outcome === "written")).toHaveLength(10);
  expect(outcomes(results.flat()).filter((outcome) => outcome === "duplicate")).toHaveLength(10);
  expect((await offsetsIn(first)).length).toBe(ROUNDS + 10);
});

test("a write that meets a close is stored before it, or refused", async () => {
  await using kit = await setup(server);
  const [first, second] = kit.nodes;
  const met = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const channel = `c${round}`;
    await created(first.store, { channel });
    const appends = (async () => {
      const results: Written[] = [];
      for (let nr = 0; nr < 5; nr++) results.push(...(await second.write(writeOf([`${nr}`], { channel }))));
      return results;
    })();
    const [closed] = await first.write(writeOf(["end"], { channel, closes: true }));
    if (closed?.outcome !== "written") throw new Error(`not closed: ${closed?.outcome}`);
    const results = await appends;
    const stored = results.filter(({ outcome }) => outcome === "written").length;
    // All that follow the first refused one are refused too.
    expect(outcomes(results)).toEqual(results.map((_, at) => (at < stored ? "written" : "closed")));
    expect(closed.end.offset).toBe(stored + 1);
    expect(await textsIn(first.store, channel)).toEqual([...upTo(stored).map((nr) => `${nr - 1}`), "end"]);
    for (const outcome of outcomes(results)) met.add(outcome);
  }
  expect(met.has("closed")).toBeTrue();
});

test("a fork that meets the removal of its source has all of it, or is refused", async () => {
  await using kit = await setup(server);
  const [first, second] = kit.nodes;
  const texts = upTo(200).map(String);
  for (let round = 0; round < ROUNDS; round++) {
    await created(first.store, {}, texts);
    const fork = { source: "channel", at: "end" as const, more: 0 };
    const forking = () => second.store.create(creation({ channel: "fork", contentType: undefined, fork }));
    const removing = () => first.store.delete(NAME);
    const [deleted, forked] = await (round % 2
      ? Promise.all([removing(), forking()])
      : Promise.all([forking(), removing()]).then(([one, other]) => [other, one] as const));
    expect(deleted).toBe("deleted");
    if (forked.outcome === "created") {
      expect(await first.store.describe(NAME)).toBe("gone");
      expect(await textsIn(first.store, "fork")).toEqual(texts);
      expect(await first.store.delete({ spaceId: SPACE, channel: "fork" })).toBe("deleted");
    } else expect(forked.outcome).toBe("no source");
    expect(await first.store.describe(NAME)).toBeUndefined();
  }
  expect(await kit.sql`SELECT sum(streams) AS streams, sum(bytes) AS bytes FROM history_held`).toEqual([
    { streams: "0", bytes: "0" },
  ]);
});

test("a name that two nodes create at once is created once, and expired streams end once", async () => {
  await using kit = await setup(server);
  const [first] = kit.nodes;
  for (let round = 0; round < ROUNDS; round++) {
    const results = await Promise.all(
      kit.nodes.map(({ store }) => store.create(creation({ channel: `c${round % 3}`, ttlSeconds: 0 }, ["a"]))),
    );
    // One that is created with no time to live has expired when the next one comes.
    expect(outcomes(results)).toContain("created");
    await Promise.all(kit.nodes.map(({ store }) => store.expire()));
  }
  while (await first.store.expire());
  expect((await first.history.usage(SPACE)).streams).toBe(0);
  expect(await kit.sql`SELECT sum(streams) AS streams, sum(bytes) AS bytes FROM history_held`).toEqual([
    { streams: "0", bytes: "0" },
  ]);
});

test("nodes that write, fork and delete the same streams in opposite orders do not block each other", async () => {
  await using kit = await setup(server);
  const channels = ["a", "b", "c", "d", "e"];
  for (const channel of channels) await created(kit.nodes[0].store, { channel });
  let isOver = false;
  const background = kit.nodes.map(async ({ store }, nr) => {
    for (let round = 0; !isOver; round++) {
      const source = channels[round % channels.length] ?? "a";
      const channel = `${nr ? "aa" : "zz"}${round % 4}`;
      await store.create(creation({ channel, contentType: undefined, fork: { source, at: "start", more: 0 } }));
      await store.delete({ spaceId: SPACE, channel });
      await store.use({ spaceId: SPACE, channel: source });
      await store.expire();
    }
  });
  const results = await Promise.all(
    kit.nodes.map(async (node, nr) => {
      const all: Written[] = [];
      for (let round = 0; round < ROUNDS * 2; round++) {
        const order = nr ? channels : channels.toReversed();
        const owner = `node ${nr}`;
        all.push(
          ...(await node.write(
            ...order.map((channel) => writeOf([`${nr}`], { channel, producer: producer(0, round, { owner }) })),
          )),
        );
      }
      return all;
    }),
  );
  isOver = true;
  await Promise.all(background);
  expect(new Set(outcomes(results.flat()))).toEqual(new Set(["written"]));
  for (const channel of channels) expect(await offsetsIn(kit.nodes[0], channel)).toEqual(upTo(ROUNDS * 4));
  const [{ deadlocks }] = await kit.sql`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`;
  expect(Number(deadlocks)).toBe(0);
});

test("a change is listed although it is committed long after its time", async () => {
  await using kit = await setup(server);
  const [node] = kit.nodes;
  await created(node.store, {}, ["a"]);
  const connection = { application_name: "parley-history-of-a-node" };
  await using frozen = new SQL({ url: kit.url, max: 1, connection });
  await frozen`BEGIN`;
  const [row]: { changed: string }[] = await frozen`
    UPDATE history_created SET closed = '', changed = history_second(history_now(0)) RETURNING changed`;
  // `changed` is a full second: a call that begins before its end would find it anyway.
  await Bun.sleep(Number(row?.changed) - Date.now() + 1);
  expect(await node.store.changes(0)).toEqual([]);
  await frozen`COMMIT`;
  expect(await node.store.changes(0)).toMatchObject([{ channel: "channel", now: { isClosed: true } }]);
  expect(await node.store.changes(0)).toEqual([]);
});
