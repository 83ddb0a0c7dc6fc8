/** protocol.md 1, 6 and 8: the effect of rotation, revocation and blocks on open connections. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { SecretKey } from "../../support/admin.ts";
import { selfSigned } from "../../support/jwt.ts";
import { SLACK_MS } from "../../support/slack.ts";
import { removeFolder, tempFolder } from "../../support/temp.ts";
import { until } from "../../support/wait.ts";
import { attempt, refusal } from "../../support/wire/connect.ts";
import { Wire } from "../../support/wire/wire.ts";
import { errorFrame } from "./support/expected.ts";
import { type Claims, fresh, type Guest, join, startWorld, tokenQuery, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const world = await worldForTests();

const makeKey = (fields: object = {}): Promise<SecretKey> => world.admin.createKey(world.app._id, { ...fields });
/** Two members of a channel below chat/; `key` is the second one's. */
const pair = (key: SecretKey, claims: Claims = {}) => world.pair(claims, key, `chat/${fresh("room")}`);

describe("a rotation", () => {
  /** `error token_expired` and then 4002, and nothing else. */
  async function expectRetired({ wire }: Guest): Promise<number> {
    const { code, at } = await wire.closed();
    expect(code).toBe(4002);
    expect(wire.frames.at(-1)).toEqual(errorFrame("token_expired"));
    return at;
  }

  test("with its default grace period does not affect open connections", async () => {
    const key = await makeKey();
    const { guest, watcher } = await pair(key);
    await world.admin.rotate(key.keyId);
    for (const { wire } of [guest, watcher]) expect(await wire.sync()).toEqual([]);
  });

  test("ends connections whose token the old secret signed after the grace period; members stay until they are back", async () => {
    const key = await makeKey();
    const { channel, watcher, guest } = await pair(key);
    const started = performance.now();
    const rotated = await world.admin.rotate(key.keyId, { graceSec: 2 });
    const renewed = { ...key, secret: rotated.secret };
    const newer = await world.guest({}, {}, renewed);
    const late = await world.guest({}, {}, key);
    const other = await world.guest();
    for (const one of [guest, late]) {
      const at = await expectRetired(one);
      expect(at - started).toBeGreaterThan(1900);
      expect(at - started).toBeLessThan(2900 + SLACK_MS);
    }
    // Closed with 4002, the member is expected back for 10 s.
    expect(await watcher.wire.sync()).toEqual([]);
    const renewedGuest = await world.guest({ sub: guest.peerId }, {}, renewed);
    await join(renewedGuest.wire, channel);
    expect(await watcher.wire.sync()).toEqual([]);
    for (const { wire } of [newer, other]) expect(await wire.sync()).toEqual([]);
    const answer = await refusal(world.url, { query: tokenQuery(selfSigned(key.keyId, key.secret)) });
    expect([answer.status, answer.body.error]).toEqual([401, "token_expired"]);
  });

  test("ends them at once without a grace period, and with retirePrevious", async () => {
    for (const options of [{ graceSec: 0 }, { retirePrevious: true }, { retirePrevious: true, graceSec: 600 }]) {
      const key = await makeKey();
      const { watcher, guest } = await pair(key);
      const started = performance.now();
      const { secret } = await world.admin.rotate(key.keyId, options);
      expect((await expectRetired(guest)) - started).toBeLessThan(1000 + SLACK_MS);
      expect(await watcher.wire.sync()).toEqual([]);
      expect((await world.guest({}, {}, { ...key, secret })).peerId).toBeString();
    }
  });

  test("with retirePrevious ends the tokens of every earlier secret", async () => {
    const key = await makeKey();
    const first = await world.guest({}, {}, key);
    const { secret: second } = await world.admin.rotate(key.keyId, { graceSec: 600 });
    const middle = await world.guest({}, {}, { ...key, secret: second });
    const { secret: third } = await world.admin.rotate(key.keyId, { graceSec: 600 });
    const last = await world.guest({}, {}, { ...key, secret: third });
    expect(await first.wire.sync()).toEqual([]);
    await world.admin.rotate(key.keyId, { retirePrevious: true });
    for (const one of [first, middle, last]) await expectRetired(one);
  });

  test("keeps the end of each earlier secret's grace period", async () => {
    const key = await makeKey();
    const first = await world.guest({}, {}, key);
    const started = performance.now();
    const { secret } = await world.admin.rotate(key.keyId, { graceSec: 1 });
    const second = await world.guest({}, {}, { ...key, secret });
    await world.admin.rotate(key.keyId, { graceSec: 600 });
    const at = await expectRetired(first);
    expect(at - started).toBeGreaterThan(900);
    expect(at - started).toBeLessThan(1900 + SLACK_MS);
    expect(await second.wire.sync()).toEqual([]);
  });

  test("does not extend a token: exp before the end of the grace period is an ordinary 4002", async () => {
    const key = await makeKey();
    const exp = Math.floor((Date.now() + 4700) / 1000);
    const { wire } = await world.guest({ exp }, {}, key);
    await world.admin.rotate(key.keyId, { graceSec: 600 });
    expect((await wire.closed()).code).toBe(4002);
    expect(Date.now()).toBeLessThan(exp * 1000 + SLACK_MS);
    expect(wire.frames.map(({ type }) => type)).toEqual(["welcome"]);
  });
});

describe("a revocation", () => {
  test("ends a connection between an ack and its roster, and no member sees it join", async () => {
    // A roster does not wait long for a pong: on a busy machine it can come before the revocation.
    for (;;) {
      const key = await makeKey();
      const channel = fresh("room");
      const watcher = await world.member(channel);
      const { wire } = await world.guest({}, { answersPings: false }, key);
      await wire.request({ type: "subscribe", channel });
      await world.admin.revoke(key.keyId);
      expect((await wire.closed()).code).toBe(4001);
      if (wire.frames.some(({ type }) => type === "presence")) continue;
      const late = await world.member(channel);
      expect(await watcher.wire.frame()).toMatchObject({ joined: [{ peerId: late.peerId }], left: [] });
      break;
    }
  });

  test("refuses connects and REST at once", async () => {
    const key = await makeKey();
    await world.admin.revoke(key.keyId);
    expect((await refusal(world.url, { query: tokenQuery(world.token({}, key)) })).body.error).toBe("invalid_token");
    expect((await world.rest("GET", "/v1/usage", { credential: key.credential })).status).toBe(401);
  });
});

describe("a block", () => {
  const block = (peerId: string, seconds: number, from = world): Promise<unknown> =>
    from.rest("DELETE", `/v1/peers/${peerId}?blockSec=${seconds}`);
  const isIn = async (sub: string, from = world): Promise<boolean> => {
    const outcome = await attempt(from.url, { query: tokenQuery(from.token({ sub })) });
    if (outcome instanceof Wire) outcome.drop();
    else expect([outcome.status, outcome.body.error]).toEqual([401, "unauthorized"]);
    return outcome instanceof Wire;
  };

  test("is in force before the connections close: a peer that reconnects at once is refused", async () => {
    for (let i = 0; i < 10; i++) {
      const { wire, peerId } = await world.guest();
      const kicked = block(peerId, 60);
      expect((await wire.closed()).code).toBe(4020);
      expect(await isIn(peerId)).toBe(false);
      await kicked;
    }
  });

  test("also ends connections that the peer opened while it was being set", async () => {
    const sub = fresh("peer");
    const came: Wire[] = [];
    let over = false;
    const knocking = Array.from({ length: 8 }, async () => {
      while (!over) {
        const outcome = await attempt(world.url, { query: tokenQuery(world.token({ sub })) });
        if (outcome instanceof Wire) came.push(outcome);
      }
    });
    await until("20 have come", () => came.length >= 20);
    await block(sub, 60);
    over = true;
    await Promise.all(knocking);
    for (const wire of came) expect((await wire.closed()).code).toBe(4020);
  });

  test("ends after its time", async () => {
    const peerId = fresh("peer");
    const started = performance.now();
    await block(peerId, 1);
    expect(await isIn(peerId)).toBe(false);
    await until("the block is over", () => isIn(peerId));
    expect(performance.now() - started).toBeGreaterThan(950);
    expect(performance.now() - started).toBeLessThan(10_000 + SLACK_MS);
  });

  test("is not lifted by a kick without a block", async () => {
    const peerId = fresh("peer");
    await block(peerId, 60);
    await world.rest("DELETE", `/v1/peers/${peerId}`);
    expect(await isIn(peerId)).toBe(false);
  });

  test("does not affect other peers", async () => {
    const { wire, peerId } = await world.guest();
    await block(`${peerId}x`, 60);
    expect(await wire.sync()).toEqual([]);
    expect(await isIn(peerId)).toBe(true);
  });

  test("survives a restart, with the same end time", async () => {
    const data = tempFolder();
    const before = await startWorld({ data });
    const [long, short] = [fresh("peer"), fresh("peer")];
    await block(long, 600, before);
    await block(short, 1, before);
    await before.server.kill();
    const after = await startWorld({ data });
    const asked = async (sub: string): Promise<number> => {
      const outcome = await attempt(after.url, { query: tokenQuery(before.token({ sub })) });
      if (!(outcome instanceof Wire)) return outcome.status;
      outcome.drop();
      return 101;
    };
    expect(await asked(long)).toBe(401);
    await until("the short block is over", async () => (await asked(short)) === 101);
    await after.stop();
    removeFolder(data);
  });
});
