/** What other nodes answer to a request for the traffic of keys. */
import { expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import type { NodeRequests } from "../../../engine/node-requests.ts";
import type { AppRow } from "../../../store/contract/store.ts";
import { COUNTED_KEYS_PER_APP } from "../../../telemetry/key-traffic.ts";
import { Series } from "../../../telemetry/series.ts";
import { Traffic } from "../../../telemetry/traffic.ts";
import { guardOf, run } from "../../testing/calls.ts";
import { decodeKeyTraffic, keyTrafficEndpoint } from "./key-traffic.ts";

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

test("a key's traffic on several nodes is one row, each step at its time", async () => {
  const traffic = new Traffic();
  const answers = [
    { start: 1_800_000_000, keys: [{ ...KEY, messages: [1, 2, null] }] },
    {
      start: 1_800_000_005,
      keys: [
        { ...KEY, messages: [10, null, 20] },
        { ...KEY, keyId: "sk_id_2" },
      ],
    },
  ];
  const endpoint = keyTrafficEndpoint(guardOf("read"), {
    series: new Series(traffic, 1_800_000_000_000),
    keys: traffic.keys,
    nodeRequests: {
      onRequest: () => undefined,
      gather: async () => ({ answers, isComplete: false }),
    } as unknown as NodeRequests,
    appIn: async () => ({ id: anAppId("app") }) as unknown as AppRow,
  });
  const path = "/api/internal/v1/apps/:app/key-traffic";
  expect(await run([endpoint], { method: "GET", path, query: "?range=15m" })).toMatchObject({
    stepSec: 5,
    start: 1_800_000_000,
    isComplete: false,
    data: [
      { keyId: KEY.keyId, connections: 4, connects: 7, messages: 165, messagesPerSec: [1, 12, null, 20] },
      { keyId: "sk_id_2", messagesPerSec: [null, 1, null, 0.5] },
    ],
  });
});
