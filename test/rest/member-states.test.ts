/** States of members over REST: in the list of members, and set for a member. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { fresh, join, worldForTests } from "../conformance/raw/support/world.ts";
import type { Json } from "../support/http.ts";

setDefaultTimeout(60_000);

const world = await worldForTests();

const peersOf = async (channel: string): Promise<unknown> =>
  (await world.rest<Json>("GET", `/v1/channels/${encodeURIComponent(channel)}/peers`)).body.peers;

const put = (channel: string, peerId: string, body: unknown) =>
  world.rest<Json>("PUT", `/v1/channels/${encodeURIComponent(channel)}/peers/${peerId}/state`, { body });

describe("GET peers", () => {
  test("has the state of members that have one, as it was written", async () => {
    const channel = fresh("room");
    const { wire, peerId } = await world.member(channel);
    expect(await peersOf(channel)).toEqual([{ peerId }]);
    wire.send(`{"type":"state","channel":"${channel}","state":{"n": 12345678901234567890},"requestId":"s"}`);
    await wire.answerTo("s");
    const { text } = await world.rest("GET", `/v1/channels/${channel}/peers`);
    expect(text).toContain('"state":{"n": 12345678901234567890}');
  });
});

describe("PUT state", () => {
  test("sets the state of a member, and members that asked for states are shown it", async () => {
    const channel = `${fresh("room")}/a`;
    const watcher = await world.guest();
    await join(watcher.wire, channel, { state: true });
    const { peerId } = await world.member(channel);
    await watcher.wire.until("presence");
    const answer = await put(channel, peerId, { state: { hand: "up" } });
    expect(answer.status).toBe(200);
    expect(answer.body as Json).toEqual({ channel, peerId, state: { hand: "up" } });
    const shown = await watcher.wire.text();
    expect(JSON.parse(shown)).toEqual({ type: "state", channel, changed: [{ peerId, state: { hand: "up" } }] });
    expect(await peersOf(channel)).toContainEqual({ peerId, state: { hand: "up" } });
    await put(channel, peerId, { state: null });
    expect(await peersOf(channel)).toContainEqual({ peerId });
  });

  test("is refused where it may not be", async () => {
    const channel = fresh("room");
    const { peerId } = await world.member(channel);
    const refusal = async (...args: Parameters<typeof put>): Promise<unknown[]> => {
      const { status, body } = await put(...args);
      return [status, body.error];
    };
    expect(await refusal(channel, "absent", { state: {} })).toEqual([404, "peer_not_found"]);
    expect(await refusal("_system/x", peerId, { state: {} })).toEqual([400, "channel_reserved"]);
    for (const body of [{}, { state: 1 }, { state: [] }, { state: "x" }, { state: { a: "x".repeat(4096) } }])
      expect(await refusal(channel, peerId, body)).toEqual([400, "invalid_request"]);
    const narrow = await world.admin.createKey(world.app._id, { channelPatterns: ["other"] });
    const mute = await world.admin.createKey(world.app._id, { actions: ["publish"] });
    for (const [key, code] of [
      [narrow, "channel_not_authorized"],
      [mute, "action_not_permitted"],
    ] as const) {
      const url = `${world.url}/v1/channels/${channel}/peers/${peerId}/state`;
      const headers = { Authorization: `Bearer ${key.credential}` };
      const response = await fetch(url, { method: "PUT", headers, body: '{"state":{}}' });
      expect([response.status, ((await response.json()) as Json).error]).toEqual([403, code]);
    }
  });
});
