/** Forged and invalid tokens: each refused, with the right code (protocol.md 1, checks 7 to 11). */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { createSign, generateKeyPairSync } from "node:crypto";
import { encodePart, forge, nowSeconds, selfSigned, signature } from "../support/jwt.ts";
import { forgeryForTests } from "./support/forgery.ts";

setDefaultTimeout(60_000);

const DAY = 86_400;

const {
  server,
  admin,
  key,
  other,
  publishableId,
  header,
  claims,
  signed,
  withHeader,
  withClaims,
  expectRefused,
  expectInvalid,
} = await forgeryForTests();

/** All other tokens differ from this one in one step. */
test("the valid token is accepted", async () => {
  expect(await admin.check(signed(header(), claims()))).toMatchObject({ valid: true, peerId: "alice" });
  expect((await admin.check(withHeader({ typ: undefined }))).valid).toBe(true);
});

describe("refused for the algorithm", () => {
  test.each<{ alg: unknown }>([
    { alg: "none" },
    { alg: "None" },
    { alg: "nOnE" },
    { alg: "HS512" },
    { alg: "HS384" },
    { alg: "RS256" },
    { alg: "ES256" },
    { alg: "EdDSA" },
    { alg: "hs256" },
    { alg: "" },
    { alg: null },
    { alg: 1 },
    { alg: ["HS256"] },
    {} as { alg: unknown },
  ])("%j over a good HS256 signature", async ({ alg }) => {
    expect(await expectInvalid(withHeader({ alg }))).toContain("alg");
  });

  test("none, without a signature", async () => {
    const input = `${encodePart(header({ alg: "none" }))}.${encodePart(claims())}`;
    await expectInvalid(`${input}.`);
    await expectInvalid(input);
    await expectInvalid(`${input}.${encodePart("x")}`);
  });

  test("HS512 and HS384, signed with the right secret", async () => {
    for (const [alg, hash] of [
      ["HS512", "sha512"],
      ["HS384", "sha384"],
    ] as const) {
      const input = `${encodePart(header({ alg }))}.${encodePart(claims())}`;
      await expectInvalid(`${input}.${signature(input, key.secret, hash)}`);
    }
    // The same signatures under a header that says HS256.
    const input = `${encodePart(header())}.${encodePart(claims())}`;
    await expectInvalid(`${input}.${signature(input, key.secret, "sha512")}`);
    await expectInvalid(`${input}.${signature(input, key.secret, "sha1")}`);
  });

  test("RS256 with a real key, and that key in the header", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const jwk = publicKey.export({ format: "jwk" });
    for (const alg of ["RS256", "HS256"]) {
      const input = `${encodePart(header({ alg, jwk }))}.${encodePart(claims())}`;
      await expectInvalid(`${input}.${createSign("sha256").update(input).sign(privateKey, "base64url")}`);
    }
  });

  test("a symmetric key in the header", async () => {
    const k = Buffer.from("mine").toString("base64url");
    await expectInvalid(forge(header({ jwk: { kty: "oct", k }, jku: "https://evil.example/jwks" }), claims(), "mine"));
  });
});

describe("refused for the key", () => {
  test.each<[string, unknown]>([
    ["a path", "../../../../etc/passwd"],
    ["a device", "/dev/null"],
    ["__proto__", "__proto__"],
    ["constructor", "constructor"],
    ["10 KB long", "k".repeat(10_240)],
    ["SQL", "' OR 1=1 --"],
    ["empty", ""],
    ["a number", 0],
    ["null", null],
    ["a list", ["x"]],
    ["an object", { toString: "x" }],
    ["missing", undefined],
    ["unknown", `sk_id_${"0".repeat(32)}`],
  ])("kid is %s", async (_name, kid) => {
    for (const secret of [key.secret, "", "undefined", "null"])
      await expectInvalid(forge(header({ kid }), claims(), secret));
  });

  test("a kid that is nearly right", async () => {
    const { keyId } = key;
    for (const kid of [
      keyId.toUpperCase(),
      `${keyId} `,
      ` ${keyId}`,
      `${keyId}\u0000`,
      keyId.slice(0, -1),
      [keyId],
      key.credential,
    ])
      await expectInvalid(withHeader({ kid }));
  });

  test("a publishable key's id as kid, signed with anything that could be taken for its secret", async () => {
    for (const secret of [publishableId, "", key.secret, "undefined"])
      await expectInvalid(forge(header({ kid: publishableId }), claims(), secret));
  });

  test("signed with another application's key, or with this key's id and another secret", async () => {
    const random = key.secret.slice("sk_secret_".length);
    for (const secret of [other.secret, "", key.keyId, random, server.adminToken, `${key.secret}\n`])
      await expectInvalid(forge(header(), claims(), secret));
    const decoded = Buffer.from(random, "base64url");
    const input = `${encodePart(header())}.${encodePart(claims())}`;
    await expectInvalid(`${input}.${signature(input, decoded.toString("latin1"))}`);
  });

  test("a revoked key", async () => {
    const gone = await admin.createKey(key.app);
    const token = selfSigned(gone.keyId, gone.secret);
    expect((await admin.check(token)).valid).toBe(true);
    await admin.revoke(gone.keyId);
    await expectInvalid(token);
  });
});

describe("refused for the times", () => {
  test.each<[string, (now: number) => object]>([
    ["exp missing", () => ({ exp: undefined })],
    ["exp null", () => ({ exp: null })],
    ["exp a text", (now) => ({ exp: `${now + 600}` })],
    ["exp a list", (now) => ({ exp: [now + 600] })],
    ["exp true", () => ({ exp: true })],
    ["exp beyond safe integers", () => ({ exp: 2 ** 53 })],
    ["iat a text", (now) => ({ iat: `${now}` })],
    ["iat null", () => ({ iat: null })],
    ["iat more than a minute ahead", (now) => ({ iat: now + 75 })],
    ["nbf more than a minute ahead", (now) => ({ nbf: now + 75 })],
    ["without iat, exp more than 24 hours ahead", (now) => ({ exp: now + DAY + 15 })],
  ])("invalid_token: %s", async (_name, fields) => {
    await expectInvalid(withClaims(fields(nowSeconds())));
  });

  test.each<[string, (now: number) => object]>([
    ["exp has passed", (now) => ({ exp: now - 1 })],
    ["exp is now", (now) => ({ exp: now })],
    ["exp in 1970", () => ({ exp: 0 })],
    ["exp before that", () => ({ exp: -1 })],
    ["24 hours have passed since iat", (now) => ({ iat: now - DAY, exp: now + 600 })],
    ["iat in 1970", (now) => ({ iat: 0, exp: now + 600 })],
  ])("token_expired: %s", async (_name, fields) => {
    await expectRefused(withClaims(fields(nowSeconds())), "token_expired");
  });

  test("values just inside the limits are accepted, but never for more than 24 hours from issue", async () => {
    const now = nowSeconds();
    for (const fields of [{ iat: now + 45 }, { nbf: now + 45 }, { exp: now + DAY - 15 }, { iat: now - DAY + 60 }])
      expect((await admin.check(withClaims(fields))).valid).toBe(true);
    const issued = await admin.check(withClaims({ iat: now - 100, exp: now + 30 * DAY }));
    expect(issued).toMatchObject({ valid: true, expiresAt: now - 100 + DAY });
    // An iat in the future does not extend the token: the 24 hours count from now.
    const ahead = await admin.check(withClaims({ iat: now + 45, exp: now + 30 * DAY }));
    expect(ahead.expiresAt).toBeLessThanOrEqual(nowSeconds() + DAY);
  });

  test("fractions are cut off and typ is case-insensitive, because Python and others write such tokens", async () => {
    const now = nowSeconds();
    const token = signed(header({ typ: "jwt" }), claims({ iat: now - 0.5, nbf: now - 0.25, exp: now + 600.75 }));
    expect(await admin.check(token)).toMatchObject({ valid: true, expiresAt: now + 600 });
    await expectRefused(withClaims({ exp: now + 0.99 }), "token_expired");
  });

  test("1e999 as a time", async () => {
    await expectInvalid(signed(header(), '{"sub":"a","exp":1e999}'));
  });
});

describe("refused for the claims", () => {
  test.each<[string, object]>([
    ["sub missing", { sub: undefined }],
    ["sub empty", { sub: "" }],
    ["sub of 129 characters", { sub: "x".repeat(129) }],
    ["sub beyond ASCII", { sub: "älice" }],
    ["sub with a line break", { sub: "a\nb" }],
    ["sub a number", { sub: 1 }],
    ["iss a number", { iss: 1 }],
    ["channels a text", { channels: "chat/1" }],
    ["channels null", { channels: null }],
    ["101 channels", { channels: Array(101).fill("chat/1") }],
    ["a channel of 257 bytes", { channels: [`chat/${"x".repeat(252)}`] }],
    ["an empty channel", { channels: [""] }],
    ["a channel that is a number", { channels: [1] }],
    ["a channel with a control character", { channels: ["chat/\u0000"] }],
    ["a pattern with three stars", { channels: ["chat/***"] }],
    ["permissions a text", { permissions: "publish" }],
    ["permissions null", { permissions: null }],
    ["17 permissions", { permissions: Array(17).fill("publish") }],
    ["an unknown permission", { permissions: ["fly"] }],
    ["metadata a list", { metadata: [] }],
    ["metadata null", { metadata: null }],
    ["metadata over 8 KB", { metadata: { a: "x".repeat(8192) } }],
    ["peerMetadata a text", { peerMetadata: "x" }],
    ["peerMetadata over 4 KB", { peerMetadata: { a: "x".repeat(4096) } }],
  ])("%s", async (_name, fields) => {
    await expectInvalid(withClaims(fields));
  });

  test.each([
    ["peerMetadata", 50_000],
    ["metadata", 8 * 1024 + 1],
  ])("%s that is too large because of its spaces", async (name, bytes) => {
    const text = `{"sub":"a","exp":${nowSeconds() + 600},"${name}":{${" ".repeat(bytes - 2)}}}`;
    expect(await expectInvalid(signed(header(), text))).toContain(name);
  });

  test.each<[string, object]>([
    ["a channel outside the key's patterns", { channels: ["chat/1", "mail/1"] }],
    ["a wider pattern", { channels: ["chat/**"] }],
    ["everything", { channels: ["**"] }],
    ["a reserved channel", { channels: ["_parley/x"] }],
    ["an action the key does not have", { permissions: ["publish", "presence"] }],
  ])("elevation is refused completely: %s", async (_name, fields) => {
    await expectInvalid(withClaims(fields));
  });

  test("a reserved channel is refused even if the key's patterns cover everything", async () => {
    for (const channel of ["_parley/x", "_METERED/**", "_internal/*", "_system/"])
      await expectInvalid(selfSigned(other.keyId, other.secret, { channels: [channel] }));
  });

  test("a duplicate key, at the top or nested", async () => {
    const exp = nowSeconds() + 600;
    for (const text of [
      `{"sub":"alice","sub":"admin","exp":${exp}}`,
      `{"sub":"alice","\\u0073ub":"admin","exp":${exp}}`,
      `{"sub":"alice","exp":0,"exp":${exp}}`,
      `{"sub":"alice","exp":${exp},"__proto__":1,"__proto__":2}`,
      `{"sub":"alice","exp":${exp},"peerMetadata":{"role":"user","role":"admin"}}`,
    ])
      await expectInvalid(signed(header(), text));
  });

  test("__proto__ grants nothing", async () => {
    const exp = nowSeconds() + 600;
    await expectInvalid(signed(header(), `{"exp":${exp},"__proto__":{"sub":"admin"}}`));
    const token = signed(header(), `{"sub":"a","exp":${exp},"__proto__":{"permissions":["send"],"channels":["**"]}}`);
    expect(await admin.check(token)).toMatchObject({ channels: ["chat/*"], permissions: ["publish", "subscribe"] });
  });

  test("a payload that is no JSON object, or no UTF-8", async () => {
    for (const text of ["[]", "null", '"x"', "1", "{", "", "\u0000", "[".repeat(30_000)])
      await expectInvalid(signed(header(), text));
    const exp = nowSeconds() + 600;
    for (const bytes of [`{"sub":"a","exp":${exp},"iss":"\xff"}`, `\xef\xbb\xbf{"sub":"a","exp":${exp}}`, "\xff\xfe"])
      await expectInvalid(signed(header(), Buffer.from(bytes, "latin1")));
    // A surrogate encoded in UTF-8.
    const smuggled = Buffer.concat([
      Buffer.from(`{"sub":"a","exp":${exp},"iss":"`),
      Buffer.from([0xed, 0xa0, 0x80]),
      Buffer.from('"}'),
    ]);
    await expectInvalid(signed(header(), smuggled));
  });
});

describe("which of several faults is reported", () => {
  test("a wrong signature comes before everything else", async () => {
    await expectInvalid(forge(header(), claims({ exp: 0 }), other.secret));
    await expectInvalid(forge(header({ kid: other.keyId }), claims({ exp: 0 }), key.secret));
  });

  test("expiry comes before malformed claims and elevation", async () => {
    for (const fields of [{ sub: "" }, { metadata: [] }, { channels: ["**"] }, { permissions: ["send"] }])
      await expectRefused(withClaims({ exp: 1, ...fields }), "token_expired");
  });

  test("a retired secret comes before everything in the payload", async () => {
    const rotated = await admin.createKey(key.app);
    await admin.rotate(rotated.keyId, { graceSec: 0 });
    for (const fields of [{}, { exp: 1 }, { sub: "" }, { exp: 1.5 }, { channels: ["_parley/x"] }])
      await expectRefused(selfSigned(rotated.keyId, rotated.secret, fields), "token_expired");
  });
});
