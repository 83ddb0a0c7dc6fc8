import { expect, test } from "bun:test";
import type { TailEvent } from "../api/types.ts";
import { type Diagnosis, KEPT_MAX, matches, type SourceEvents, searched, Tail, type TailFilter } from "./tail.ts";

/** A browser that does each step when the test asks for it. */
class Steps {
  readonly opened: { readonly filter: TailFilter; readonly events: SourceEvents; isClosed: boolean }[] = [];
  readonly waits: number[] = [];
  diagnosis: Diagnosis;
  private frames: (() => void)[] = [];
  private waiting: (() => void) | undefined;
  readonly tail = new Tail({
    open: (filter, events) => {
      const source = { filter, events, isClosed: false };
      this.opened.push(source);
      return () => {
        source.isClosed = true;
      };
    },
    diagnose: async () => this.diagnosis,
    nextFrame: (run) => this.frames.push(run),
    after: (ms, run) => {
      this.waits.push(ms);
      this.waiting = run;
      return () => {
        this.waiting = undefined;
      };
    },
    nowMs: () => 7000,
  });

  get source() {
    return this.opened.at(-1)!;
  }

  emit(...events: Partial<TailEvent>[]): void {
    for (const one of events) this.source.events.line(JSON.stringify({ at: 1, ...one }));
  }

  frame(): void {
    for (const run of this.frames.splice(0)) run();
  }

  async fail(): Promise<void> {
    this.source.events.failed();
    await Promise.resolve();
    await Promise.resolve();
  }

  elapse(): void {
    this.waiting?.();
  }
}

function live(filter: TailFilter = {}): Steps {
  const steps = new Steps();
  steps.tail.watch(filter);
  steps.source.events.opened();
  return steps;
}

const channelsOf = ({ tail }: Steps) => tail.events.value.map(({ event }) => event.channel);

test("events are shown once per frame, however many came", () => {
  const steps = live();
  let changes = 0;
  steps.tail.events.subscribe(() => changes++);
  for (let at = 0; at < 100; at++) steps.emit({ kind: "publish", channel: String(at) });
  expect(steps.tail.events.value).toEqual([]);
  steps.frame();
  expect(steps.tail.events.value).toHaveLength(100);
  expect(changes).toBe(2);
});

test("only the newest are kept, also while the page has no frames", () => {
  const steps = live();
  for (let at = 0; at < 3 * KEPT_MAX; at++) steps.emit({ kind: "publish", channel: String(at) });
  steps.frame();
  expect(steps.tail.events.value).toHaveLength(KEPT_MAX);
  expect(channelsOf(steps).at(-1)).toBe(String(3 * KEPT_MAX - 1));
  expect(channelsOf(steps)[0]).toBe(String(2 * KEPT_MAX));
});

test("a pause counts what comes, and shows it afterwards", () => {
  const steps = live();
  steps.emit({ kind: "publish", channel: "a" });
  steps.tail.pause();
  steps.emit({ kind: "publish", channel: "b" }, { kind: "publish", channel: "c" });
  steps.frame();
  expect(channelsOf(steps)).toEqual(["a"]);
  expect(steps.tail.waiting.value).toBe(2);
  steps.tail.resume();
  expect(channelsOf(steps)).toEqual(["a", "b", "c"]);
  expect(steps.tail.waiting.value).toBe(0);
});

test("cleared events do not come back", () => {
  const steps = live();
  steps.emit({ kind: "publish", channel: "a" });
  steps.tail.clear();
  steps.frame();
  expect(steps.tail.events.value).toEqual([]);
});

test("a line that is no JSON is left out", () => {
  const steps = live();
  steps.source.events.line("{");
  steps.emit({ kind: "connect" });
  steps.frame();
  expect(steps.tail.events.value).toHaveLength(1);
});

test("a lost connection is opened anew after growing waits, and the gap is marked", async () => {
  const steps = live();
  await steps.fail();
  expect(steps.tail.state.value).toBe("reconnecting");
  expect(steps.source.isClosed).toBe(true);
  steps.elapse();
  await steps.fail();
  steps.elapse();
  expect(steps.opened).toHaveLength(3);
  expect(steps.waits).toEqual([1000, 2000]);
  steps.source.events.opened();
  steps.frame();
  expect(steps.tail.state.value).toBe("live");
  expect(steps.tail.events.value.map(({ event }) => event)).toEqual([{ at: 7000, kind: "gap" }]);
});

test("a page that is opened again has the events of before, and a mark where it was closed", () => {
  const steps = live();
  steps.tail.leave();
  steps.tail.watch({});
  steps.source.events.opened();
  // Without events there is nothing after which others are missing.
  expect(steps.tail.events.value).toEqual([]);
  steps.emit({ kind: "publish", channel: "a" });
  steps.tail.leave();
  expect(steps.source.isClosed).toBe(true);
  steps.tail.watch({});
  steps.source.events.opened();
  steps.emit({ kind: "publish", channel: "b" });
  steps.frame();
  expect(steps.tail.events.value.map(({ event }) => event.channel ?? event)).toEqual([
    "a",
    { at: 7000, kind: "closed" },
    "b",
  ]);
});

test("a page that is closed while its connection is lost has its mark where that was", async () => {
  const steps = live();
  steps.emit({ kind: "publish", channel: "a" });
  await steps.fail();
  steps.tail.leave();
  steps.tail.watch({});
  steps.frame();
  expect(steps.tail.events.value.map(({ event }) => event.kind)).toEqual(["publish", "closed"]);
});

test("an ended session is not opened anew", async () => {
  const steps = live();
  steps.diagnosis = { ended: true };
  await steps.fail();
  expect(steps.tail.state.value).toBe("ended");
  expect(steps.waits).toEqual([]);
});

test("refused filters say why, and other ones connect", async () => {
  const steps = live({ channel: "***" });
  steps.diagnosis = { refused: "channel: a pattern must not contain '***'." };
  await steps.fail();
  expect([steps.tail.state.value, steps.tail.refusal.value]).toEqual(["refused", steps.diagnosis.refused]);
  steps.tail.watch({ channel: "**" });
  expect([steps.tail.state.value, steps.tail.refusal.value]).toEqual(["connecting", ""]);
  expect(steps.source.filter).toEqual({ channel: "**" });
});

test("other filters keep the events that match them, and close the earlier connection", () => {
  const steps = live();
  steps.emit(
    { kind: "publish", channel: "chat/1" },
    { kind: "connect", peerId: "alice" },
    { kind: "dropped", count: 3 },
  );
  const earlier = steps.source;
  steps.tail.watch({ channel: "chat/*" });
  expect(steps.tail.events.value.map(({ event }) => event.kind)).toEqual(["publish", "dropped"]);
  expect(earlier.isClosed).toBe(true);
  earlier.events.line('{"at":1,"kind":"publish","channel":"late"}');
  steps.frame();
  expect(channelsOf(steps)).not.toContain("late");
});

test.each<[TailFilter, Partial<TailEvent>, boolean]>([
  [{ app: "1" }, { app: "1" }, true],
  [{ app: "1" }, { app: "2" }, false],
  [{ peer: "ali*" }, { peerId: "alice" }, true],
  [{ peer: "ali" }, { peerId: "alice" }, false],
  [{ peer: "bob" }, { peerId: "alice", to: "bob" }, true],
  [{ key: "pk_1" }, { keyId: "pk_2" }, false],
  [{ kinds: ["send"] }, {}, false],
  [{ channel: "chat/*" }, {}, false],
])("the filter %j and the event %j: %p", (filter, event, expected) => {
  expect(matches(filter, { at: 1, kind: "publish", ...event })).toBe(expected);
});

test("a search finds text in any field, in upper and lower case", () => {
  const steps = live();
  steps.emit({ kind: "publish", data: { text: "Hello" } }, { kind: "publish", data: { text: "World" } });
  steps.frame();
  expect(searched(steps.tail.events.value, " hELLO ")).toHaveLength(1);
  expect(searched(steps.tail.events.value, "")).toHaveLength(2);
});

test("hidden kinds are counted and not kept; what is shown again begins then", () => {
  const steps = live();
  steps.emit({ kind: "publish", channel: "a" }, { kind: "refuse", channel: "b" });
  steps.frame();
  steps.tail.hide(["publish"]);
  expect(channelsOf(steps)).toEqual(["b"]);
  steps.emit({ kind: "publish", channel: "c" }, { kind: "error", channel: "d" });
  steps.frame();
  expect([channelsOf(steps), [...steps.tail.counts.value]]).toEqual([
    ["b", "d"],
    [
      ["publish", 2],
      ["refuse", 1],
      ["error", 1],
    ],
  ]);
  steps.tail.hide([]);
  steps.emit({ kind: "publish", channel: "e" });
  steps.frame();
  expect(channelsOf(steps)).toEqual(["b", "d", "e"]);
  steps.tail.clear();
  expect(steps.tail.counts.value.size).toBe(0);
});

test("with very many hidden events, or if the service leaves some out, only the others are wanted", () => {
  const steps = live();
  steps.tail.hide(["publish"]);
  for (let at = 0; at < 100; at++) steps.emit({ kind: "publish" });
  expect(steps.tail.isNarrow.value).toBe(false);
  steps.emit({ kind: "publish" });
  expect(steps.tail.isNarrow.value).toBe(true);
  steps.tail.hide(["publish", "send"]);
  expect(steps.tail.isNarrow.value).toBe(false);
  steps.emit({ kind: "dropped", count: 5 });
  expect(steps.tail.isNarrow.value).toBe(true);
});
