import { expect, test } from "bun:test";
import { Emitter } from "./emitter.ts";

class Bell extends Emitter<{ error: number; status: string }> {
  changes = 0;

  constructor() {
    super("parley");
  }

  ring(times: number): void {
    this.emit("error", times);
  }

  protected override changed(): void {
    this.changes++;
  }
}

/** What a program without types can pass. */
type Untyped = Record<"on" | "once" | "off", (event: unknown, listener: unknown) => unknown>;

test("a listener that was removed is not called any more, also not by the event that is being emitted", () => {
  const bell = new Bell();
  const heard: string[] = [];
  bell.on("error", () => {
    heard.push("first");
    offSecond();
  });
  const offSecond = bell.on("error", () => heard.push("second"));
  bell.ring(1);
  expect(heard).toEqual(["first"]);
  expect(bell.has("error")).toBe(true);
});

test("one that is added meanwhile hears the next event; the same function can be added twice", () => {
  const bell = new Bell();
  const heard: number[] = [];
  const hear = (times: number): unknown => heard.push(times);
  const off = bell.on("error", (times) => {
    off();
    bell.on("error", hear);
    bell.on("error", hear);
    heard.push(-times);
  });
  bell.ring(1);
  bell.ring(2);
  expect(heard).toEqual([-1, 2, 2]);
});

test("off removes one registration of a function, of on or of once, and nothing else", () => {
  const bell = new Bell();
  const heard: number[] = [];
  const hear = (times: number): unknown => heard.push(times);
  bell.on("error", hear);
  bell.once("error", hear);
  bell.off("error", hear);
  bell.off("error", () => undefined);
  bell.ring(1);
  bell.off("error", hear);
  bell.ring(2);
  expect(heard).toEqual([1]);
  expect(bell.has("error")).toBe(false);
});

test("once hears one event, also if its listener throws or emits; its remover and off take it back", async () => {
  const bell = new Bell();
  const heard: number[] = [];
  bell.once("error", (times) => {
    heard.push(times);
    bell.ring(times + 1);
  });
  expect(bell.changes).toBe(1);
  bell.ring(1);
  expect([bell.changes, bell.has("error")]).toEqual([2, false]);
  bell.once("error", () => heard.push(-1))();
  const hear = (): unknown => heard.push(-2);
  bell.once("error", hear);
  bell.off("error", hear);
  bell.ring(3);
  expect(heard).toEqual([1]);
});

test.each([
  [
    "eror",
    'parley: there is no event "eror"; did you mean "error"? Events here: direct, status, welcome, metadata, error',
  ],
  ["Status", 'did you mean "status"?'],
  ["mesage", 'did you mean parley.channel(name).on("message", …)?'],
  ["message", 'did you mean parley.channel(name).on("message", …)?'],
  ["join", 'did you mean channel.presence.on("joined", …)?'],
  ["something-else-entirely", 'there is no event "something-else-entirely". Events here: direct'],
  ["toString", ". Events here: direct"],
  [undefined, ". Events here: direct"],
])("an event that does not exist, %p, is an error at once that names the nearest one", (event, message) => {
  const bell = new Bell() as unknown as Untyped;
  for (const method of ["on", "once", "off"] as const) {
    const call = (): unknown => bell[method](event, () => undefined);
    expect(call).toThrow(TypeError);
    expect(call).toThrow(message);
  }
});

test("a listener that is not a function is an error at once", () => {
  const bell = new Bell() as unknown as Untyped;
  for (const method of ["on", "once", "off"] as const)
    expect(() => bell[method]("error", undefined)).toThrow('parley: the listener for "error" is not a function');
});
