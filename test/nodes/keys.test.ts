/** Keys, applications and blocks: a change on one node takes effect on the other, with or without a notification. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { fresh, join, tokenQuery } from "../conformance/raw/support/world.ts";
import { mint, mintToken } from "../support/admin.ts";
import { call } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import type { Server } from "../support/parley.ts";
import { SOON_MS, until } from "../support/wait.ts";
import { Cluster, connect, refusal } from "./support/cluster.ts";

setDefaultTimeout(60_000);

describe.each([
  ["joined by NATS", true],
  ["joined only by the store", false],
])("%s", (_name, joined) => {
  let cluster: Cluster;
  let one: Server;
  let other: Server;
  let app: string;
  beforeAll(async () => {
    cluster = await Cluster.start({ joined });
    [one, other] = cluster.pair;
    app = (await one.admin.createApp())._id;
  });
  afterAll(() => cluster.stop());

  test("an application and a key created on one node work at once on the other, for every call", async () => {
    for (let i = 0; i < 5; i++) {
      const made = await one.admin.createApp();
      const key = await one.admin.createKey(made._id);
      expect((await mint(other.url, key.credential)).status).toBe(200);
      const publishable = await one.admin.createPublishable(made._id);
      (await connect(other, `key=${publishable.keyId}`)).drop();
      const second = await one.admin.createKey(made._id);
      expect(await other.admin.check(selfSigned(second.keyId, second.secret))).toMatchObject({ valid: true });
      (await connect(other, tokenQuery(selfSigned(second.keyId, second.secret)))).drop();
      expect((await call(`${other.url}/v1/usage`, { bearer: second.credential })).body).toMatchObject({
        appId: made._id,
      });
      await one.admin.revoke(publishable.keyId);
    }
  });

  test("channel rules that are changed on one node apply on the other within a second", async () => {
    const { _id } = await one.admin.createApp();
    const applied = async (node: Server): Promise<unknown> => {
      const path = `/apps/${_id}/channel-rules/match?channel=chat/1`;
      return (await node.admin.must<{ rule: { history?: { messages: number } } | null }>("GET", path)).rule?.history
        ?.messages;
    };
    for (const messages of [5, 6, 7]) {
      const [at, elsewhere] = messages % 2 === 0 ? [one, other] : [other, one];
      const channelRules = [{ pattern: "chat/*", history: { messages, seconds: 60 } }];
      await at.admin.must("PATCH", `/apps/${_id}`, { channelRules });
      expect(await applied(at)).toBe(messages);
      await until("the other node applies them", async () => (await applied(elsewhere)) === messages, SOON_MS);
    }
    await one.admin.must("PATCH", `/apps/${_id}`, { channelRules: [] });
    await until("the other node has none", async () => (await applied(other)) === undefined, SOON_MS);
  });

  test("an application's own secret works at once on the other node too", async () => {
    const made = await one.admin.createApp();
    const { port } = new URL(other.url);
    const rooms = async (secret: string): Promise<number> =>
      (
        await call(`http://127.0.0.1:${port}/api/v1/rooms?secretKey=${secret}`, {
          headers: { Host: `${made.name}.localhost` },
        })
      ).status;
    expect(await rooms(made.secretKey)).toBe(200);
    const rotate = async (body: object): Promise<string> => {
      const path = `/apps/${made._id}/secret-key/rotate`;
      return (await one.admin.must<{ secretKey: string }>("POST", path, body)).secretKey;
    };
    // In its grace period the old secret works beside the new one.
    expect([await rooms(await rotate({ graceSec: 60 })), await rooms(made.secretKey)]).toEqual([200, 200]);
    expect(await rooms(await rotate({ retirePrevious: true }))).toBe(200);
    await until("the old one is refused", async () => (await rooms(made.secretKey)) === 400, SOON_MS);
  });

  test("a token signed with a secret that was just rotated is accepted everywhere; one of a retired secret is soon refused", async () => {
    const key = await one.admin.createKey(app);
    let { secret } = key;
    for (let i = 0; i < 10; i++) {
      const [at, elsewhere] = i % 2 === 0 ? [one, other] : [other, one];
      const old = selfSigned(key.keyId, secret);
      ({ secret } = await at.admin.rotate(key.keyId, { graceSec: 0 }));
      const wires = await Promise.all(
        [elsewhere, at, elsewhere].map((node) => connect(node, tokenQuery(selfSigned(key.keyId, secret)))),
      );
      for (const wire of wires) wire.drop();
      expect((await mint(elsewhere.url, `${key.keyId}:${secret}`)).status).toBe(200);
      expect((await refusal(elsewhere, tokenQuery(old))).body.error).toBe("token_expired");
    }
  });

  test("a revoked key closes its connections on the other node within a second, and is refused there", async () => {
    const key = await one.admin.createKey(app);
    const token = tokenQuery(selfSigned(key.keyId, key.secret));
    const wire = await connect(other, token);
    await wire.frame("welcome");
    const at = performance.now();
    await one.admin.revoke(key.keyId);
    const closed = await wire.closed();
    expect(closed.code).toBe(4001);
    expect(closed.at - at).toBeLessThan(SOON_MS);
    expect((await refusal(other, token)).body.error).toBe("invalid_token");
    expect((await mint(other.url, key.credential)).status).toBe(401);
  });

  test("an edit narrows connections on the other node, and widens what new tokens may request", async () => {
    const key = await one.admin.createKey(app, { channelPatterns: ["a/*", "b/*"] });
    const wire = await connect(other, tokenQuery(selfSigned(key.keyId, key.secret)));
    expect((await wire.request({ type: "subscribe", channel: "b/1" })).type).toBe("ack");
    await one.admin.patchKey(key.keyId, { channelPatterns: ["a/*"] });
    expect(await wire.until("error")).toMatchObject({ code: "channel_not_authorized" });
    wire.drop();
    await one.admin.patchKey(key.keyId, { channelPatterns: ["a/*", "c/*"] });
    const token = await mintToken(one.url, key.credential, { peerId: "alice", channels: ["c/1"] });
    (await connect(other, tokenQuery(token))).drop();
  });

  test("a rotation that retires ends connections of the old secret on the other node", async () => {
    const key = await one.admin.createKey(app);
    const wire = await connect(other, tokenQuery(selfSigned(key.keyId, key.secret)));
    await wire.frame("welcome");
    await one.admin.rotate(key.keyId, { retirePrevious: true });
    expect((await wire.closed()).code).toBe(4002);
  });

  test("a connection is renewed at once with a key that was made on the other node, and ends with that key", async () => {
    const key = await one.admin.createKey(app);
    const first = selfSigned(key.keyId, key.secret);
    const wire = await connect(other, tokenQuery(first));
    await wire.frame("welcome");
    const next = await one.admin.createKey(app);
    const token = selfSigned(next.keyId, next.secret);
    expect(await wire.request({ type: "renew", token })).toMatchObject({ expiresAt: expect.any(Number) });
    await one.admin.revoke(key.keyId);
    await until("the other node knows", async () => !(await other.admin.check(first)).valid);
    expect(await wire.sync()).toEqual([]);
    await one.admin.revoke(next.keyId);
    expect((await wire.closed()).code).toBe(4001);
  });

  test.skipIf(!joined)(
    "renewed metadata is shown on the other node, and a renewal without a change is not",
    async () => {
      const key = await one.admin.createKey(app);
      const tokenOf = (sub: string, name: string): string =>
        selfSigned(key.keyId, key.secret, { sub, peerMetadata: { name } });
      const channel = fresh("renewed");
      const watcher = await connect(one, tokenQuery(tokenOf("watcher", "W")));
      await join(watcher, channel);
      const wire = await connect(other, tokenQuery(tokenOf("ann", "Ann")));
      await join(wire, channel);
      await watcher.until("presence", ({ joined }) => joined.length === 1);
      for (const name of ["Ann", "Ann", "Anna"])
        expect(await wire.request({ type: "renew", token: tokenOf("ann", name) })).toMatchObject({ type: "ack" });
      const changed = await watcher.frame("presence");
      expect(changed).toMatchObject({ joined: [{ peerId: "ann", metadata: { name: "Anna" } }], left: [] });
      for (const one of [watcher, wire]) one.drop();
    },
  );

  test("a deleted application ends on the other node", async () => {
    const made = await one.admin.createApp();
    const key = await one.admin.createPublishable(made._id);
    const wire = await connect(other, `key=${key.keyId}`);
    await wire.frame("welcome");
    await one.admin.must("DELETE", `/apps/${made._id}`);
    expect((await wire.closed()).code).toBe(4001);
    expect((await refusal(other, `key=${key.keyId}`)).status).toBe(401);
  });

  test("a blocked peer is disconnected on every node and refused from then on, until it is unblocked", async () => {
    const key = await one.admin.createKey(app);
    const token = tokenQuery(selfSigned(key.keyId, key.secret, { sub: "mallory" }));
    const wire = await connect(other, token);
    await wire.frame("welcome");
    const put = await call(`${one.url}/v1/peers/mallory?blockSec=60`, { method: "DELETE", bearer: key.credential });
    expect(put.status).toBe(200);
    expect((await wire.closed()).code).toBe(4020);
    await until("it is refused", async () => {
      const reconnected = await connect(other, token).catch(() => undefined);
      if (!reconnected) return true;
      // A connection that was accepted in between is closed as well.
      expect((await reconnected.closed()).code).toBe(4020);
      return false;
    });
    expect((await refusal(one, token)).body.error).toBe("unauthorized");
    (await connect(other, tokenQuery(selfSigned(key.keyId, key.secret, { sub: "alice" })))).drop();
    await one.admin.must("DELETE", `/apps/${app}/blocks/mallory`);
    for (const node of [one, other])
      await until("it is admitted again", async () => {
        const wire = await connect(node, token).catch(() => undefined);
        wire?.drop();
        return wire !== undefined;
      });
  });

  test("unknown credentials are still refused", async () => {
    const key = await one.admin.createKey(app);
    const refused = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        refusal(
          i % 2 === 0 ? one : other,
          tokenQuery(selfSigned(i % 3 === 0 ? key.keyId : `sk_id_${i}`, "sk_secret_x")),
        ),
      ),
    );
    expect(new Set(refused.map(({ status, body }) => `${status} ${body.error}`))).toEqual(
      new Set(["401 invalid_token"]),
    );
    expect((await mint(other.url, `${key.keyId}:wrong`)).status).toBe(401);
    expect((await refusal(other, "key=pk_live_none")).status).toBe(401);
  });
});
