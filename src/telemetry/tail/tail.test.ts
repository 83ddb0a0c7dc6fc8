import { describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { droppedLine, kindBit, kindSet, lineOf, TAIL_KINDS } from "./event.ts";
import { BATCH_EVENTS_MAX, BATCH_EVERY_MS, BATCH_MAX_CHARS, CACHED_CHANNELS_MAX, DATA_MAX_CHARS } from "./limits.ts";
import { type TailFilter, TailReader } from "./reader.ts";
import { Tail } from "./tail.ts";

const APP1 = anAppId("app1");
const A = anAppId("a");

const EVERYTHING: TailFilter = {
  kinds: kindSet(TAIL_KINDS),
  app: undefined,
  keyId: undefined,
  peer: undefined,
  channel: undefined,
  showsData: false,
};
const PUBLISH = kindBit("publish");

/** A reader that notes its batches. */
function readerOf(filter: Partial<TailFilter> = {}) {
  const batches: { lines: readonly string[]; dropped: number }[] = [];
  const sink = {
    isReady: true,
    write: (lines: readonly string[], dropped: number) => batches.push({ lines, dropped }),
  };
  return { reader: new TailReader({ ...EVERYTHING, ...filter }, sink), batches, sink };
}

function tailOf(mayShowPayloads = true) {
  const timers: (() => void)[] = [];
  const switches: boolean[] = [];
  const tail = new Tail({
    after: (ms, callback) => {
      expect(ms).toBe(BATCH_EVERY_MS);
      timers.push(callback);
    },
    mayShowPayloads: () => mayShowPayloads,
  });
  tail.onSwitch((isOn) => switches.push(isOn));
  const tick = (): void => {
    for (const fire of timers.splice(0)) fire();
  };
  return { tail, switches, timers, tick };
}

const publish = (tail: Tail, channel: string, text = "{}", data?: string): boolean => {
  const isWanted = tail.select(PUBLISH, APP1, channel, "ann", undefined, "key1");
  if (isWanted) tail.write(text, APP1, data);
  return isWanted;
};

describe("a filter", () => {
  const takes = (filter: Partial<TailFilter>): boolean =>
    readerOf(filter).reader.takes(PUBLISH, APP1, "chat/1", "ann", "bob", "key1");

  test("lets everything pass that it does not exclude", () => {
    expect(takes({})).toBe(true);
    expect(takes({ kinds: PUBLISH, app: APP1, keyId: "key1", channel: () => true, peer: (id) => id === "ann" })).toBe(
      true,
    );
    expect(takes({ peer: (id) => id === "bob" })).toBe(true);
  });

  test.each([
    ["another kind", { kinds: kindSet(["send", "close"]) }],
    ["another application", { app: anAppId("app2") }],
    ["another key", { keyId: "key2" }],
    ["another channel", { channel: () => false }],
    ["another peer", { peer: () => false }],
  ] as const)("excludes %s", (_what, filter) => {
    expect(takes(filter)).toBe(false);
  });

  test("on a channel, a peer, a key or an application excludes events without one", () => {
    const takesBare = (filter: Partial<TailFilter>): boolean =>
      readerOf(filter).reader.takes(PUBLISH, undefined, undefined, undefined, undefined, undefined);
    expect(takesBare({})).toBe(true);
    for (const filter of [{ app: A }, { keyId: "k" }, { channel: () => true }, { peer: () => true }])
      expect(takesBare(filter)).toBe(false);
  });

  test("decides about a channel once, for a bounded number of channels", () => {
    let decided = 0;
    const { reader } = readerOf({
      channel: (name) => {
        decided++;
        return name === "yes";
      },
    });
    const takes = (channel: string): boolean => reader.takes(PUBLISH, A, channel, "p", undefined, undefined);
    for (let i = 0; i < 100; i++) expect([takes("yes"), takes("no")]).toEqual([true, false]);
    expect(decided).toBe(2);
    for (let i = 0; i < 3 * CACHED_CHANNELS_MAX; i++) takes(`c${i}`);
    expect(takes("yes")).toBe(true);
    expect((reader as unknown as { verdicts: Map<string, boolean> }).verdicts.size).toBeLessThanOrEqual(
      CACHED_CHANNELS_MAX,
    );
  });
});

describe("a tail", () => {
  test("is on while it has a reader, and then ticks", () => {
    const { tail, switches, timers, tick } = tailOf();
    const [one, other] = [readerOf().reader, readerOf().reader];
    tail.add(one);
    tail.add(other);
    expect(timers).toHaveLength(1);
    tail.remove(one);
    tail.remove(one);
    expect(switches).toEqual([true]);
    tail.remove(other);
    expect(switches).toEqual([true, false]);
    tick();
    expect(timers).toHaveLength(0);
  });

  test("gives each reader what it asked for, in order, one batch per tick", () => {
    const { tail, tick } = tailOf();
    const [all, some] = [readerOf(), readerOf({ channel: (name) => name === "b" })];
    for (const { reader } of [all, some]) tail.add(reader);
    expect([publish(tail, "a", "1"), publish(tail, "b", "2")]).toEqual([true, true]);
    expect(all.batches).toEqual([]);
    tick();
    tick();
    expect(all.batches).toEqual([{ lines: ["1", "2"], dropped: 0 }]);
    expect(some.batches).toEqual([{ lines: ["2"], dropped: 0 }]);
  });

  test("builds nothing beyond a batch, and counts it", () => {
    const { tail, tick } = tailOf();
    const { reader, batches } = readerOf();
    tail.add(reader);
    let built = 0;
    for (let i = 0; i < BATCH_EVENTS_MAX + 50; i++) if (publish(tail, "a")) built++;
    expect(built).toBe(BATCH_EVENTS_MAX);
    tick();
    expect(batches.map(({ lines, dropped }) => [lines.length, dropped])).toEqual([[BATCH_EVENTS_MAX, 50]]);
    publish(tail, "a");
    tick();
    expect(batches[1]).toEqual({ lines: ["{}"], dropped: 0 });
  });

  test("limits a batch in characters too", () => {
    const { tail, tick } = tailOf();
    const { reader, batches } = readerOf();
    tail.add(reader);
    const long = "x".repeat(BATCH_MAX_CHARS / 4);
    for (let i = 0; i < 10; i++) publish(tail, "a", long);
    tick();
    expect(batches.map(({ lines, dropped }) => [lines.length, dropped])).toEqual([[4, 6]]);
  });

  test("queues no second batch for a reader that does not take the first", () => {
    const { tail, tick } = tailOf();
    const { reader, batches, sink } = readerOf();
    tail.add(reader);
    sink.isReady = false;
    for (let round = 0; round < 10; round++) {
      for (let i = 0; i < BATCH_EVENTS_MAX; i++) publish(tail, "a");
      tick();
    }
    expect(batches).toEqual([]);
    sink.isReady = true;
    tick();
    expect(batches.map(({ lines, dropped }) => [lines.length, dropped])).toEqual([
      [BATCH_EVENTS_MAX, 9 * BATCH_EVENTS_MAX],
    ]);
  });

  test("shows payloads only to readers who may see them, of applications that allow it", () => {
    const { tail, tick } = tailOf();
    const [admin, other] = [readerOf({ showsData: true }), readerOf()];
    for (const { reader } of [admin, other]) tail.add(reader);
    publish(tail, "a", '{"at":1}', '{"secret":1}');
    tick();
    expect(admin.batches[0]?.lines).toEqual(['{"at":1,"data":{"secret":1}}']);
    expect(other.batches[0]?.lines).toEqual(['{"at":1}']);

    const closed = tailOf(false);
    const reader = readerOf({ showsData: true });
    closed.tail.add(reader.reader);
    publish(closed.tail, "a", '{"at":1}', '{"secret":1}');
    closed.tick();
    expect(reader.batches[0]?.lines).toEqual(['{"at":1}']);
  });
});

describe("a line", () => {
  test("stays one line, whatever the payload", () => {
    const line = lineOf('{"at":1}', '{\r\n "a" :\n[1,\r2] }');
    expect(line).not.toMatch(/[\r\n]/);
    expect(JSON.parse(line)).toEqual({ at: 1, data: { a: [1, 2] } });
  });

  test("has the beginning of a long payload, as a text", () => {
    const whole = JSON.stringify("x".repeat(DATA_MAX_CHARS - 2));
    expect(JSON.parse(lineOf('{"at":1}', whole))).toEqual({ at: 1, data: "x".repeat(DATA_MAX_CHARS - 2) });
    const cut = JSON.parse(lineOf('{"at":1}', JSON.stringify(`${"x".repeat(DATA_MAX_CHARS - 2)}😀`)));
    expect(cut).toMatchObject({ at: 1, truncated: true });
    expect(cut.data).toHaveLength(DATA_MAX_CHARS);
  });

  test("says how many events are missing", () => {
    expect(JSON.parse(droppedLine(5, 7))).toEqual({ at: 5, kind: "dropped", count: 7 });
  });
});
