/** POST /v1/tokens over real HTTP: its response and its limits (service.md 2.2, 2.3, 4.1 and 8; protocol.md 7). */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { jwtVerify, SignJWT } from "jose";
import { ALL_ACTIONS, mint, mintToken } from "../support/admin.ts";
import { expectRefusal } from "../support/checks.ts";
import { serverForTests, wideAndNarrowKeys } from "../support/for-tests.ts";
import { call, inPieces } from "../support/http.ts";
import { headerOf, nowSeconds, payloadOf } from "../support/jwt.ts";

setDefaultTimeout(60_000);

const KIB = 1024;
const BODY_MAX_BYTES = 128 * KIB;

const server = await serverForTests({ env: { PARLEY_REST_REQUESTS_PER_SECOND: "0" } });
const { admin } = server;
const { wide, narrow } = await wideAndNarrowKeys(server);

const post = (body: unknown, key = wide): ReturnType<typeof mint> => mint(server.url, key.credential, body);
const keyOf = (secret: string): Uint8Array => new TextEncoder().encode(secret);
/** An object of exactly that many bytes as JSON; "ü" so that characters and bytes differ. */
const bagOf = (bytes: number): object => ({ ü: "x".repeat(bytes - '{"ü":""}'.length - 1) });
const named = (count: number): string[] => Array.from({ length: count }, (_, i) => `c${i}`);

describe("a minted token", () => {
  test("holds only sub, exp and iat by default, and is valid for an hour", async () => {
    const before = nowSeconds();
    const { status, body } = await post({ peerId: "alice" });
    const after = nowSeconds();
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(["channels", "expiresAt", "permissions", "token"]);
    expect(headerOf(body.token)).toEqual({ alg: "HS256", kid: wide.keyId, typ: "JWT" });
    const { iat, ...rest } = payloadOf(body.token);
    expect(rest).toEqual({ sub: "alice", exp: body.expiresAt });
    expect(iat).toBeGreaterThanOrEqual(before);
    expect(iat).toBeLessThanOrEqual(after);
    // Rounded up: an hour from a moment within that second.
    expect(body.expiresAt - (iat as number)).toBeWithin(3600, 3602);
  });

  test("the response lists what the token grants: what was requested, or all that the key has", async () => {
    expect((await post({ peerId: "a" }, narrow)).body).toMatchObject({
      channels: ["chat/*", "news/**"],
      permissions: ["publish", "subscribe"],
    });
    const asked = { channels: ["chat/1"], permissions: ["subscribe"] };
    expect((await post({ peerId: "a", ...asked }, narrow)).body).toMatchObject(asked);
    expect((await post({ peerId: "a", channels: [], permissions: [] })).body).toMatchObject({
      channels: [],
      permissions: [],
    });
  });

  test("keeps metadata byte for byte: long numbers, 1e400, spaces", async () => {
    const metadata = '{"id":1234567890123456789, "big" : 1e400,"text":"\\u00fc"}';
    const { body } = await post(`{"peerId":"a","metadata":${metadata},"peerMetadata":{"n":12345678901234567890}}`);
    const text = Buffer.from(body.token.split(".")[1] ?? "", "base64url").toString();
    expect(text).toContain(`"metadata":${metadata}`);
    expect(text).toContain('"peerMetadata":{"n":12345678901234567890}');
    expect(await admin.check(body.token)).toMatchObject({ valid: true });
  });

  test("null for an optional field means that it is absent", async () => {
    const { status, body } = await post({ peerId: "a", expiresInSec: null, metadata: null, peerMetadata: null });
    expect(status).toBe(200);
    expect(Object.keys(payloadOf(body.token)).sort()).toEqual(["exp", "iat", "sub"]);
  });

  test("holds everything requested, unchanged", async () => {
    const asked = {
      channels: ["chat/42", "news/**"],
      permissions: ["subscribe"],
      metadata: { iceServers: [{ urls: ["turn:example.com"], username: "u", credential: "c" }], "🦜": [null, 1.5] },
      peerMetadata: { username: "Alice", nested: { deep: [true] } },
    };
    const { body } = await post({ peerId: "alice", expiresInSec: 60, ...asked }, narrow);
    const { iat, exp, sub, ...rest } = payloadOf(body.token);
    expect(rest).toEqual(asked);
    expect((exp as number) - (iat as number)).toBeWithin(60, 62);
    expect(body.expiresAt).toBe(exp as number);
    expect(sub).toBe("alice");
  });

  test("keeps empty lists: they mean none, not all", async () => {
    const token = await mintToken(server.url, wide.credential, { peerId: "a", channels: [], permissions: [] });
    expect(payloadOf(token)).toMatchObject({ channels: [], permissions: [] });
    expect(await admin.check(token)).toMatchObject({ valid: true, channels: [], permissions: [] });
  });

  test("__proto__ in metadata is a key like any other", async () => {
    const { body } = await post('{"peerId":"a","metadata":{"__proto__":{"admin":true}}}');
    const text = Buffer.from(body.token.split(".")[1] ?? "", "base64url").toString();
    expect(text).toContain('"metadata":{"__proto__":{"admin":true}}');
    expect(payloadOf(body.token).sub).toBe("a");
  });

  test("the content type is ignored", async () => {
    const { status } = await call(`${server.url}/v1/tokens`, {
      bearer: wide.credential,
      body: '{"peerId":"a"}',
      headers: { "Content-Type": "text/plain" },
    });
    expect(status).toBe(200);
  });

  test.each([
    ["channel", 'did you mean "channels"?'],
    ["Channels", 'did you mean "channels"?'],
    ["peerid", 'did you mean "peerId"?'],
    ["expiresInSeconds", 'did you mean "expiresInSec"?'],
    ["permission", 'did you mean "permissions"?'],
    ["peer_metadata", 'did you mean "peerMetadata"?'],
    ["ttl", "there are peerId, channels, permissions"],
    ["__proto__", "there is no such field"],
    ["", "there is no such field"],
  ])("a misspelt field grants nothing: %p", async (name, hint) => {
    const { message } = expectRefusal(await post(`{"peerId":"a","${name}":["x"]}`), 400, "invalid_request");
    expect(message).toStartWith(`${name}: `);
    expect(message).toContain(hint);
  });

  test("an unknown field of any name is ignored, and a long one is not shown: it may be a secret", async () => {
    expectRefusal(await post({ peerId: "a", "\ud800": 1 }), 400, "invalid_request");
    for (const name of [wide.secret, "x".repeat(41), "x".repeat(100_000)]) {
      const { message } = expectRefusal(await post({ peerId: "a", [name]: 1 }), 400, "invalid_request");
      expect(message).toStartWith("(a long name): there is no such field");
    }
  });
});

describe("a token of one second", () => {
  test("can connect, whenever within a second it was minted", async () => {
    for (let fraction = 0; fraction < 1000; fraction += 125) {
      await Bun.sleep((1000 + fraction - (Date.now() % 1000)) % 1000);
      const { body } = await post({ peerId: "a", expiresInSec: 1 });
      // A plain GET runs the checks of a connect, and reports whether it would be accepted.
      const { status, text } = await call(`${server.url}/v1?token=${body.token}`);
      expect({ fraction, status, text: status === 426 ? "" : text }).toEqual({ fraction, status: 426, text: "" });
      expect(body.expiresAt - Date.now() / 1000).toBeLessThan(2.6);
    }
  });
});

describe("minted and self-signed tokens are equivalent", () => {
  test("jose verifies a minted token with the secret", async () => {
    const token = await mintToken(server.url, wide.credential, { peerId: "alice", metadata: { a: 1 } });
    const { payload, protectedHeader } = await jwtVerify(token, keyOf(wide.secret), { algorithms: ["HS256"] });
    expect(payload).toMatchObject({ sub: "alice", metadata: { a: 1 } });
    expect(protectedHeader.kid).toBe(wide.keyId);
    await expect(jwtVerify(token, keyOf(narrow.secret))).rejects.toThrow();
  });

  test("a token signed by jose is accepted, with the scope it requests", async () => {
    const exp = nowSeconds() + 300;
    const token = await new SignJWT({ channels: ["chat/1"], permissions: ["publish"], iss: "shop", peerMetadata: {} })
      .setProtectedHeader({ alg: "HS256", kid: narrow.keyId })
      .setSubject("bob")
      .setIssuedAt()
      .setExpirationTime(exp)
      .sign(keyOf(narrow.secret));
    expect(await admin.check(token)).toEqual({
      valid: true,
      keyId: narrow.keyId,
      app: narrow.app,
      peerId: "bob",
      expiresAt: exp,
      channels: ["chat/1"],
      permissions: ["publish"],
    });
  });

  test("a token that names neither channels nor permissions has the key's", async () => {
    const token = await mintToken(server.url, narrow.credential, { peerId: "a" });
    expect(await admin.check(token)).toMatchObject({
      channels: ["chat/*", "news/**"],
      permissions: ["publish", "subscribe"],
    });
  });
});

describe("limits: the last accepted value and the first refused one", () => {
  test.each<[string, object, object]>([
    ["peerId of 128 characters", { peerId: "~".repeat(128) }, { peerId: "~".repeat(129) }],
    ["peerId of one character", { peerId: " " }, { peerId: "" }],
    ["100 channels", { channels: named(100) }, { channels: named(101) }],
    ["channels of 256 bytes", { channels: ["ü".repeat(128)] }, { channels: [`${"ü".repeat(128)}x`] }],
    ["16 permissions", { permissions: Array(16).fill("publish") }, { permissions: Array(17).fill("publish") }],
    ["expiresInSec 1", { expiresInSec: 1 }, { expiresInSec: 0 }],
    ["expiresInSec 86400", { expiresInSec: 86_400 }, { expiresInSec: 86_401 }],
    ["metadata of 8 KB", { metadata: bagOf(8 * KIB) }, { metadata: bagOf(8 * KIB + 1) }],
    ["peerMetadata of 4 KB", { peerMetadata: bagOf(4 * KIB) }, { peerMetadata: bagOf(4 * KIB + 1) }],
  ])("%s", async (_name, good, bad) => {
    expect((await post({ peerId: "a", ...good })).status).toBe(200);
    expectRefusal(await post({ peerId: "a", ...bad }), 400, "invalid_request");
  });

  test("a body of 128 KiB is accepted, with and without Content-Length", async () => {
    const bodyOf = (bytes: number): Buffer => {
      const head = '{"peerId":"a"';
      return Buffer.from(`${head}${" ".repeat(bytes - head.length - 1)}}`);
    };
    const [good, bad] = [bodyOf(BODY_MAX_BYTES), bodyOf(BODY_MAX_BYTES + 1)];
    expect(good.length).toBe(BODY_MAX_BYTES);
    expect((await post(good)).status).toBe(200);
    expect((await post(inPieces(good))).status).toBe(200);
    expectRefusal(await post(bad), 413, "invalid_request");
    expectRefusal(await post(inPieces(bad)), 413, "invalid_request");
  });

  test.each([
    ["metadata", 8 * KIB],
    ["peerMetadata", 4 * KIB],
  ])("the size of %s is that of its text, spaces and escapes included", async (name, max) => {
    const spaced = (bytes: number): string => `{"peerId":"a","${name}":{${" ".repeat(bytes - 2)}}}`;
    expect((await post(spaced(max))).status).toBe(200);
    const { message } = expectRefusal(await post(spaced(max + 1)), 400, "invalid_request");
    expect(message).toStartWith(`${name}: `);
    const escaped = (count: number): string => `{"peerId":"a","${name}":{"a":"${"\\u0041".repeat(count)}"}}`;
    expect((await post(escaped(Math.floor((max - 8) / 6)))).status).toBe(200);
    expectRefusal(await post(escaped(max / 6 + 1)), 400, "invalid_request");
  });

  test("the longest legal token can be minted, verified, and used in a query", async () => {
    // Quotes and backslashes are the worst case: one byte in a name, two in JSON.
    const channels = Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(256, '"'));
    const fill = (bytes: number): object => ({ a: "x".repeat(bytes - '{"a":""}'.length) });
    const asked = { channels, metadata: fill(8 * KIB), peerMetadata: fill(4 * KIB), permissions: ALL_ACTIONS };
    const peerId = '"'.repeat(128);
    const token = await mintToken(server.url, wide.credential, { peerId, expiresInSec: 86_400, ...asked });
    expect(token.length).toBeGreaterThan(80_000);
    const { payload } = await jwtVerify(token, keyOf(wide.secret));
    expect(payload).toMatchObject(asked);
    expect(await admin.check(token)).toMatchObject({ valid: true, peerId, channels });
    const asQuery = await call(`${server.url}/v1?token=${token}`);
    expect(asQuery.status).not.toBe(431);
    expect(asQuery.headers.get("x-request-id")).toBeString();
  });

  test("a hundred of the longest patterns are granted by a key that covers everything", async () => {
    const channels = Array.from({ length: 100 }, (_, i) => `${`${i}`.padEnd(254, "x")}/*`);
    const { status, text } = await post({ peerId: "a", channels });
    expect({ status, text: status === 200 ? "" : text }).toEqual({ status: 200, text: "" });
  });
});
