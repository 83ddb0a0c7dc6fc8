/** What long lists of channels and members cost the key that asks for them. */
import { expect, test } from "bun:test";
import type { Credential } from "../../access/keys/credential.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { Throttle } from "../../base/throttle.ts";
import type { MemberState } from "../../engine/engine.ts";
import { actionSet } from "../../protocol/actions.ts";
import { parseGlob } from "../../protocol/patterns/glob.ts";
import { Scope } from "../../protocol/patterns/scope.ts";
import { KeyTraffic } from "../../telemetry/key-traffic.ts";
import { StreamedResponses } from "../response/streamed-responses.ts";
import type { Guard } from "../server/endpoint.ts";
import { run } from "../testing/calls.ts";
import { channelEndpoints } from "./channels.ts";

const scope = new Scope(["**"].map(parseGlob).filter((glob) => typeof glob !== "string"));
const caller = {
  key: { id: "key", app: anAppId("app"), scope, actions: actionSet(["presence"]) },
} as unknown as Credential;
const guard: Guard<Credential> = { security: "secretKey", admit: () => caller, recheck: () => caller };

function setup(members: readonly Partial<MemberState>[] = []) {
  const state = { nowMs: 0, lists: 0 };
  const keyRate = new Throttle(100, 100, () => state.nowMs);
  const occupancy = {
    channels: async (_app: unknown, _page: unknown, charge: (requests: number) => void) => {
      state.lists++;
      charge(60);
      return { data: [], next: null };
    },
    members: async () => {
      state.lists++;
      return [...members] as MemberState[];
    },
  };
  const endpoints = channelEndpoints(guard, {
    occupancy,
    publishing: { publish: () => Promise.reject(new Error("nothing is published")) },
    keyTraffic: new KeyTraffic(),
    responses: new StreamedResponses(new FakeClock()),
    keyRate,
    logIncomplete: () => undefined,
  });
  const list = (): Promise<object> => run(endpoints, { method: "GET", path: "/v1/channels" });
  const peers = (): Promise<object> =>
    run(endpoints, { method: "GET", path: "/v1/channels/:channel/peers", params: { channel: "c" } });
  return { state, keyRate, list, peers };
}

test("a key whose rate is used up by lists of very many channels gets no further one, also if it was let in before", async () => {
  const { state, keyRate, list } = setup();
  const results = await Promise.allSettled([list(), list(), list(), list()]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "rejected"]);
  expect(results[2]).toMatchObject({ reason: { code: "rate_limited", retryAfterSeconds: 1 } });
  expect(state.lists).toBe(2);
  expect(keyRate.debt("key")).toBe(1);
  state.nowMs += 1000;
  await list();
  expect(state.lists).toBe(3);
});

test("each 1,000 members of a channel that are listed count as one more request", async () => {
  const { keyRate, peers } = setup(Array.from({ length: 3500 }, (_, nr) => ({ peerId: `p${nr}` })));
  keyRate.charge("key", 98);
  await peers();
  expect(keyRate.debt("key")).toBe(1);
  await expect(peers()).rejects.toMatchObject({ code: "rate_limited" });
  const few = setup(Array.from({ length: 999 }, (_, nr) => ({ peerId: `p${nr}` })));
  few.keyRate.charge("key", 100);
  await few.peers();
  expect(few.keyRate.debt("key")).toBe(0);
});
