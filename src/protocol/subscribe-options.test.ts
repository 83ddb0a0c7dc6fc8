import { expect, test } from "bun:test";
import { PLAIN, subscribeOptions } from "./subscribe-options.ts";

test("a subscribe without options begins with what is published from now on", () => {
  expect(subscribeOptions({ type: "subscribe", channel: "a" })).toEqual(PLAIN);
});

test("a recovery names its position and the earlier connection", () => {
  const options = subscribeOptions({ recover: "e.1.c", connection: "x-1" });
  expect(options?.start).toEqual({ kind: "recover", position: "e.1.c", connection: "x-1" });
});

test.each([
  [1, { kind: "messages", count: 1 }],
  [1000, { kind: "messages", count: 1000 }],
  ["30s", { kind: "seconds", seconds: 30 }],
  ["5m", { kind: "seconds", seconds: 300 }],
  ["2h", { kind: "seconds", seconds: 7200 }],
] as const)("rewind %p is understood", (rewind, start) => {
  expect(subscribeOptions({ rewind })?.start).toEqual(start);
});

test.each([
  { rewind: 0 },
  { rewind: 1001 },
  { rewind: 1.5 },
  { rewind: "30" },
  { rewind: "0s" },
  { rewind: "5d" },
  { rewind: null },
  { rewind: true },
  { recover: 5 },
  { recover: null },
  { recover: "e.1.c", rewind: 5 },
  { recover: "e.1.c", connection: 7 },
  { state: 1 },
  { occupancy: "yes" },
  { presence: null },
  { includeSenderMetadata: "true" },
])("%p is malformed", (fields) => {
  expect(subscribeOptions(fields)).toBeUndefined();
});

test("only a subscription to occupancy can do without presence", () => {
  expect(subscribeOptions({ presence: false })?.isPresent).toBe(true);
  expect(subscribeOptions({ presence: false, occupancy: true })?.isPresent).toBe(false);
});
