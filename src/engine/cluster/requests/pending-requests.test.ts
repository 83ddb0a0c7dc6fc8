import { expect, test } from "bun:test";
import { responsePart } from "../wire/decode.ts";
import type { NodeResponse, ResponsePart } from "../wire/messages.ts";
import { ITEM_MAX_BYTES, PARTS_MAX } from "../wire/payload.ts";
import { PendingRequests } from "./pending-requests.ts";
import { channelsOf, encodeParts } from "./response-parts.ts";

function pendingRequest() {
  let now = 0;
  const requests = new PendingRequests(() => now);
  const results: (ReadonlyMap<string, NodeResponse> | undefined)[] = [];
  requests.add(1, ["a"], (all) => results.push(all));
  const arrive = (part: number, parts: number, node = "a"): void => {
    const response: NodeResponse = {
      kind: "members",
      members: [{ peerId: `p${part}`, metadataJson: undefined, since: 0, node: "a" }],
    };
    requests.receive(1, { node, part, parts, response });
  };
  const pass = (ms: number): void => {
    now += ms;
    requests.sweep();
  };
  return { results, arrive, pass };
}

test("a response may take longer than a second while its parts keep arriving, up to a limit", () => {
  const { results, arrive, pass } = pendingRequest();
  for (let part = 0; part < 10; part++) {
    arrive(part, 11);
    pass(900);
  }
  expect(results).toEqual([]);
  arrive(10, 11);
  expect(results.map((all) => all?.size)).toEqual([1]);

  const endless = pendingRequest();
  for (let part = 0; part < 20; part++) {
    endless.arrive(part, PARTS_MAX);
    endless.pass(900);
  }
  expect(endless.results.map((all) => all?.size)).toEqual([0]);
});

test("a response without one of its parts is ignored", () => {
  const { results, arrive, pass } = pendingRequest();
  for (const part of [0, 2, 3]) arrive(part, 4);
  pass(1000);
  expect(results.map((all) => all?.size)).toEqual([0]);
});

test("a part that arrives twice does not replace a missing one", () => {
  const { results, arrive, pass } = pendingRequest();
  for (const part of [0, 1, 1]) arrive(part, 3);
  expect(results).toEqual([]);
  pass(1000);
  expect(results.map((all) => all?.size)).toEqual([0]);
});

test("a response of a node that got no request is ignored", () => {
  const { results, arrive } = pendingRequest();
  arrive(0, 1, "other");
  expect(results).toEqual([]);
  arrive(0, 1);
  expect(results.map((all) => [...(all?.keys() ?? [])])).toEqual([["a"]]);
});

test("a response that needs more parts than nodes accept is not sent", () => {
  // Two of these items do not fit into one part.
  const item = "x".repeat(ITEM_MAX_BYTES / 2);
  expect(encodeParts("a", { kind: "replay", items: Array(PARTS_MAX + 1).fill(item) })).toEqual([]);
});

test("long responses are split into parts that can be decoded one by one, and joined again", () => {
  const peerIds = Array.from({ length: 28_000 }, (_, at) => `peer number ${at} "quoted"`);
  const joinedOf = (response: NodeResponse): NodeResponse => {
    const texts = encodeParts("a", response);
    expect(texts.length).toBeGreaterThan(1);
    for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThan(ITEM_MAX_BYTES * 1.1);
    let joined: NodeResponse | undefined;
    const requests = new PendingRequests(() => 0);
    requests.add(1, ["a"], (all) => {
      joined = all.get("a");
    });
    for (const text of texts) requests.receive(1, responsePart(text) as ResponsePart);
    if (!joined) throw new Error("the response is not complete");
    return joined;
  };
  const counts = [
    { channel: "large", peerIds, connections: 30_000 },
    { channel: "empty", peerIds: [], connections: 1 },
  ];
  expect(channelsOf(joinedOf({ kind: "channels", counts, steps: 9 }))).toEqual({ counts, steps: 9 });
  const items = peerIds.slice(0, 2000);
  expect(joinedOf({ kind: "replay", items })).toEqual({ kind: "replay", items });
});
