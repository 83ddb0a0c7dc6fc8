/** protocol.md 1: which tokens are accepted, blocked peers, and which of two errors is reported. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mintToken, type SecretKey } from "../../support/admin.ts";
import { forge, nowSeconds, selfSigned } from "../../support/jwt.ts";
import { startParley } from "../../support/parley.ts";
import { removeFolder, tempFolder } from "../../support/temp.ts";
import { until } from "../../support/wait.ts";
import type { ConnectOptions } from "../../support/wire/connect.ts";
import { outcome, PLAIN_GET } from "./support/outcome.ts";
import { fresh, newApp, startWorld, tokenQuery, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const DAY = 86_400;

const world = await worldForTests({ env: { PARLEY_LOG_LEVEL: "debug" } });

const withToken = (token: string, options: ConnectOptions = {}): Promise<string> =>
  outcome(world.url, { query: tokenQuery(token), ...options });

const withClaims = (claims: object, key?: SecretKey): Promise<string> => withToken(world.token({ ...claims }, key));

/** An object of exactly that many bytes as JSON; "ü" so that characters and bytes differ. */
const bagOf = (bytes: number): object => ({ ü: "x".repeat(bytes - '{"ü":""}'.length - 1) });

describe("a token", () => {
  const claims = (extra: object = {}): object => ({ sub: "alice", exp: nowSeconds() + 600, ...extra });
  const made = (header: object | string, payload: object | string = claims()): string =>
    forge(header, payload, world.key.secret);
  const kid = (): string => world.key.keyId;

  test("with typ JWT or none, and unknown header fields, is accepted", async () => {
    expect(await withToken(made({ alg: "HS256", kid: kid(), typ: "JWT" }))).toBe("in");
    expect(await withToken(made({ alg: "HS256", kid: kid(), typ: "jwt" }))).toBe("in");
    expect(await withToken(made({ alg: "HS256", kid: kid() }))).toBe("in");
    expect(await withToken(made({ alg: "HS256", kid: kid(), cty: "x" }))).toBe("in");
  });

  test("that does not parse is invalid_token", async () => {
    const good = made({ alg: "HS256", kid: kid() });
    const [head, body, signature] = good.split(".");
    for (const token of [
      "",
      "x",
      "a.b.c",
      "..",
      `${head}.${body}`,
      `${head}.${body}.`,
      `${good}.${signature}`,
      `${good}=`,
      ` ${good}`,
      made("[]"),
      made("not json"),
      made({ alg: "HS256", kid: kid() }, "[]"),
      made({ alg: "HS256", kid: kid() }, "not json"),
    ])
      expect([token, await withToken(token)]).toEqual([token, "401 invalid_token"]);
  });

  test("with another algorithm, type or kid is invalid_token", async () => {
    const publishable = await world.admin.createPublishable(world.app._id);
    for (const header of [
      { alg: "none", kid: kid() },
      { alg: "HS512", kid: kid() },
      { alg: "RS256", kid: kid() },
      { alg: "hs256", kid: kid() },
      { kid: kid() },
      { alg: "HS256", kid: kid(), typ: "JWS" },
      { alg: "HS256", kid: kid(), typ: 1 },
      { alg: "HS256" },
      { alg: "HS256", kid: 5 },
      { alg: "HS256", kid: "sk_id_unknown" },
      { alg: "HS256", kid: publishable.keyId },
    ])
      expect([header, await withToken(made(header))]).toEqual([header, "401 invalid_token"]);
  });

  test("of a revoked key is invalid_token", async () => {
    const key = await world.admin.createKey(world.app._id);
    expect(await withClaims({}, key)).toBe("in");
    await world.admin.revoke(key.keyId);
    expect(await withClaims({}, key)).toBe("401 invalid_token");
  });

  test("with a wrong signature is invalid_token", async () => {
    const good = made({ alg: "HS256", kid: kid() });
    const otherBody = good.replace(
      /\.[^.]+\./,
      `.${Buffer.from(JSON.stringify(claims({ x: 1 }))).toString("base64url")}.`,
    );
    const otherSecret = forge({ alg: "HS256", kid: kid() }, claims(), `${world.key.secret}x`);
    const bareSecret = forge({ alg: "HS256", kid: kid() }, claims(), world.key.secret.replace("sk_secret_", ""));
    for (const token of [otherBody, otherSecret, bareSecret]) expect(await withToken(token)).toBe("401 invalid_token");
  });

  test("of one key signed with another key's secret is invalid_token", async () => {
    const other = await world.admin.createKey(world.app._id);
    expect(await withToken(selfSigned(other.keyId, world.key.secret))).toBe("401 invalid_token");
  });

  test("is accepted under a previous secret in its grace, token_expired under a retired one, invalid_token under none", async () => {
    const key = await world.admin.createKey(world.app._id);
    const { secret: second } = await world.admin.rotate(key.keyId, { graceSec: 600 });
    expect(await withToken(selfSigned(key.keyId, key.secret))).toBe("in");
    expect(await withToken(selfSigned(key.keyId, second))).toBe("in");
    const { secret: third } = await world.admin.rotate(key.keyId, { retirePrevious: true });
    expect(await withToken(selfSigned(key.keyId, key.secret))).toBe("401 token_expired");
    expect(await withToken(selfSigned(key.keyId, second))).toBe("401 token_expired");
    expect(await withToken(selfSigned(key.keyId, third))).toBe("in");
    expect(await withToken(selfSigned(key.keyId, "sk_secret_never"))).toBe("401 invalid_token");
  });

  test("whose exp has passed, or has less than a second left, is token_expired", async () => {
    for (const exp of [0, nowSeconds() - DAY, nowSeconds() - 1, nowSeconds()])
      expect(await withClaims({ exp })).toBe("401 token_expired");
    // In the first millisecond of a second this token would have a whole second left, so the test avoids that moment.
    await until("the middle of a second", () => Date.now() % 1000 >= 5 && Date.now() % 1000 <= 900);
    expect(await withClaims({ exp: nowSeconds() + 1 })).toBe("401 token_expired");
    expect(await withClaims({ exp: nowSeconds() + 3 })).toBe("in");
  });

  test("is valid for at most 24 hours from its issue, and welcome carries the effective expiry", async () => {
    const now = nowSeconds();
    const expiry = async (times: object): Promise<number | null> => (await world.guest({ ...times })).welcome.expiresAt;
    expect(await expiry({ exp: now + 600 })).toBe(now + 600);
    expect(await expiry({ exp: now + 600, iat: now })).toBe(now + 600);
    expect(await expiry({ exp: now + 600, iat: now - DAY + 100 })).toBe(now + 100);
    const capped = await expiry({ exp: now + 3 * DAY, iat: now });
    expect(capped).toBe(now + DAY);
    // An iat in the future counts as now.
    const ahead = (await expiry({ exp: now + 3 * DAY, iat: now + 50 })) as number;
    expect(ahead).toBeGreaterThanOrEqual(now + DAY);
    expect(ahead).toBeLessThan(now + DAY + 20);
    expect(await withClaims({ exp: now + 600, iat: now - DAY })).toBe("401 token_expired");
    expect(await withClaims({ exp: now + DAY + 100 })).toBe("401 invalid_token");
    expect(await withClaims({ exp: now + DAY - 5 })).toBe("in");
  });

  test("nbf and iat may be up to 60 s in the future", async () => {
    const now = nowSeconds();
    for (const name of ["nbf", "iat"]) {
      expect([name, await withClaims({ [name]: now + 50 })]).toEqual([name, "in"]);
      expect([name, await withClaims({ [name]: now + 70 })]).toEqual([name, "401 invalid_token"]);
    }
  });

  test("may have times with fractions, as Python's time.time() has them", async () => {
    const now = nowSeconds();
    expect(await withClaims({ exp: now + 600.5, iat: now - 0.5, nbf: now - 0.5 })).toBe("in");
  });

  test("with a claim of the wrong shape or over its limit is invalid_token", async () => {
    const long = "c".repeat(257);
    for (const wrong of [
      { sub: undefined },
      { sub: "" },
      { sub: 5 },
      { sub: "x".repeat(129) },
      { sub: "zoë" },
      { sub: "a\nb" },
      { exp: undefined },
      { exp: "1" },
      { iat: "1" },
      { nbf: "1" },
      { iss: 5 },
      { channels: "a" },
      { channels: null },
      { channels: [5] },
      { channels: [""] },
      { channels: [long] },
      { channels: ["***"] },
      { channels: ["a\\"] },
      { channels: ["a\\b"] },
      { channels: Array.from({ length: 101 }, (_, i) => `c${i}`) },
      { permissions: "publish" },
      { permissions: ["fly"] },
      { permissions: [5] },
      { permissions: Array.from({ length: 17 }, () => "publish") },
      { metadata: [] },
      { metadata: "x" },
      { metadata: null },
      { metadata: bagOf(8193) },
      { peerMetadata: [] },
      { peerMetadata: null },
      { peerMetadata: bagOf(4097) },
    ])
      expect([wrong, await withClaims(wrong)]).toEqual([wrong, "401 invalid_token"]);
  });

  test("with a claim twice is invalid_token", async () => {
    const payload = `{"sub":"alice","exp":${nowSeconds() + 600},"sub":"admin"}`;
    expect(await withToken(made({ alg: "HS256", kid: kid() }, payload))).toBe("401 invalid_token");
  });

  test("with every claim at its limit is accepted", async () => {
    for (const right of [
      { sub: "~".repeat(128) },
      { sub: " " },
      { iss: "me" },
      { channels: [] },
      { channels: Array.from({ length: 100 }, (_, i) => `c${i}`) },
      { channels: ["c".repeat(256)] },
      { permissions: [] },
      { permissions: Array.from({ length: 16 }, () => "publish") },
      { metadata: bagOf(8192) },
      { peerMetadata: bagOf(4096) },
      { unheardOf: 1 },
    ])
      expect([right, await withClaims(right)]).toEqual([right, "in"]);
  });

  test("that claims more than its key has is refused completely", async () => {
    const narrow = await world.admin.createKey(world.app._id, {
      channelPatterns: ["chat/*", "news/**"],
      actions: ["subscribe", "publish"],
    });
    for (const within of [
      { channels: ["chat/1", "news/a/b"] },
      { channels: ["chat/*"] },
      { permissions: ["publish"] },
      { channels: [], permissions: [] },
    ])
      expect([within, await withClaims(within, narrow)]).toEqual([within, "in"]);
    for (const beyond of [
      { channels: ["chat/1", "other"] },
      { channels: ["chat/1/2"] },
      { channels: ["chat/**"] },
      { channels: ["**"] },
      { permissions: ["publish", "send"] },
      { permissions: ["presence"] },
    ])
      expect([beyond, await withClaims(beyond, narrow)]).toEqual([beyond, "401 invalid_token"]);
  });

  test("of the longest legal length connects, minted and self-signed", async () => {
    // Characters that JSON escapes: the longest encoding that names of 256 bytes can have.
    for (const letter of ["c", '"']) {
      const channels = Array.from({ length: 100 }, (_, i) => `${letter.repeat(253)}${String(i).padStart(3, "0")}`);
      const whole = { channels, metadata: bagOf(8192), peerMetadata: bagOf(4096) };
      const sub = fresh("longest").padEnd(128, "x");
      const minted = await mintToken(world.url, world.key.credential, { peerId: sub, ...whole });
      expect(minted.length).toBeGreaterThan(50_000);
      for (const token of [minted, world.token({ sub, iss: "i".repeat(100), ...whole })]) {
        const { wire, welcome } = await world.welcomed({ query: tokenQuery(token) });
        expect(welcome.peerId).toBe(sub);
        expect(JSON.stringify(welcome.metadata).length).toBeGreaterThan(8000);
        expect(await wire.request({ type: "subscribe", channel: channels[99] })).toMatchObject({ type: "ack" });
      }
    }
  });
});

describe("a blocked peer", () => {
  let blocked: string;
  beforeAll(async () => {
    blocked = fresh("blocked");
    const { body } = await world.rest("DELETE", `/v1/peers/${blocked}?blockSec=600`);
    expect(body).toMatchObject({ peerId: blocked, closed: 0 });
  });

  test("is 401 unauthorized, with a token of any key of the application", async () => {
    expect(await withClaims({ sub: blocked })).toBe("401 unauthorized");
    const other = await world.admin.createKey(world.app._id);
    expect(await withClaims({ sub: blocked }, other)).toBe("401 unauthorized");
  });

  test("is blocked in its application only, and by its exact name", async () => {
    const elsewhere = await newApp(world.server);
    expect(await withClaims({ sub: blocked }, elsewhere.key)).toBe("in");
    expect(await withClaims({ sub: `${blocked}x` })).toBe("in");
    expect(await withClaims({ sub: blocked.toUpperCase() })).toBe("in");
  });

  test("is checked after the token and before the cap", async () => {
    expect(await withClaims({ sub: blocked, exp: nowSeconds() - 5 })).toBe("401 token_expired");
    expect(await withClaims({ sub: blocked, channels: 5 })).toBe("401 invalid_token");
    const narrow = await world.admin.createKey(world.app._id, { channelPatterns: ["chat/*"] });
    expect(await withClaims({ sub: blocked, channels: ["x"] }, narrow)).toBe("401 invalid_token");
    const full = await newApp(world.server);
    await world.admin.must("PATCH", `/apps/${full.app._id}`, { plan: { maxConcurrentConnections: 0 } });
    await full.rest("DELETE", `/v1/peers/${blocked}?blockSec=600`);
    expect(await withClaims({ sub: blocked }, full.key)).toBe("401 unauthorized");
    expect(await withClaims({ sub: fresh("free") }, full.key)).toBe("close 4010");
  });
});

describe("of two faults of a token, the earlier check's is reported", () => {
  const past = (): number => nowSeconds() - 5;

  test("a bad header before the signature and the expiry", async () => {
    const token = forge({ alg: "none", kid: world.key.keyId }, { sub: "a", exp: past() }, "wrong");
    expect(await withToken(token)).toBe("401 invalid_token");
  });

  test("an unknown kid before the expiry", async () => {
    expect(await withToken(selfSigned("sk_id_unknown", world.key.secret, { exp: past() }))).toBe("401 invalid_token");
  });

  test("a wrong signature before the expiry", async () => {
    expect(await withToken(selfSigned(world.key.keyId, "wrong", { exp: past() }))).toBe("401 invalid_token");
  });

  test("a retired secret before malformed claims and elevation", async () => {
    const key = await world.admin.createKey(world.app._id, { channelPatterns: ["chat/*"] });
    await world.admin.rotate(key.keyId, { graceSec: 0 });
    for (const claims of [{ sub: 5 }, { channels: ["x"] }, { exp: "soon" }])
      expect(await withToken(selfSigned(key.keyId, key.secret, claims))).toBe("401 token_expired");
  });

  test("the expiry before malformed claims and elevation", async () => {
    const narrow = await world.admin.createKey(world.app._id, { channelPatterns: ["chat/*"] });
    for (const claims of [{ sub: 5 }, { channels: 5 }, { channels: ["x"] }, { metadata: [] }])
      expect(await withClaims({ ...claims, exp: past() }, narrow)).toBe("401 token_expired");
  });
});

describe("signing material that cannot be used", () => {
  test("is 503 internal_error for tokens; publishable keys still work", async () => {
    const data = tempFolder();
    const master = (fill: number): Record<string, string> => ({
      PARLEY_MASTER_KEY: Buffer.alloc(32, fill).toString("base64"),
    });
    const before = await startWorld({ data, env: master(1) });
    const publishable = await before.admin.createPublishable(before.app._id);
    await before.stop();
    const server = await startParley({ data, env: master(2) });
    const token = tokenQuery(before.token());
    expect(await outcome(server.url, { query: token })).toBe("503 internal_error");
    expect(await outcome(server.url, { query: token, headers: PLAIN_GET })).toBe("503 internal_error");
    expect(await outcome(server.url, { query: `key=${publishable.keyId}` })).toBe("in");
    await server.stop();
    removeFolder(data);
  });
});
