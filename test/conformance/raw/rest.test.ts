/** protocol.md 7: what all calls of the realtime host have in common, and the order of their errors. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { type Answer, inPieces } from "../../support/http.ts";
import { nodeCount } from "../../support/nodes.ts";
import { WORKERS } from "../../support/workers.ts";
import { codeOf } from "./support/outcome.ts";
import { overQuotaForTests, startWorld, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const BODY_MAX = 128 * 1024;

const world = await worldForTests();

const overQuota = await overQuotaForTests(world);

/** Channels chat/* only, and no actions. */
const powerless = await world.admin.createKey(world.app._id, { channelPatterns: ["chat/*"], actions: [] });

/** Channels chat/* only, all actions. */
const narrow = await world.admin.createKey(world.app._id, { channelPatterns: ["chat/*"] });

/** Each call once, in a form that succeeds. */
const CALLS: readonly { method: string; path: string; body?: object }[] = [
  { method: "POST", path: "/v1/tokens", body: { peerId: "alice" } },
  { method: "GET", path: "/v1/channels" },
  { method: "GET", path: "/v1/channels/chat%2F1/peers" },
  { method: "POST", path: "/v1/channels/chat%2F1/publish", body: { data: 1 } },
  { method: "POST", path: "/v1/peers/no-such-peer/send", body: { data: 1 } },
  { method: "DELETE", path: "/v1/peers/no-such-peer" },
  { method: "GET", path: "/v1/usage" },
];

describe("every call", () => {
  for (const { method, path, body } of CALLS) {
    const name = `${method} ${path}`;
    const options = body === undefined ? {} : { body };

    test(`${name} needs a live secret key pair; all failures are the same 401`, async () => {
      const revoked = await world.admin.createKey(world.app._id);
      await world.admin.revoke(revoked.keyId);
      const rotated = await world.admin.createKey(world.app._id);
      await world.admin.rotate(rotated.keyId, { graceSec: 0 });
      const publishable = await world.admin.createPublishable(world.app._id);
      const { keyId, secret, credential } = world.key;
      const failures: Answer[] = [];
      for (const authorization of [
        "",
        "Bearer",
        "Bearer ",
        `Basic ${btoa(credential)}`,
        credential,
        `Bearer ${keyId}`,
        `Bearer ${keyId}:`,
        `Bearer ${secret}`,
        `Bearer :${secret}`,
        `Bearer ${keyId}:${secret}x`,
        `Bearer ${keyId}:${secret.slice(0, -1)}`,
        `Bearer ${keyId}:${secret.toLowerCase()}`,
        `Bearer ${narrow.keyId}:${secret}`,
        `Bearer sk_id_${"0".repeat(32)}:${secret}`,
        `Bearer ${publishable.keyId}`,
        `Bearer ${publishable.keyId}:${publishable.keyId}`,
        `Bearer ${publishable.keyId}:`,
        `Bearer ${revoked.credential}`,
        `Bearer ${rotated.credential}`,
        `Bearer ${world.server.adminToken}`,
      ]) {
        const answer = await world.rest(method, path, { ...options, headers: { Authorization: authorization } });
        expect([authorization, codeOf(answer)]).toEqual([authorization, "401 unauthorized"]);
        failures.push(answer);
      }
      for (const { body: said } of failures) expect(said).toEqual(failures[0]!.body);
    });

    test(`${name} has the common headers, in success and in failure`, async () => {
      const good = await world.rest(method, path, options);
      expect([200, 404]).toContain(good.status);
      const bad = await world.rest(method, path, { ...options, credential: "x:y" });
      expect(bad.status).toBe(401);
      for (const { headers } of [good, bad]) {
        expect(headers.get("x-request-id")).toBeTruthy();
        expect(headers.get("cache-control")).toBe("no-store");
        expect(headers.get("referrer-policy")).toBe("no-referrer");
      }
      expect(good.headers.get("x-request-id")).not.toBe(bad.headers.get("x-request-id"));
    });

    test(`${name}: a previous secret in its grace period can only mint tokens`, async () => {
      const key = await world.admin.createKey(world.app._id);
      await world.admin.rotate(key.keyId, { graceSec: 600 });
      const answer = await world.rest(method, path, { ...options, credential: key.credential });
      expect(answer.status).toBe(path === "/v1/tokens" ? 200 : 401);
    });
  }

  test("an unknown path is 404, a wrong method 405, with or without a credential", async () => {
    for (const credential of [world.key.credential, "x:y"]) {
      for (const path of ["/v1/nothing", "/v1/channels/x", "/v1/channels/x/nothing", "/v1/peers", "/v1/tokens/x"])
        expect([path, codeOf(await world.rest("GET", path, { credential }))]).toEqual([path, "404 not_found"]);
      for (const [method, path, allow] of [
        ["GET", "/v1/tokens", "POST"],
        ["POST", "/v1/channels", "GET"],
        ["POST", "/v1/channels/x/peers", "GET"],
        ["GET", "/v1/channels/x/publish", "POST"],
        ["GET", "/v1/channels/a/b/publish", "POST"],
        ["GET", "/v1/peers/x/send", "POST"],
        ["GET", "/v1/peers/x", "DELETE"],
        ["DELETE", "/v1/usage", "GET"],
      ] as const) {
        const answer = await world.rest(method, path, { credential });
        expect([path, codeOf(answer)]).toEqual([path, "405 method_not_allowed"]);
        expect(answer.headers.get("allow")).toBe(allow);
      }
    }
  });
});

describe("the order of errors", () => {
  const tooLarge = `{"data":${" ".repeat(BODY_MAX)}1}`;

  for (const path of ["/v1/tokens", "/v1/channels/other/publish", "/v1/peers/x/send"]) {
    const post = (body: unknown, credential: string): Promise<string> =>
      world.rest("POST", path, { body, credential }).then(codeOf);

    test(`${path}: 401 comes before 413, and 413 before 400, with and without Content-Length`, async () => {
      for (const body of [tooLarge, "x".repeat(BODY_MAX + 1)]) {
        expect(await post(body, "x:y")).toBe("401 unauthorized");
        expect(await post(body, powerless.credential)).toBe("413 invalid_request");
        expect(await post(inPieces(Buffer.from(body)), powerless.credential)).toBe("413 invalid_request");
      }
    });

    test(`${path}: 400 comes before 403`, async () => {
      for (const body of ["", "{", "[]", "null", '"x"', "{}", '{"data":1,"data":2}', Uint8Array.of(0x7b, 0xff, 0x7d)])
        expect([body, await post(body, powerless.credential)]).toEqual([body, "400 invalid_request"]);
    });
  }

  test("publish: 400 for the body and for the name, 403 channel, 403 action, 429 quota", async () => {
    expect(codeOf(await world.restPublish("other", { from: "" }, powerless.credential))).toBe("400 invalid_request");
    expect(codeOf(await world.restPublish("a*", { data: 1 }, powerless.credential))).toBe("400 invalid_request");
    expect(codeOf(await world.restPublish("_parley/x", { data: 1 }, powerless.credential))).toBe(
      "400 channel_reserved",
    );
    expect(codeOf(await world.restPublish("other", { data: 1 }, powerless.credential))).toBe(
      "403 channel_not_authorized",
    );
    expect(codeOf(await world.restPublish("chat/1", { data: 1 }, powerless.credential))).toBe(
      "403 action_not_permitted",
    );
    const mute = await world.admin.createKey(overQuota.app._id, { actions: ["subscribe", "presence", "send"] });
    expect(codeOf(await world.restPublish("x", { data: 1 }, mute.credential))).toBe("403 action_not_permitted");
    expect(codeOf(await world.restPublish("x", { data: 1 }, overQuota.key.credential))).toBe("429 over_message_quota");
    expect(codeOf(await world.restPublish("x", {}, overQuota.key.credential))).toBe("400 invalid_request");
  });

  test("send: 400 for the body and for the peer, 403 action, 429 quota, 404 peer", async () => {
    expect(codeOf(await world.restSend("x", {}, powerless.credential))).toBe("400 invalid_request");
    expect(codeOf(await world.restSend("zoë", { data: 1 }, powerless.credential))).toBe("400 invalid_request");
    expect(codeOf(await world.restSend("nobody", { data: 1 }, powerless.credential))).toBe("403 action_not_permitted");
    expect(codeOf(await world.restSend("nobody", { data: 1 }, overQuota.key.credential))).toBe(
      "429 over_message_quota",
    );
    expect(codeOf(await world.restSend("nobody", { data: 1 }))).toBe("404 peer_not_found");
  });

  test("peers of a channel: 400, 403 channel, 403 action", async () => {
    const ask = (channel: string, credential: string): Promise<string> =>
      world.rest("GET", `/v1/channels/${encodeURIComponent(channel)}/peers`, { credential }).then(codeOf);
    expect(await ask("a\u0000", powerless.credential)).toBe("400 invalid_request");
    expect(await ask("_SYSTEM/x", powerless.credential)).toBe("400 channel_reserved");
    expect(await ask("other", powerless.credential)).toBe("403 channel_not_authorized");
    expect(await ask("chat/1", powerless.credential)).toBe("403 action_not_permitted");
  });

  test("channels: 400, 403 action", async () => {
    const ask = (query: string): Promise<string> =>
      world.rest("GET", `/v1/channels${query}`, { credential: powerless.credential }).then(codeOf);
    expect(await ask("?limit=0")).toBe("400 invalid_request");
    expect(await ask("")).toBe("403 action_not_permitted");
  });

  test("a body of exactly 128 KiB is read", async () => {
    const frame = '{"data":1}';
    const body = frame.replace("1", `${" ".repeat(BODY_MAX - frame.length)}1`);
    expect(Buffer.byteLength(body)).toBe(BODY_MAX);
    expect((await world.restPublish("chat/1", body)).status).toBe(200);
    expect((await world.restPublish("chat/1", inPieces(Buffer.from(body)))).status).toBe(200);
    expect(codeOf(await world.restPublish("chat/1", `${body} `))).toBe("413 invalid_request");
  });
});

describe("the rate per key", () => {
  test("is a burst, then 429 with Retry-After; another key has its own rate", async () => {
    const strict = await startWorld({ env: { PARLEY_REST_REQUESTS_PER_SECOND: "5" } });
    const other = await strict.admin.createKey(strict.app._id);
    const started = performance.now();
    // At once: a slow machine may answer no more than five per second.
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => strict.rest("GET", i % 2 === 0 ? "/v1/usage" : "/v1/channels")),
    );
    const most = 5 + Math.ceil(((performance.now() - started) / 1000) * 5);
    expect(answers.filter(({ status }) => status === 200).length).toBeWithin(5, most * nodeCount() * WORKERS + 1);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThan(0);
    for (const answer of refused) {
      expect(codeOf(answer)).toBe("429 rate_limited");
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    }
    expect((await strict.rest("GET", "/v1/usage", { credential: other.credential })).status).toBe(200);
    await strict.stop();
  });
});
