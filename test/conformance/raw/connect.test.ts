/** protocol.md 1: which connects are accepted, by path, key, origin and handshake. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { nowSeconds } from "../../support/jwt.ts";
import { type ConnectOptions, type Refused, refusal } from "../../support/wire/connect.ts";
import { codeOf, outcome, PLAIN_GET } from "./support/outcome.ts";
import { fresh, newApp, tokenQuery, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const world = await worldForTests({ env: { PARLEY_LOG_LEVEL: "debug" } });

const withToken = (token: string, options: ConnectOptions = {}): Promise<string> =>
  outcome(world.url, { query: tokenQuery(token), ...options });

const withKey = (keyId: string, origin?: string): Promise<string> =>
  outcome(world.url, { query: `key=${keyId}`, ...(origin !== undefined && { headers: { Origin: origin } }) });

describe("the path", () => {
  for (const path of [
    "/",
    "/v1/",
    "/V1",
    "/v2",
    "/v1x",
    "/v1/tokens",
    "/v1/channels",
    "/v1/usage",
    "/v1/peers/x/send",
    "/readyz",
    "/metrics",
    "/openapi.json",
  ])
    test(`an upgrade on ${path} is 404`, async () => {
      const answer = await refusal(world.url, { path, query: tokenQuery(world.token()) });
      expect(codeOf(answer)).toBe("404 not_found");
      expect(answer.body.message).toBeString();
    });

  test("is checked before the credential", async () => {
    expect(await outcome(world.url, { path: "/v2" })).toBe("404 not_found");
    expect(await outcome(world.url, { path: "/v1/usage", query: "key=nonsense" })).toBe("404 not_found");
  });
});

describe("exactly one of key and token", () => {
  let keyId: string;
  beforeAll(async () => {
    keyId = (await world.admin.createPublishable(world.app._id)).keyId;
  });

  test("one of them is enough, also among unknown parameters", async () => {
    expect(await outcome(world.url, { query: `key=${keyId}` })).toBe("in");
    expect(await outcome(world.url, { query: `v=2&${tokenQuery(world.token())}&x` })).toBe("in");
  });

  test("none, both, and one of them twice are 401 unauthorized", async () => {
    const token = tokenQuery(world.token());
    for (const query of [
      "",
      "x=1",
      "KEY=1",
      `key=${keyId}&${token}`,
      `${token}&${token}`,
      `key=${keyId}&key=${keyId}`,
      `key=${keyId}&token=`,
    ])
      expect([query, await outcome(world.url, { query })]).toEqual([query, "401 unauthorized"]);
  });

  test("is checked before the key or the token itself", async () => {
    const expired = tokenQuery(world.token({ exp: nowSeconds() - 5 }));
    expect(await outcome(world.url, { query: `${expired}&${expired}` })).toBe("401 unauthorized");
    const closed = await world.admin.createPublishable(world.app._id, { allowedOrigins: [] });
    const query = `key=${closed.keyId}&key=${closed.keyId}`;
    expect(await outcome(world.url, { query, headers: { Origin: "https://evil.example" } })).toBe("401 unauthorized");
  });
});

describe("a publishable key", () => {
  test("that is unknown, secret, revoked or of a deleted application gets the same refusal", async () => {
    const revoked = await world.admin.createPublishable(world.app._id);
    await world.admin.revoke(revoked.keyId);
    const gone = await world.admin.createApp();
    const orphan = await world.admin.createPublishable(gone._id);
    await world.admin.must("DELETE", `/apps/${gone._id}`);
    const answers = [];
    for (const keyId of [
      "",
      "pk_live_nonsense",
      `pk_live_${"0".repeat(32)}`,
      world.key.keyId,
      revoked.keyId,
      orphan.keyId,
    ])
      answers.push(await refusal(world.url, { query: `key=${keyId}` }));
    for (const answer of answers) {
      expect(codeOf(answer)).toBe("401 unauthorized");
      expect(answer.body).toEqual(answers[0]!.body);
    }
  });

  test("that is unknown cannot be distinguished from one whose origin is not allowed", async () => {
    expect(await withKey(`pk_live_${"0".repeat(32)}`, "https://evil.example")).toBe("401 unauthorized");
  });

  describe("with a list of origins", () => {
    let keyId: string;
    beforeAll(async () => {
      const allowedOrigins = [
        "https://app.example.com",
        "http://localhost:3000",
        "https://*.wild.example.com",
        "HTTPS://Ported.Example.com:443",
        "http://plain.example.com:80",
        "https://*.port.example.com:8443",
      ];
      keyId = (await world.admin.createPublishable(world.app._id, { allowedOrigins })).keyId;
    });

    for (const origin of [
      "https://app.example.com",
      "https://app.example.com:443",
      "HTTPS://APP.Example.COM",
      "http://localhost:3000",
      "https://a.wild.example.com",
      "https://A-1.Wild.example.com:443",
      "https://ported.example.com",
      "http://plain.example.com",
      "https://a.port.example.com:8443",
    ])
      test(`${origin} is allowed`, async () => {
        expect(await withKey(keyId, origin)).toBe("in");
      });

    for (const origin of [
      "http://app.example.com",
      "https://app.example.com:444",
      "https://app.example.com:80",
      "https://app.example.com.evil.example",
      "https://evil-app.example.com",
      "https://example.com",
      "https://app.example.com/",
      "https://app.example.com@evil.example",
      "https://evil.example/https://app.example.com",
      "app.example.com",
      "http://localhost",
      "http://localhost:3001",
      "https://wild.example.com",
      "https://.wild.example.com",
      "https://a.b.wild.example.com",
      "https://*.wild.example.com",
      "https://evilwild.example.com",
      "http://a.wild.example.com",
      "https://a.port.example.com",
      "null",
      "",
      "*",
      "file://",
    ])
      test(`${JSON.stringify(origin)} is not allowed`, async () => {
        expect(await withKey(keyId, origin)).toBe("401 origin_not_allowed");
      });

    test("two Origin headers are refused, even if one is allowed", async () => {
      const headers = [
        ["Origin", "https://app.example.com"],
        ["Origin", "https://evil.example"],
      ] as const;
      expect(await outcome(world.url, { query: `key=${keyId}`, headers })).toBe("401 origin_not_allowed");
    });

    test("a request without Origin is allowed: the rule protects browsers only", async () => {
      expect(await withKey(keyId)).toBe("in");
    });
  });

  test("with * allows every origin, null too", async () => {
    const { keyId } = await world.admin.createPublishable(world.app._id, { allowedOrigins: ["*"] });
    for (const origin of ["https://anything.example", "null", "http://localhost:1"])
      expect([origin, await withKey(keyId, origin)]).toEqual([origin, "in"]);
  });

  test("with an empty list allows no browser, but clients that send no Origin", async () => {
    const { keyId } = await world.admin.createPublishable(world.app._id, { allowedOrigins: [] });
    for (const origin of ["https://app.example.com", "null", "http://127.0.0.1"])
      expect([origin, await withKey(keyId, origin)]).toEqual([origin, "401 origin_not_allowed"]);
    expect(await withKey(keyId)).toBe("in");
  });

  test("tokens have no origin rule", async () => {
    expect(await withToken(world.token(), { headers: { Origin: "https://evil.example" } })).toBe("in");
  });
});

describe("a plain GET", () => {
  const ask = (query: string, headers: Record<string, string> = {}): Promise<Refused> =>
    refusal(world.url, { query, headers: { ...PLAIN_GET, ...headers } });

  test("is 426 upgrade_required where the upgrade would be accepted, with CORS open to every origin", async () => {
    const { keyId } = await world.admin.createPublishable(world.app._id, {
      allowedOrigins: ["https://app.example.com"],
    });
    for (const answer of [
      await ask(tokenQuery(world.token())),
      await ask(`key=${keyId}`, { Origin: "https://app.example.com" }),
    ]) {
      expect(codeOf(answer)).toBe("426 upgrade_required");
      expect(answer.headers.get("access-control-allow-origin")).toBe("*");
      expect(answer.headers.get("access-control-expose-headers")).toBe("Retry-After");
      expect(answer.headers.get("upgrade")).toBe("websocket");
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.get("x-request-id")).toBeTruthy();
    }
  });

  test("reports why the upgrade would be refused, with CORS open to every origin", async () => {
    const { keyId } = await world.admin.createPublishable(world.app._id, { allowedOrigins: [] });
    const blocked = fresh("blocked");
    await world.rest("DELETE", `/v1/peers/${blocked}?blockSec=600`);
    for (const [query, expected] of [
      ["", "401 unauthorized"],
      ["key=pk_live_x", "401 unauthorized"],
      [`key=${keyId}`, "401 origin_not_allowed"],
      ["token=x", "401 invalid_token"],
      [tokenQuery(world.token({ exp: 5 })), "401 token_expired"],
      [tokenQuery(world.token({ sub: blocked })), "401 unauthorized"],
    ] as const) {
      const answer = await ask(query, { Origin: "https://app.example.com" });
      expect(codeOf(answer)).toBe(expected);
      expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    }
  });

  test("takes no slot of the plan, and is 426 also at the cap", async () => {
    const small = await newApp(world.server);
    await world.admin.must("PATCH", `/apps/${small.app._id}`, { plan: { maxConcurrentConnections: 1 } });
    const query = tokenQuery(small.token());
    for (let i = 0; i < 3; i++) expect(codeOf(await ask(query))).toBe("426 upgrade_required");
    await small.guest();
    expect(codeOf(await ask(query))).toBe("426 upgrade_required");
    small.hangUp();
  });

  test("no other response is open to other origins: refused upgrades, REST and other paths", async () => {
    const origin = { Origin: "https://app.example.com" };
    const upgrade = await refusal(world.url, { query: "key=x", headers: origin });
    expect(upgrade.headers.get("access-control-allow-origin")).toBeNull();
    for (const path of ["/v1/usage", "/v2", "/healthz"]) {
      const answer = await world.rest("GET", path, { headers: origin });
      expect([path, answer.headers.get("access-control-allow-origin")]).toEqual([path, null]);
    }
  });

  test("other methods on /v1 are 405", async () => {
    for (const method of ["POST", "PUT", "DELETE"]) {
      const answer = await world.rest(method, `/v1?${tokenQuery(world.token())}`);
      expect([answer.status, answer.body.error]).toEqual([405, "method_not_allowed"]);
      expect(answer.headers.get("allow")).toBe("GET");
    }
  });
});

describe("the handshake", () => {
  test("that is malformed is 400, and checked after the credential", async () => {
    for (const headers of [{ "Sec-WebSocket-Key": null }, { "Sec-WebSocket-Key": "short" }]) {
      expect(await withToken(world.token(), { headers })).toBe("400 invalid_request");
      expect(await withToken("x", { headers })).toBe("401 invalid_token");
    }
  });

  test("accepts Upgrade in upper and lower case", async () => {
    expect(await withToken(world.token(), { headers: { Upgrade: "WebSocket" } })).toBe("in");
  });

  test("responds with the accept value of RFC 6455", async () => {
    const headers = { "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==" };
    const { wire } = await world.welcomed({ query: tokenQuery(world.token()), headers });
    expect(wire.headers.get("sec-websocket-accept")).toBe("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  });

  test("negotiates no compression", async () => {
    const headers = { "Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits" };
    const { wire } = await world.welcomed({ query: tokenQuery(world.token()), headers });
    expect(wire.headers.get("sec-websocket-extensions")).toBeNull();
  });

  test("negotiates no subprotocol", async () => {
    const headers = { "Sec-WebSocket-Protocol": "chat, superchat" };
    const { wire } = await world.welcomed({ query: tokenQuery(world.token()), headers });
    expect(wire.headers.get("sec-websocket-protocol")).toBeNull();
  });
});

test("nothing of a query string is logged, even at level debug", async () => {
  const publishable = await world.admin.createPublishable(world.app._id, { allowedOrigins: [] });
  const token = world.token({ exp: 5 });
  const good = world.token();
  // The audit line of the key's creation contains it; no later line may.
  await world.server.logged((line) => line.on === publishable.keyId);
  const before = world.server.output.length;
  for (const query of [
    tokenQuery(token),
    tokenQuery(good),
    `key=${publishable.keyId}&mark=needle1`,
    "key=needle2",
    "token=needle3",
  ])
    for (const headers of [{ Origin: "https://needle4.example" }, PLAIN_GET])
      await outcome(world.url, { query, headers });
  const skip = world.server.log.length;
  await world.rest("GET", "/healthz");
  await world.server.logged((line) => line.route === "/healthz", skip);
  const written = world.server.output.slice(before);
  for (const secret of [token, good, publishable.keyId, "needle1", "needle2", "needle3"])
    expect(written.includes(secret)).toBe(false);
});
