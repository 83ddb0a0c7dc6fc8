/** The part of the suite of created streams about producers. */
import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { PRODUCERS_PER_OWNER_MAX } from "../contract/limits.ts";
import { batchOfWrites, created, LIMITS, NAME, producer, textsIn, write, writeOf } from "./created-kit.ts";
import type { SuiteContext } from "./history.suite.ts";
import { KEEP, message } from "./kit.ts";

export function producerTests({ newHistory, wait }: SuiteContext): void {
  test("a producer's writes are stored once, in the order of their numbers", async () => {
    const { created: store } = await newHistory();
    await created(store);
    const send = (epoch: number, seq: number, text: string) => write(store, [text], { producer: producer(epoch, seq) });
    expect(await send(0, 1, "x")).toEqual({ outcome: "gap", expected: 0 });
    expect(await send(0, 0, "a")).toMatchObject({ outcome: "written", producerSeq: 0 });
    expect(await send(0, 1, "b")).toMatchObject({ outcome: "written", producerSeq: 1 });
    expect(await send(0, 0, "a")).toMatchObject({ outcome: "duplicate", producerSeq: 1, end: { offset: 2 } });
    expect(await send(0, 3, "x")).toEqual({ outcome: "gap", expected: 2 });
    expect(await send(1, 1, "x")).toEqual({ outcome: "bad epoch" });
    expect(await send(1, 0, "c")).toMatchObject({ outcome: "written", producerSeq: 0 });
    expect(await send(0, 2, "x")).toMatchObject({ outcome: "stale epoch", epoch: 1 });
    expect(await textsIn(store)).toEqual(["a", "b", "c"]);
    expect(await store.producers(NAME, 10)).toEqual([
      { owner: "key", id: "p", epoch: 1, seq: 0, usedMs: expect.any(Number) },
    ]);
  });

  test("the same name of another owner is another producer, which does not fence the first", async () => {
    const { created: store } = await newHistory();
    await created(store);
    expect((await write(store, ["a"], { producer: producer(5, 0) })).outcome).toBe("written");
    expect((await write(store, ["b"], { producer: producer(0, 0, { owner: "ann" }) })).outcome).toBe("written");
    expect((await write(store, ["c"], { producer: producer(5, 1) })).outcome).toBe("written");
  });

  test("a refused write does not count: the same number is accepted later", async () => {
    const { created: store } = await newHistory();
    await created(store);
    const one = producer(0, 0);
    expect((await write(store, [], { isMalformed: true, producer: one })).outcome).toBe("malformed");
    expect(
      (await write(store, ["x".repeat(2000)], { producer: one, limits: { ...LIMITS, streamBytes: 1000 } })).outcome,
    ).toBe("stream full");
    expect((await write(store, ["a"], { producer: one })).outcome).toBe("written");
  });

  test("the write that has closed a stream is repeated without an effect; another one is refused", async () => {
    const { created: store } = await newHistory();
    await created(store);
    const close = (seq: number, data: readonly string[], epoch = 1) =>
      write(store, data, { closes: true, producer: producer(epoch, seq) });
    expect((await write(store, ["a"], { producer: producer(1, 0) })).outcome).toBe("written");
    expect(await close(1, ["end"])).toMatchObject({ outcome: "written", isClosed: true });
    expect(await close(1, ["another body"])).toMatchObject({ outcome: "duplicate", isClosed: true, producerSeq: 1 });
    expect((await close(2, [])).outcome).toBe("closed");
    expect((await write(store, ["x"], { producer: producer(0, 5) })).outcome).toBe("stale epoch");
    expect(await textsIn(store)).toEqual(["a", "end"]);
  });

  test("the producers of one owner in a stream have a limit", async () => {
    const { created: store } = await newHistory();
    await created(store);
    const writes = Array.from({ length: PRODUCERS_PER_OWNER_MAX }, (_, at) =>
      writeOf(["a"], { producer: producer(0, 0, { id: `p${at}` }) }),
    );
    for (const { outcome } of await store.write(batchOfWrites(...writes))) expect(outcome).toBe("written");
    expect((await write(store, ["a"], { producer: producer(0, 0, { id: "more" }) })).outcome).toBe(
      "too many producers",
    );
    expect((await write(store, ["a"], { producer: producer(0, 1, { id: "p7" }) })).outcome).toBe("written");
    expect((await write(store, ["a"], { producer: producer(0, 0, { owner: "ann" }) })).outcome).toBe("written");
  });

  test("producers of a stream stay as long as it does, those of a history for a week", async () => {
    const history = await newHistory();
    const app = anAppId("app");
    const toHistory = () =>
      write(history.created, ["a"], { spaceId: app, keep: KEEP, producer: producer(3, 0), messages: [message()] });
    await created(history.created, { idleSeconds: 30 * 86_400 });
    await write(history.created, ["a"], { producer: producer(0, 0) });
    expect((await toHistory()).outcome).toBe("written");
    wait(8 * 86_400_000);
    while (await history.created.expire());
    expect(await history.created.producers({ spaceId: app, channel: "channel" }, 10)).toEqual([]);
    expect((await history.created.producers(NAME, 10)).length).toBe(1);
  });
}
