/** The part of the suite of created streams about forks. */
import { expect, test } from "bun:test";
import type { ForkPoint } from "../contract/created-streams.ts";
import { FORK_MAX_MESSAGES } from "../contract/limits.ts";
import {
  created,
  creation,
  LIMITS,
  messagesFor,
  NAME,
  outcomes,
  producer,
  SPACE,
  textsIn,
  write,
} from "./created-kit.ts";
import type { SuiteContext } from "./history.suite.ts";
import { ALL, trimAll } from "./kit.ts";

const forkOf = (source: string, at: ForkPoint["at"] = "end", more = 0) => ({ source, at, more });
const FORK = { spaceId: SPACE, channel: "fork" };
const NO_TYPE = { contentType: undefined };

export function forkTests({ newHistory, wait }: SuiteContext): void {
  test("a fork has what its source had, under positions that stay valid, and goes its own way", async () => {
    const { created: store } = await newHistory();
    const source = await created(store, {}, ["a", "b", "c"]);
    const fork = await created(store, { ...NO_TYPE, channel: "fork", fork: forkOf("channel") }, ["d"]);
    expect(fork.config.contentType).toBe("application/json");
    expect(fork.epoch).not.toBe(source.epoch);
    expect(fork.lineage).toEqual([[source.epoch, 3]]);
    expect(await textsIn(store, "fork")).toEqual(["a", "b", "c", "d"]);
    await write(store, ["of the source"]);
    await write(store, ["of the fork"], { channel: "fork" });
    expect(await textsIn(store)).toEqual(["a", "b", "c", "of the source"]);
    expect(await textsIn(store, "fork")).toEqual(["a", "b", "c", "d", "of the fork"]);
    const page = await store.read(FORK, { ...ALL, after: 2 });
    const before = await store.read(NAME, { ...ALL, after: 2 });
    if (!page || page === "gone" || !before || before === "gone") throw new Error("not there");
    expect(page.page.check).toBe(before.page.check as string);
  });

  test("a fork begins where it is asked to: at the start, at a position, and some messages behind it", async () => {
    const { created: store } = await newHistory();
    const { epoch, topCheck } = await created(store, {}, ["a", "b"]);
    await write(store, ["c", "d"]);
    const at = { epoch, offset: 2, check: topCheck };
    await created(store, { channel: "f0", fork: forkOf("channel", "start") });
    await created(store, { channel: "f2", fork: forkOf("channel", at) });
    await created(store, { channel: "f3", fork: forkOf("channel", at, 1) });
    await created(store, { channel: "f4", fork: forkOf("channel", at, 2) });
    expect(await textsIn(store, "f0")).toEqual([]);
    expect(await textsIn(store, "f2")).toEqual(["a", "b"]);
    expect(await textsIn(store, "f3")).toEqual(["a", "b", "c"]);
    expect(await textsIn(store, "f4")).toEqual(["a", "b", "c", "d"]);
    const wrong = [
      forkOf("channel", at, 3),
      forkOf("channel", { ...at, check: "zz" }),
      forkOf("channel", { ...at, offset: 9 }),
      forkOf("channel", { ...at, epoch: "zz" }),
    ];
    for (const fork of wrong)
      expect((await store.create(creation({ channel: "no", fork }))).outcome).toBe("bad fork point");
    expect(await store.describe({ spaceId: SPACE, channel: "no" })).toBeUndefined();
  });

  test("a fork of bytes begins within a message", async () => {
    const { created: store } = await newHistory();
    const type = { contentType: "text/plain" };
    await created(store, type, ["hello "]);
    await write(store, [], { ...type, messages: messagesFor(["wörld"], { from: "ann" }) });
    const fork = (more: number) =>
      created(store, { ...type, channel: `f${more}`, fork: forkOf("channel", "start", more) });
    await fork(3);
    await fork(6);
    await fork(8);
    expect(await textsIn(store, "f3")).toEqual(["hel"]);
    expect(await textsIn(store, "f6")).toEqual(["hello "]);
    const cut = await store.read({ spaceId: SPACE, channel: "f8" }, ALL);
    if (!cut || cut === "gone") throw new Error("not there");
    // Half of the ö: its bytes are no text.
    expect(cut.page.messages.map(({ dataJson }) => dataJson)).toEqual([
      '"hello "',
      `["${Buffer.from([0x77, 0xc3]).toString("base64")}"]`,
    ]);
    expect(cut.page.messages.map(({ from }) => from)).toEqual(["server", "ann"]);
    expect(
      (await store.create(creation({ ...type, channel: "no", fork: forkOf("channel", "start", 13) }))).outcome,
    ).toBe("bad fork point");
    await write(store, ["!"], { ...type, channel: "f3", messages: messagesFor(["!"], { channel: "f3" }) });
    expect(await textsIn(store, "f3")).toEqual(["hel", "!"]);
  });

  test("a fork is created once, and only like its source", async () => {
    const { created: store } = await newHistory();
    await created(store, { ttlSeconds: 100 }, ["a"]);
    const fork = { ...NO_TYPE, channel: "fork", fork: forkOf("channel") };
    expect((await created(store, fork)).config.ttlSeconds).toBe(100);
    expect((await store.create(creation(fork))).outcome).toBe("exists");
    expect((await store.create(creation({ ...fork, fork: forkOf("channel", "start") }))).outcome).toBe("conflict");
    expect((await store.create(creation({ channel: "fork" }))).outcome).toBe("conflict");
    expect(
      (await store.create(creation({ channel: "f2", contentType: "text/plain", fork: forkOf("channel") }))).outcome,
    ).toBe("other type");
    expect((await store.create(creation({ channel: "f2", fork: forkOf("nowhere") }))).outcome).toBe("no source");
    expect((await created(store, { ...fork, channel: "f3", ttlSeconds: 5 })).config.ttlSeconds).toBe(5);
  });

  test("a fork does not have the producers of its source, and begins open", async () => {
    const { created: store } = await newHistory();
    await created(store);
    await write(store, ["a"], { producer: producer(4, 0), closes: true });
    expect((await created(store, { channel: "fork", fork: forkOf("channel") })).isClosed).toBeFalse();
    expect((await write(store, ["b"], { channel: "fork", producer: producer(0, 0) })).outcome).toBe("written");
    expect(await textsIn(store, "fork")).toEqual(["a", "b"]);
  });

  test("a deleted stream with forks is gone until the last of them is, through all generations", async () => {
    const history = await newHistory();
    const store = history.created;
    await created(store, {}, ["a"]);
    await created(store, { channel: "fork", fork: forkOf("channel") }, ["b"]);
    await created(store, { channel: "third", fork: forkOf("fork") }, ["c"]);
    expect(await store.delete(NAME)).toBe("deleted");
    expect(await store.delete(FORK)).toBe("deleted");
    expect(await store.delete(NAME)).toBe("gone");
    expect(await store.describe(NAME)).toBe("gone");
    expect(await textsIn(store)).toBe("gone");
    expect((await write(store, ["x"])).outcome).toBe("gone");
    expect((await store.create(creation())).outcome).toBe("conflict");
    expect((await store.create(creation({ channel: "f2", fork: forkOf("channel") }))).outcome).toBe("source gone");
    expect(await textsIn(store, "third")).toEqual(["a", "b", "c"]);
    expect(await store.delete({ spaceId: SPACE, channel: "third" })).toBe("deleted");
    expect(await store.describe(NAME)).toBeUndefined();
    expect(await store.describe(FORK)).toBeUndefined();
    await trimAll(history);
    expect(await history.usage(SPACE)).toMatchObject({ streams: 0, messages: 0 });
    expect((await created(store)).top).toBe(0);
  });

  test("a source that expires is gone, and its fork stays", async () => {
    const { created: store } = await newHistory();
    await created(store, { ttlSeconds: 10 }, ["a"]);
    await created(store, { channel: "fork", ttlSeconds: 1000, fork: forkOf("channel") });
    wait(11_000);
    const isGone = async (): Promise<void> => {
      expect(await store.describe(NAME)).toBe("gone");
      expect(await store.delete(NAME)).toBe("gone");
      expect((await write(store, ["x"])).outcome).toBe("gone");
      expect((await store.create(creation({ channel: "f2", fork: forkOf("channel") }))).outcome).toBe("source gone");
    };
    // Also before it is removed.
    await isGone();
    while (await store.expire());
    await isGone();
    expect((await store.create(creation())).outcome).toBe("conflict");
    expect(await textsIn(store, "fork")).toEqual(["a"]);
  });

  test("the name of a stream that is gone can be used when a change of rules has removed its last fork", async () => {
    const { created: store } = await newHistory();
    await created(store, {}, ["a"]);
    await created(store, { channel: "fork", fork: forkOf("channel") });
    await store.delete(NAME);
    await store.applyRules(SPACE, (channel) => channel !== "fork");
    expect(await store.describe(NAME)).toBeUndefined();
    await created(store, {}, ["b"]);
    expect(await textsIn(store)).toEqual(["b"]);
  });

  test("a fork has a limit, and its messages count", async () => {
    const { created: store } = await newHistory();
    const limits = { ...LIMITS, streamBytes: 1e9, appBytes: 1e9 };
    await created(store, { limits });
    const batch = Array.from({ length: 1000 }, () => "x");
    for (let at = 0; at < FORK_MAX_MESSAGES / 1000; at++) await write(store, batch, { limits });
    const fork = await created(store, { channel: "fork", limits, fork: forkOf("channel") });
    expect(fork.top).toBe(FORK_MAX_MESSAGES);
    expect(fork.bytes).toBeGreaterThan(FORK_MAX_MESSAGES);
    await write(store, ["one more"], { limits });
    const results = [
      await store.create(creation({ channel: "f2", limits, fork: forkOf("channel") })),
      await store.create(
        creation({ channel: "f2", limits: { ...limits, appBytes: fork.bytes * 2 }, fork: forkOf("fork") }),
      ),
    ];
    expect(outcomes(results)).toEqual(["fork too large", "application full"]);
  });
}
