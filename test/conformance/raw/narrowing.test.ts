/** protocol.md 1, 6 and 8: the effect of key edits on open connections. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { SecretKey } from "../../support/admin.ts";
import { refusal } from "../../support/wire/connect.ts";
import { leaveOf, revoked } from "./support/expected.ts";
import { ALL_ACTIONS, type Claims, fresh, join, tokenQuery, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const world = await worldForTests();

const makeKey = (fields: object = {}): Promise<SecretKey> => world.admin.createKey(world.app._id, { ...fields });
/** Two members of a channel below chat/; `key` is the second one's. */
const pair = (key: SecretKey, claims: Claims = {}) => world.pair(claims, key, `chat/${fresh("room")}`);

const without = (...actions: string[]): string[] => ALL_ACTIONS.filter((action) => !actions.includes(action));

describe("an edit that removes channels", () => {
  test("ends those subscriptions at once: an error for each, other members see it leave, it stays connected", async () => {
    const key = await makeKey();
    const { channel, watcher, guest } = await pair(key);
    const kept = `kept/${fresh("room")}`;
    const also = `chat/${fresh("room")}`;
    const keptWatcher = await world.member(kept);
    await join(guest.wire, kept);
    await join(guest.wire, also);
    await keptWatcher.wire.until("presence");
    await world.admin.patchKey(key.keyId, { channelPatterns: ["kept/*"] });
    expect(await guest.wire.sync()).toEqual([revoked(), revoked()]);
    expect(await watcher.wire.frame()).toEqual(leaveOf(channel, guest.peerId));
    await watcher.wire.request({ type: "publish", channel, data: 1 });
    const late = await world.member(channel);
    expect(late.roster.joined).toEqual([{ peerId: watcher.peerId }]);
    await watcher.wire.until("presence");
    expect(await guest.wire.sync()).toEqual([]);
    await keptWatcher.wire.request({ type: "publish", channel: kept, data: 2 });
    expect(await guest.wire.frame()).toMatchObject({ type: "message", channel: kept, data: 2 });
    expect(await keptWatcher.wire.sync()).toEqual([]);
    for (const frame of [
      { type: "subscribe", channel },
      { type: "publish", channel, data: 1 },
    ])
      expect(await guest.wire.request(frame)).toMatchObject({ code: "channel_not_authorized" });
    expect(await guest.wire.request({ type: "publish", channel: kept, data: 3 })).toMatchObject({ type: "ack" });
  });

  test("sends errors that name the channel and have no requestId", async () => {
    const key = await makeKey();
    const { channel, guest } = await pair(key);
    await world.admin.patchKey(key.keyId, { channelPatterns: [] });
    const error = await guest.wire.frame("error");
    expect(Object.keys(error).sort()).toEqual(["channel", "code", "message", "type"]);
    expect(error.channel).toBe(channel);
    expect(error.message).toContain(channel);
  });

  test("leaves an open connection the channels that the key still covers, and refuses new connects with its token", async () => {
    const key = await makeKey();
    const [kept, gone] = [fresh("kept"), fresh("gone")];
    const token = world.token({ channels: [kept, gone], permissions: ["subscribe", "publish"] }, key);
    const { wire } = await world.welcomed({ query: tokenQuery(token) });
    for (const channel of [kept, gone]) await wire.request({ type: "subscribe", channel });
    await world.admin.patchKey(key.keyId, { channelPatterns: ["kept*"] });
    expect(await wire.sync()).toEqual([revoked()]);
    expect(await wire.request({ type: "publish", channel: kept, data: 1 })).toMatchObject({ type: "ack" });
    expect(await wire.request({ type: "publish", channel: gone, data: 1 })).toMatchObject({
      code: "channel_not_authorized",
    });
    // The key covers this channel, the token does not name it.
    expect(await wire.request({ type: "publish", channel: `${kept}x`, data: 1 })).toMatchObject({
      code: "channel_not_authorized",
    });
    expect((await refusal(world.url, { query: tokenQuery(token) })).body.error).toBe("invalid_token");
  });

  test("does not restore subscriptions when it is undone, but a new subscribe succeeds", async () => {
    const key = await makeKey();
    const { channel, watcher, guest } = await pair(key);
    await world.admin.patchKey(key.keyId, { channelPatterns: [] });
    expect(await guest.wire.frame()).toEqual(revoked());
    await watcher.wire.until("presence");
    await world.admin.patchKey(key.keyId, { channelPatterns: ["**"] });
    await watcher.wire.request({ type: "publish", channel, data: 1 });
    expect(await guest.wire.sync()).toEqual([]);
    expect(await watcher.wire.sync()).toEqual([]);
    expect((await join(guest.wire, channel)).joined).toEqual([{ peerId: watcher.peerId }]);
    expect(await watcher.wire.frame()).toMatchObject({ joined: [{ peerId: guest.peerId }] });
  });

  test("between an ack and its roster prevents the roster", async () => {
    const key = await makeKey();
    const channel = `chat/${fresh("room")}`;
    const [watcher, other] = [await world.member(channel), fresh("other")];
    const { wire } = await world.guest({}, { answersPings: false }, key);
    await wire.request({ type: "subscribe", channel });
    await wire.request({ type: "subscribe", channel: other });
    await world.admin.patchKey(key.keyId, { channelPatterns: ["other*"] });
    expect(await wire.frame()).toEqual(revoked());
    expect(await wire.frame()).toMatchObject({ type: "presence", channel: other });
    expect(await wire.sync()).toEqual([]);
    expect(await watcher.wire.sync()).toEqual([]);
  });

  test("of a publishable key has the same effect on its connections", async () => {
    const { keyId } = await world.admin.createPublishable(world.app._id);
    const channel = `chat/${fresh("room")}`;
    const watcher = await world.member(channel);
    const { wire, peerId } = await world.visitor(keyId);
    await join(wire, channel);
    await watcher.wire.until("presence");
    await world.admin.patchKey(keyId, { channelPatterns: ["other"] });
    expect(await wire.sync()).toEqual([revoked()]);
    expect(await watcher.wire.frame()).toEqual(leaveOf(channel, peerId));
  });

  test("does not affect connections of other keys, nor what is still allowed", async () => {
    const [key, other] = [await makeKey(), await makeKey()];
    const { channel, watcher, guest } = await pair(key);
    const bystander = await world.member(channel, {}, other);
    await watcher.wire.until("presence");
    await guest.wire.until("presence");
    await world.admin.patchKey(key.keyId, { channelPatterns: ["chat/*"], label: "same" });
    await world.admin.patchKey(key.keyId, { channelPatterns: ["**"] });
    for (const { wire } of [guest, watcher, bystander]) expect(await wire.sync()).toEqual([]);
    await world.admin.patchKey(key.keyId, { channelPatterns: [] });
    expect(await guest.wire.sync()).toEqual([revoked()]);
    for (const { wire } of [watcher, bystander]) expect(await wire.frame()).toEqual(leaveOf(channel, guest.peerId));
  });

  test("keeps a peer a member while another of its connections is subscribed", async () => {
    const key = await makeKey();
    const { channel, watcher, guest } = await pair(key);
    const twin = await world.member(channel, { sub: guest.peerId });
    await world.admin.patchKey(key.keyId, { channelPatterns: [] });
    expect(await guest.wire.frame()).toEqual(revoked());
    twin.wire.close();
    expect(await watcher.wire.frame()).toEqual(leaveOf(channel, guest.peerId));
  });
});

describe("an edit that removes actions", () => {
  test("publish: a publish is refused from then on; it stays subscribed", async () => {
    const key = await makeKey();
    const { channel, watcher, guest } = await pair(key);
    await world.admin.patchKey(key.keyId, { actions: without("publish") });
    expect(await guest.wire.request({ type: "publish", channel, data: 1 })).toMatchObject({
      code: "action_not_permitted",
    });
    await watcher.wire.request({ type: "publish", channel, data: 2 });
    expect(await guest.wire.sync()).toMatchObject([{ type: "message", data: 2 }]);
    expect(await watcher.wire.sync()).toEqual([]);
  });

  test("send: a send is refused from then on, also for a token that names it", async () => {
    const key = await makeKey();
    const { watcher, guest } = await pair(key, { permissions: ALL_ACTIONS });
    await world.admin.patchKey(key.keyId, { actions: without("send") });
    expect(await guest.wire.request({ type: "send", to: watcher.peerId, data: 1 })).toMatchObject({
      code: "action_not_permitted",
    });
    expect(await watcher.wire.sync()).toEqual([]);
  });

  test("subscribe: every subscription ends with error channel_not_authorized, and other members see it leave", async () => {
    const key = await makeKey();
    const { channel, watcher, guest } = await pair(key);
    await world.admin.patchKey(key.keyId, { actions: without("subscribe") });
    expect(await watcher.wire.frame()).toEqual(leaveOf(channel, guest.peerId));
    await watcher.wire.request({ type: "publish", channel, data: 1 });
    expect(await guest.wire.sync()).toEqual([revoked()]);
    expect(await guest.wire.request({ type: "subscribe", channel })).toMatchObject({ code: "action_not_permitted" });
  });

  test("presence: other members see it leave, it receives no more presence, messages continue", async () => {
    const key = await makeKey();
    const { channel, watcher, guest } = await pair(key);
    await world.admin.patchKey(key.keyId, { actions: without("presence") });
    expect(await watcher.wire.frame()).toEqual(leaveOf(channel, guest.peerId));
    const late = await world.member(channel);
    expect(late.roster.joined).toEqual([{ peerId: watcher.peerId }]);
    await watcher.wire.until("presence");
    await watcher.wire.request({ type: "publish", channel, data: 1 });
    expect(await guest.wire.sync()).toMatchObject([{ type: "message", data: 1 }]);
    await guest.wire.request({ type: "publish", channel, data: 2 });
    expect(await watcher.wire.sync()).toMatchObject([{ type: "message", data: 2 }]);
    guest.wire.close();
    await guest.wire.closed();
    const last = await world.member(channel);
    expect(await watcher.wire.frame()).toMatchObject({ joined: [{ peerId: last.peerId }], left: [] });
  });

  test("presence, between an ack and its roster: no roster is sent, and no member sees it join", async () => {
    const key = await makeKey();
    const channel = fresh("room");
    const watcher = await world.member(channel);
    const { wire } = await world.guest({}, { answersPings: false }, key);
    await wire.request({ type: "subscribe", channel });
    const payload = await wire.rosterPing();
    await world.admin.patchKey(key.keyId, { actions: without("presence") });
    wire.pong(payload);
    const late = await world.member(channel);
    expect(await watcher.wire.frame()).toMatchObject({ joined: [{ peerId: late.peerId }], left: [] });
    expect(await wire.sync()).toEqual([]);
  });

  test("does not touch a token that does not name them", async () => {
    const key = await makeKey();
    const { guest, watcher } = await pair(key, { permissions: without("send") });
    await world.admin.patchKey(key.keyId, { actions: without("send") });
    for (const { wire } of [guest, watcher]) expect(await wire.sync()).toEqual([]);
  });
});

describe("an edit that adds", () => {
  test("actions and channels takes effect at once for a token that names none", async () => {
    const key = await makeKey({ channelPatterns: ["a"], actions: ["subscribe"] });
    const { wire } = await world.guest({}, {}, key);
    expect(await wire.request({ type: "publish", channel: "a", data: 1 })).toMatchObject({
      code: "action_not_permitted",
    });
    await world.admin.patchKey(key.keyId, { channelPatterns: ["**"], actions: ["subscribe", "publish"] });
    expect(await wire.request({ type: "publish", channel: "b", data: 1 })).toMatchObject({ type: "ack" });
  });

  test("never grants more than the token names", async () => {
    const key = await makeKey({ channelPatterns: ["a"], actions: ["subscribe"] });
    const { wire } = await world.guest({ channels: ["a"], permissions: ["subscribe"] }, {}, key);
    await world.admin.patchKey(key.keyId, { channelPatterns: ["**"], actions: ALL_ACTIONS });
    expect(await wire.request({ type: "publish", channel: "a", data: 1 })).toMatchObject({
      code: "action_not_permitted",
    });
    expect(await wire.request({ type: "subscribe", channel: "b" })).toMatchObject({ code: "channel_not_authorized" });
  });

  test("presence: the next subscribe brings the roster and announces it, also for a channel already subscribed", async () => {
    const key = await makeKey({ actions: without("presence") });
    const [held, fresher] = [fresh("room"), fresh("room")];
    const watcher = await world.member(held);
    const { wire, peerId } = await world.guest({}, {}, key);
    await wire.request({ type: "subscribe", channel: held });
    await world.admin.patchKey(key.keyId, { actions: ALL_ACTIONS });
    expect((await join(wire, fresher)).joined).toEqual([]);
    await wire.request({ type: "subscribe", channel: held });
    expect(await wire.frame()).toMatchObject({ channel: held, joined: [{ peerId: watcher.peerId }], snapshot: true });
    expect(await watcher.wire.frame()).toMatchObject({ joined: [{ peerId }] });
  });

  test("origins: open connections stay", async () => {
    const { keyId } = await world.admin.createPublishable(world.app._id);
    const { wire } = await world.visitor(keyId, { headers: { Origin: "https://a.example" } });
    await world.admin.patchKey(keyId, { allowedOrigins: [] });
    expect(await wire.sync()).toEqual([]);
  });
});
