/** protocol.md 2: `renew`, a new token on an open connection. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { nowSeconds, selfSigned } from "../../support/jwt.ts";
import { SLACK_MS } from "../../support/slack.ts";
import type { Frame } from "../../support/wire/shapes.ts";
import type { Wire } from "../../support/wire/wire.ts";
import { errorFrame, leaveOf, presenceChange } from "./support/expected.ts";
import { acked, keepHistory, kept } from "./support/history.ts";
import { type Claims, fresh, type Guest, join, newApp, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

// Without limits of frames there is none for renewals either.
const world = await worldForTests({ env: { PARLEY_FRAMES_PER_SECOND: "0" } });
beforeAll(() => keepHistory(world));

const renew = (wire: Wire, token: unknown): Promise<Frame<"ack"> | Frame<"error">> =>
  wire.request({ type: "renew", token });

/** Renews with a token of the same peer. */
const renewed = ({ wire, peerId }: Guest, claims: Claims = {}, key = world.key): Promise<unknown> =>
  renew(wire, world.token({ sub: peerId, ...claims }, key));

const RENEWED = { type: "ack", expiresAt: expect.any(Number) };

describe("a new token", () => {
  test("is acked with its expiry, and the end of the old one passes without a close", async () => {
    const old = nowSeconds() + 5;
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const guest = await world.member(channel, { exp: old });
    const witness = await world.guest({ exp: old });
    await watcher.wire.until("presence");
    const exp = nowSeconds() + 500;
    const answer = await renewed(guest, { exp });
    expect(answer).toEqual({ type: "ack", requestId: expect.any(String), expiresAt: exp });
    expect((await witness.wire.closed()).code).toBe(4002);
    expect(await guest.wire.request({ type: "publish", channel, data: 1 })).toMatchObject({ type: "ack" });
    expect(await watcher.wire.sync()).toMatchObject([{ type: "message", data: 1 }]);
  });

  test("ends the connection at its own expiry", async () => {
    const guest = await world.guest();
    const exp = nowSeconds() + 4;
    expect(await renewed(guest, { exp })).toMatchObject({ expiresAt: exp });
    const { code, at } = await guest.wire.closed();
    expect(code).toBe(4002);
    expect(performance.timeOrigin + at).toBeLessThan(exp * 1000 + SLACK_MS);
  });

  test("says the effective expiry: never more than a day after its iat", async () => {
    const guest = await world.guest();
    const iat = nowSeconds() - 80_000;
    expect(await renewed(guest, { iat, exp: iat + 100_000 })).toMatchObject({ expiresAt: iat + 86_400 });
  });

  test("that covers less ends subscriptions at once; what is left goes on", async () => {
    const [gone, stays] = [fresh("gone"), fresh("stays")];
    const watcher = await world.member(gone);
    await join(watcher.wire, stays);
    const guest = await world.member(gone);
    await join(guest.wire, stays);
    for (const channel of [gone, stays]) await watcher.wire.until("presence", (frame) => frame.channel === channel);
    expect(await renewed(guest, { channels: [stays] })).toMatchObject(RENEWED);
    const error = await guest.wire.until("error");
    expect(error).toMatchObject({ code: "channel_not_authorized", channel: gone });
    expect(error.message).toContain(gone);
    expect(await watcher.wire.frame()).toEqual(leaveOf(gone, guest.peerId));
    for (const channel of [gone, stays]) await watcher.wire.request({ type: "publish", channel, data: channel });
    expect(await guest.wire.frame("message")).toMatchObject({ channel: stays });
    expect(await guest.wire.request({ type: "publish", channel: gone, data: 1 })).toMatchObject({
      code: "channel_not_authorized",
    });
    expect(await guest.wire.sync()).toEqual([]);
  });

  test("that covers and permits more counts at once", async () => {
    const channel = fresh("room");
    const guest = await world.guest({ channels: [], permissions: [] });
    expect(await guest.wire.request({ type: "publish", channel, data: 1 })).toMatchObject({
      code: "action_not_permitted",
    });
    await renewed(guest);
    await join(guest.wire, channel);
    expect(await guest.wire.request({ type: "publish", channel, data: 1 })).toMatchObject({ type: "ack" });
  });

  test("with other peerMetadata is a join for the others, and its messages carry the new one", async () => {
    const { channel, watcher, guest } = await world.pair({ peerMetadata: { n: 1 } });
    await renewed(guest, { peerMetadata: { n: 2 } });
    const { peerId } = guest;
    expect(await watcher.wire.frame()).toEqual(presenceChange(channel, [{ peerId, metadata: { n: 2 } }], []));
    await guest.wire.request({ type: "send", to: watcher.peerId, data: 1 });
    expect(await watcher.wire.frame("direct")).toMatchObject({ fromMetadata: { n: 2 } });
    expect((await world.member(channel)).roster.joined).toContainEqual({ peerId, metadata: { n: 2 } });
  });

  test("delivers its metadata to no one", async () => {
    const guest = await world.guest({ metadata: { n: 1 } });
    await renewed(guest, { metadata: { n: 2 } });
    expect(await guest.wire.sync()).toEqual([]);
  });

  test("200 times in a row is neither a close nor a change of presence, and no message is lost", async () => {
    const { channel, watcher, guest } = await world.pair({ peerMetadata: { n: 1 } });
    for (let i = 0; i < 200; i++) {
      expect(await renewed(guest, { peerMetadata: { n: 1 } })).toMatchObject(RENEWED);
      watcher.wire.send({ type: "publish", channel, data: i });
    }
    const seen = await watcher.wire.sync();
    expect(seen).toEqual([]);
    for (let i = 0; i < 200; i++) expect(await guest.wire.frame("message")).toMatchObject({ data: i });
    expect(await guest.wire.sync()).toEqual([]);
  });

  test("keeps the scope of message ids, also under another key", async () => {
    const channel = kept();
    const guest = await world.guest();
    const first = await acked(guest.wire, { type: "publish", channel, data: 1, id: "once" });
    await renewed(guest, {}, await world.admin.createKey(world.app._id));
    const second = await acked(guest.wire, { type: "publish", channel, data: 1, id: "once" });
    expect(second).toMatchObject({ duplicate: true, pos: String(first.pos) });
  });
});

describe("another key of the application", () => {
  test("counts from then on: revoking the old one leaves the connection, revoking the new one ends it", async () => {
    const [old, next] = [await world.admin.createKey(world.app._id), await world.admin.createKey(world.app._id)];
    const guest = await world.guest({}, {}, old);
    expect(await renewed(guest, {}, next)).toMatchObject(RENEWED);
    const witness = await world.guest({}, {}, old);
    await world.admin.revoke(old.keyId);
    expect((await witness.wire.closed()).code).toBe(4001);
    expect(await guest.wire.sync()).toEqual([]);
    await world.admin.revoke(next.keyId);
    expect((await guest.wire.closed()).code).toBe(4001);
  });

  test("gives its secret's grace: a rotation without grace ends the connection", async () => {
    const next = await world.admin.createKey(world.app._id);
    const guest = await world.guest();
    await renewed(guest, {}, next);
    await world.admin.rotate(next.keyId, { graceSec: 0 });
    expect(await guest.wire.until("error")).toMatchObject({ code: "token_expired" });
    expect((await guest.wire.closed()).code).toBe(4002);
  });

  test("is the key of the connection in the live list of operators", async () => {
    const next = await world.admin.createKey(world.app._id);
    const guest = await world.guest();
    await renewed(guest, {}, next);
    const path = `/apps/${world.app._id}/peers/${guest.peerId}`;
    const { connections } = await world.admin.must<{ connections: { keyId: string }[] }>("GET", path);
    expect(connections.map(({ keyId }) => keyId)).toEqual([next.keyId]);
  });
});

describe("a token that is refused leaves the connection exactly as it was", () => {
  const refusals: readonly [string, string, (sub: string) => unknown | Promise<unknown>][] = [
    ["garbage", "invalid_token", () => "not a token"],
    ["a number", "malformed_message", () => 5],
    ["null", "malformed_message", () => null],
    ["of another peer", "invalid_token", () => world.token()],
    ["expired", "token_expired", (sub) => world.token({ sub, exp: nowSeconds() - 1 })],
    ["with another secret", "invalid_token", (sub) => selfSigned(world.key.keyId, "sk_secret_wrong", { sub })],
    ["with claims over a limit", "invalid_token", (sub) => world.token({ sub, peerMetadata: { x: "x".repeat(5000) } })],
    ["of another application", "invalid_token", async (sub) => world.token({ sub }, (await newApp(world.server)).key)],
    [
      "of a revoked key",
      "invalid_token",
      async (sub) => {
        const key = await world.admin.createKey(world.app._id);
        await world.admin.revoke(key.keyId);
        return world.token({ sub }, key);
      },
    ],
    [
      "of a retired secret",
      "token_expired",
      async (sub) => {
        const key = await world.admin.createKey(world.app._id);
        await world.admin.rotate(key.keyId, { graceSec: 0 });
        return world.token({ sub }, key);
      },
    ],
    [
      "beyond its key",
      "invalid_token",
      async (sub) => {
        const key = await world.admin.createKey(world.app._id, { channelPatterns: ["a/*"] });
        return world.token({ sub, channels: ["b/1"] }, key);
      },
    ],
  ];
  test.each(refusals)("%s: %s", async (_name, code, token) => {
    const { channel, watcher, guest } = await world.pair({ peerMetadata: { n: 1 } });
    const answer = await renew(guest.wire, await token(guest.peerId));
    expect(answer).toEqual(errorFrame(code, (answer as { requestId: string }).requestId));
    expect(await guest.wire.request({ type: "publish", channel, data: 1 })).toMatchObject({ type: "ack" });
    expect(await watcher.wire.sync()).toMatchObject([{ type: "message", data: 1 }]);
    expect(await guest.wire.sync()).toEqual([]);
  });

  test("of a connection with a publishable key: any token", async () => {
    const { keyId } = await world.admin.createPublishable(world.app._id);
    const { wire, peerId } = await world.visitor(keyId);
    expect(await renew(wire, world.token({ sub: peerId }))).toMatchObject({ code: "invalid_token" });
    expect(await wire.sync()).toEqual([]);
  });

  test("of a kicked and blocked peer: there is no connection to renew", async () => {
    const guest = await world.guest();
    const token = world.token({ sub: guest.peerId });
    await world.rest("DELETE", `/v1/peers/${guest.peerId}?blockSec=60`);
    guest.wire.send({ type: "renew", token });
    expect((await guest.wire.closed()).code).toBe(4020);
    expect(guest.wire.frames.filter(({ type }) => type === "ack")).toEqual([]);
  });
});
