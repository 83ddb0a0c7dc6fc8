import { expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import { APP, World } from "../../testing/kit.ts";
import { LIVE_PAGE_MAX } from "./limits.ts";
import { Live } from "./live.ts";

/** Two nodes; `refuse` refuses a connect on one of them. */
function scene() {
  const world = new World({ nodes: 2 });
  const [live] = world.nodes.map(({ hub, clock }, i) => new Live(hub, clock, `node-${i}`));
  if (!live) throw new Error("there is no node");
  const refuse = (node: number, peerId: string | undefined, code: "token_expired" | "invalid_token"): void => {
    const known = peerId === undefined ? {} : { app: APP, keyId: "sk_id_1", peerId };
    world.nodeAt(node).hub.emitter.refused(code, known, [192, 0, 2, 9], "https://shop.example");
    world.advance(1);
  };
  return { world, live, refuse };
}

test("the refusals of all nodes are one list, newest first, with the node of each", async () => {
  const { world, live, refuse } = scene();
  refuse(0, "ann", "token_expired");
  refuse(1, "ann", "token_expired");
  refuse(1, "ann", "token_expired");
  world.join("bob", "chat/1", { node: 1 }).publish("_system/x", 1);
  const page = await live.refusals.page({ limit: 10 });
  const ann = { kind: "refuse", code: "token_expired", app: APP, keyId: "sk_id_1", peerId: "ann" } as const;
  expect(page).toMatchObject({
    data: [
      { kind: "error", code: "channel_reserved", peerId: "bob", channel: "_system/x", nodeId: "node-1" },
      { ...ann, address: "192.0.2.9", origin: "https://shop.example", count: 2, nodeId: "node-1" },
      { ...ann, count: 1, nodeId: "node-0" },
    ],
    next: null,
    isComplete: true,
  });
  expect(Object.keys(page?.data[0] ?? {})).not.toContain("node");
});

test("pages go on where the previous one ended, also when several happened in the same millisecond", async () => {
  const { world, live } = scene();
  for (let i = 0; i < 30; i++)
    world.nodeAt(i % 2).hub.emitter.refused("invalid_token", { app: APP, keyId: "k", peerId: `p${i}` }, [192, 0, 2, 9]);
  const found: (string | undefined)[] = [];
  let after: string | undefined;
  for (let pages = 1; ; pages++) {
    const page = await live.refusals.page({ limit: 7, after });
    found.push(...(page?.data ?? []).map(({ peerId }) => peerId));
    after = page?.next ?? undefined;
    if (after !== undefined) continue;
    expect(pages).toBe(5);
    break;
  }
  expect(found.toSorted()).toEqual(Array.from({ length: 30 }, (_, i) => `p${i}`).toSorted());
});

test("filters choose an application, unknown credentials, connects or frames, a code, and parts of peer, origin and address", async () => {
  const { live, refuse } = scene();
  refuse(0, "ann", "token_expired");
  refuse(1, undefined, "invalid_token");
  const codes = async (filter: Omit<Parameters<Live["refusals"]["page"]>[0], "limit">) =>
    (await live.refusals.page({ ...filter, limit: LIVE_PAGE_MAX }))?.data.map(({ code }) => code);
  expect(await codes({})).toEqual(["invalid_token", "token_expired"]);
  expect(await codes({ app: APP })).toEqual(["token_expired"]);
  expect(await codes({ app: anAppId("other") })).toEqual([]);
  expect(await codes({ app: null })).toEqual(["invalid_token"]);
  expect(await codes({ kind: "error" })).toEqual([]);
  expect(await codes({ code: "invalid_token" })).toEqual(["invalid_token"]);
  expect(await codes({ peer: "AN" })).toEqual(["token_expired"]);
  expect(await codes({ peer: "bob" })).toEqual([]);
  expect(await codes({ from: "Shop.example" })).toEqual(["invalid_token", "token_expired"]);
  expect(await codes({ from: "192.0.2.9", kind: "refuse", peer: "ann" })).toEqual(["token_expired"]);
  expect(await codes({ from: "198.51.100.1" })).toEqual([]);
});

test.each(["", "1", "1.2", "1.2.", "x.2.n", `1.2.${"n".repeat(100)}`])("%j is no place in the list", async (after) => {
  expect(await scene().live.refusals.page({ limit: 1, after })).toBeUndefined();
});
