/** What other nodes answer to a request for the traffic of keys. */
import { expect, test } from "bun:test";
import { COUNTED_KEYS_PER_APP } from "../../../telemetry/key-traffic.ts";
import { decodeKeyTraffic } from "./key-traffic.ts";

const KEY = { keyId: "pk_live_1", connections: 2, connects: 3.5, refusals: 0, errors: 0, messages: [1, null, 0.5] };
const GOOD = { start: 1_800_000_000, keys: [KEY] };

test("an answer of the expected form is taken, without fields that are not known", () => {
  expect(decodeKeyTraffic({ ...GOOD, more: 1 })).toEqual(GOOD);
});

test("anything else is refused, and nothing in it can be of any length", () => {
  const withKey = (changes: object): object => ({ ...GOOD, keys: [{ ...KEY, ...changes }] });
  for (const wrong of [
    undefined,
    { ...GOOD, start: "soon" },
    { ...GOOD, keys: Array(COUNTED_KEYS_PER_APP + 1).fill(KEY) },
    withKey({ keyId: "k".repeat(101) }),
    withKey({ connections: -1 }),
    withKey({ messages: ["1"] }),
    withKey({ messages: Array(289).fill(0) }),
  ])
    expect(() => decodeKeyTraffic(wrong)).toThrow();
});
