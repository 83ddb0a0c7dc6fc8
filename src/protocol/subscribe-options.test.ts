import { expect, test } from "bun:test";
import { PLAIN, type SubscribeOptions, subscribeOptions } from "./subscribe-options.ts";

function understood(fields: Readonly<Record<string, unknown>>): SubscribeOptions {
  const options = subscribeOptions(fields);
  if (typeof options === "string") throw new Error(options);
  return options;
}

test("a subscribe without options begins with what is published from now on", () => {
  expect(subscribeOptions({ type: "subscribe", channel: "a" })).toEqual(PLAIN);
});

test("a recovery names its position and the earlier connection", () => {
  const options = understood({ recover: "e.1.c", connection: "x-1" });
  expect(options.start).toEqual({ kind: "recover", position: "e.1.c", connection: "x-1" });
});

test.each([
  [1, { kind: "messages", count: 1 }],
  [1000, { kind: "messages", count: 1000 }],
  ["30s", { kind: "seconds", seconds: 30 }],
  ["5m", { kind: "seconds", seconds: 300 }],
  ["2h", { kind: "seconds", seconds: 7200 }],
] as const)("rewind %p is understood", (rewind, start) => {
  expect(understood({ rewind }).start).toEqual(start);
});

test.each([
  ["rewind", { rewind: 0 }],
  ["rewind", { rewind: 1001 }],
  ["rewind", { rewind: 1.5 }],
  ["rewind", { rewind: "30" }],
  ["rewind", { rewind: "0s" }],
  ["rewind", { rewind: "5d" }],
  ["rewind", { rewind: null }],
  ["rewind", { rewind: true }],
  ["recover", { recover: 5 }],
  ["recover", { recover: null }],
  ["recover, rewind", { recover: "e.1.c", rewind: 5 }],
  ["connection", { recover: "e.1.c", connection: 7 }],
  ["state", { state: 1 }],
  ["occupancy", { occupancy: "yes" }],
  ["presence", { presence: null }],
  ["includeSenderMetadata", { includeSenderMetadata: "true" }],
] as const)("the field that is malformed is named: %s in %p", (name, fields) => {
  expect(String(subscribeOptions(fields))).toStartWith(`${name}: `);
});

test("texts that are too long for a position or a connection are not kept", () => {
  const options = understood({ recover: "x".repeat(60_000), connection: "y".repeat(60_000) });
  expect(options.start).toEqual({ kind: "recover", position: "", connection: "" });
});

test("only a subscription to occupancy can do without presence", () => {
  expect(understood({ presence: false }).isPresent).toBe(true);
  expect(understood({ presence: false, occupancy: true }).isPresent).toBe(false);
});
