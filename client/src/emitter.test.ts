import { expect, test } from "bun:test";
import { Emitter } from "./emitter.ts";

class Bell extends Emitter<{ rings: number }> {
  ring(times: number): void {
    this.emit("rings", times);
  }
}

test("a listener that was removed is not called any more, also not by the event that is being emitted", () => {
  const bell = new Bell();
  const heard: string[] = [];
  bell.on("rings", () => {
    heard.push("first");
    offSecond();
  });
  const offSecond = bell.on("rings", () => heard.push("second"));
  bell.ring(1);
  expect(heard).toEqual(["first"]);
  expect(bell.has("rings")).toBe(true);
});

test("one that is added meanwhile hears the next event; the same function can be added twice", () => {
  const bell = new Bell();
  const heard: number[] = [];
  const hear = (times: number): unknown => heard.push(times);
  const off = bell.on("rings", (times) => {
    off();
    bell.on("rings", hear);
    bell.on("rings", hear);
    heard.push(-times);
  });
  bell.ring(1);
  bell.ring(2);
  expect(heard).toEqual([-1, 2, 2]);
});
