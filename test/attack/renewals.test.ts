/** Floods of `renew` frames: each connection pays for its own, and none is a way around the limits of connects. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { fresh, type World, worldForTests } from "../conformance/raw/support/world.ts";
import type { Wire } from "../support/wire/wire.ts";

setDefaultTimeout(60_000);

const limited = await worldForTests();

/** The answers to this many renewals with the same token, sent at once, by code. */
async function answers(wire: Wire, token: string, count: number): Promise<Record<string, number>> {
  const ids = Array.from({ length: count }, () => fresh("renew"));
  wire.send(...ids.map((requestId) => ({ type: "renew", token, requestId })));
  const counts: Record<string, number> = {};
  for (const id of ids) {
    const answer = await wire.answerTo(id);
    const name = answer.type === "error" ? answer.code : answer.type;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

const peer = async (world: World): Promise<{ wire: Wire; token: string }> => {
  const { wire, peerId } = await world.guest();
  return { wire, token: world.token({ sub: peerId }) };
};

test("a flood is refused after five, whether the token is good or not, and the connection goes on", async () => {
  const { wire, token } = await peer(limited);
  const good = await answers(wire, token, 300);
  expect(good.ack).toBeGreaterThanOrEqual(5);
  // One more per second that the flood takes.
  expect(good.ack).toBeLessThan(15);
  expect((good.ack ?? 0) + (good.rate_limited ?? 0)).toBe(300);
  const other = await peer(limited);
  const forged = await answers(other.wire, `${other.token.slice(0, -3)}AAA`, 300);
  expect(forged.invalid_token).toBeLessThan(15);
  expect((forged.invalid_token ?? 0) + (forged.rate_limited ?? 0)).toBe(300);
  expect(await other.wire.sync()).toEqual([]);
});

test("a flood of more frames than the rate allows closes the connection, as any flood", async () => {
  const { wire, token } = await peer(limited);
  wire.send(...Array.from({ length: 1000 }, () => ({ type: "renew", token })));
  expect((await wire.closed()).code).toBe(4011);
});

test("a token of the largest frame costs no more than its frame; one that is larger is too big", async () => {
  const { wire } = await peer(limited);
  expect(await answers(wire, "x".repeat(67_000), 5)).toEqual({ invalid_token: 5 });
  wire.send({ type: "renew", token: "x".repeat(70_000) });
  expect((await wire.closed()).code).toBe(1009);
});
