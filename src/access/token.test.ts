import { beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import fc from "fast-check";
import * as jose from "jose";
import { actionList } from "../protocol/actions.ts";
import type { KeyRow, SecretRow } from "../store/store.ts";
import { Keyring } from "./keyring.ts";
import { signToken, TokenRefusal, type VerifiedToken, verifyToken } from "./token.ts";
import { digestOf, keySecretIdentity, Vault } from "./vault.ts";

const NOW = 1_800_000_000_500;
const NOW_S = 1_800_000_000;
const KEY = `sk_id_${"a".repeat(32)}`;
const OTHER = `sk_id_${"b".repeat(32)}`;
const PUBLISHABLE = `pk_live_${"c".repeat(32)}`;
const SECRETS = {
  current: "sk_secret_current",
  grace: "sk_secret_grace",
  retired: "sk_secret_retired",
  other: "sk_secret_other",
};

const vault = new Vault(Buffer.alloc(32, 7));
const keyring = new Keyring(vault);

const keyRow = (id: string, more: Partial<KeyRow> = {}): KeyRow => ({
  id,
  app: "app",
  type: "secret",
  label: null,
  channelPatterns: ["chat/*", "news"],
  actions: ["publish", "subscribe", "presence"],
  allowedOrigins: null,
  created: 0,
  rotated: null,
  revoked: null,
  ...more,
});
const secretRow = (keyId: string, seq: number, secret: string, ends: number | null): SecretRow => ({
  keyId,
  seq,
  sealed: vault.seal(secret, keySecretIdentity(keyId, seq)),
  digest: digestOf(secret),
  created: 0,
  ends,
});

beforeAll(() => {
  keyring.load({
    revision: 1,
    apps: [],
    keys: [
      keyRow(KEY),
      keyRow(OTHER, { app: "other app" }),
      keyRow(PUBLISHABLE, { type: "publishable", allowedOrigins: ["*"] }),
      keyRow("sk_id_sealed"),
    ],
    secrets: [
      secretRow(KEY, 3, SECRETS.current, null),
      secretRow(KEY, 2, SECRETS.grace, NOW + 10_000),
      secretRow(KEY, 1, SECRETS.retired, NOW - 1),
      secretRow(OTHER, 1, SECRETS.other, null),
      { ...secretRow("sk_id_sealed", 1, "x", null), sealed: new Vault(Buffer.alloc(32, 8)).seal("x", "anything") },
    ],
  });
});

const part = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

interface Made {
  header?: unknown;
  claims?: unknown;
  secret?: string;
  hash?: string;
}

/** A token from raw parts; strings are taken as they are, so that broken JSON can be signed properly. */
function token({ header = {}, claims = {}, secret = SECRETS.current, hash = "sha256" }: Made = {}): string {
  const head = typeof header === "object" ? { alg: "HS256", typ: "JWT", kid: KEY, ...header } : header;
  const body = typeof claims === "object" ? { sub: "alice", exp: NOW_S + 3600, ...claims } : claims;
  const input = `${part(head)}.${part(body)}`;
  return `${input}.${createHmac(hash, secret).update(input).digest("base64url")}`;
}

const verdict = (text: string, nowMs = NOW): string => {
  const result = verifyToken(text, keyring, nowMs);
  return result instanceof TokenRefusal ? result.code : "ok";
};
const verified = (made: Made): VerifiedToken => {
  const result = verifyToken(token(made), keyring, NOW);
  if (result instanceof TokenRefusal) throw new Error(result.reason);
  return result;
};

test("a plain token is good, with what the key has where it says nothing", () => {
  const result = verified({});
  expect(result.peerId).toBe("alice");
  expect(result.scope).toBeUndefined();
  expect(actionList(result.actions)).toEqual(["publish", "subscribe", "presence"]);
  expect(result.expiresAtMs).toBe((NOW_S + 3600) * 1000);
  expect(result.metadataJson).toBeUndefined();
});

describe("parsing and the header (check 7)", () => {
  test.each<[string, Made]>([
    ["alg none", { header: { alg: "none" } }],
    ["alg HS512, signed so", { header: { alg: "HS512" }, hash: "sha512" }],
    ["alg RS256", { header: { alg: "RS256" } }],
    ["alg in lower case", { header: { alg: "hs256" } }],
    ["alg absent", { header: { alg: undefined } }],
    ["typ other than JWT", { header: { typ: "at+jwt" } }],
    ["crit", { header: { crit: ["exp"], exp: 1 } }],
    ["kid absent", { header: { kid: undefined } }],
    ["kid a number", { header: { kid: 7 } }],
    ["kid unknown", { header: { kid: "sk_id_nobody" } }],
    ["kid a path", { header: { kid: "../../etc/passwd" } }],
    ["kid __proto__", { header: { kid: "__proto__" } }],
    ["kid of 10 KB", { header: { kid: "k".repeat(10_240) } }],
    ["kid a publishable key", { header: { kid: PUBLISHABLE } }],
    ["a key twice in the header", { header: `{"alg":"HS256","kid":"${OTHER}","kid":"${KEY}"}` }],
    ["a header that is no object", { header: "[]" }],
    ["a header that is no JSON", { header: "{" }],
  ])("%s", (_name, made) => {
    expect(verdict(token(made))).toBe("invalid_token");
  });

  test("typ may be absent, and in any case of letters", () => {
    for (const typ of [undefined, "jwt", "Jwt"]) expect(verdict(token({ header: { typ } }))).toBe("ok");
  });

  test("not three parts of strict base64url", () => {
    const good = token();
    const [head, body, signature] = good.split(".");
    for (const wrong of [
      "",
      ".",
      "..",
      "a.b",
      `${good}.`,
      `${good}.x`,
      `${good}=`,
      ` ${good}`,
      `${good}\n`,
      `${head}.${body}.`,
      `${head}=.${body}.${signature}`,
    ])
      expect(verdict(wrong)).toBe("invalid_token");
    expect(
      verdict(good.replaceAll("_", "/").replaceAll("-", "+") === good ? `${good}+` : good.replaceAll("_", "/")),
    ).toBe("invalid_token");
  });

  test("the spare bits of the last character must be clear: one token, one spelling", () => {
    const good = token();
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const last = alphabet.indexOf(good.at(-1) as string);
    for (const spare of [1, 2, 3]) expect(verdict(good.slice(0, -1) + alphabet[last | spare])).toBe("invalid_token");
  });
});

describe("the signature (check 8)", () => {
  test("the current secret, and a previous one in its grace", () => {
    expect(verdict(token())).toBe("ok");
    expect(verdict(token({ secret: SECRETS.grace }))).toBe("ok");
    expect(verified({ secret: SECRETS.grace }).secret.seq).toBe(2);
  });

  test("a retired one is expired, to the millisecond of its grace", () => {
    expect(verdict(token({ secret: SECRETS.retired }))).toBe("token_expired");
    expect(verdict(token({ secret: SECRETS.grace }), NOW + 9_999)).toBe("ok");
    expect(verdict(token({ secret: SECRETS.grace }), NOW + 10_000)).toBe("token_expired");
  });

  test("another secret, also another application's", () => {
    expect(verdict(token({ secret: "sk_secret_nobody" }))).toBe("invalid_token");
    expect(verdict(token({ secret: SECRETS.other }))).toBe("invalid_token");
    expect(verdict(token({ header: { kid: OTHER } }))).toBe("invalid_token");
    expect(verdict(token({ secret: "" }))).toBe("invalid_token");
  });

  test("is looked at before the claims are", () => {
    expect(verdict(token({ secret: "sk_secret_nobody", claims: { exp: 1 } }))).toBe("invalid_token");
    expect(verdict(token({ secret: SECRETS.retired, claims: { sub: "" } }))).toBe("token_expired");
  });

  test("a key whose secret cannot be decrypted is our failure, not the token's", () => {
    expect(verdict(token({ header: { kid: "sk_id_sealed" } }))).toBe("internal_error");
  });
});

describe("expiry (check 9)", () => {
  test("less than a second left counts as passed, no leeway", () => {
    expect(verdict(token({ claims: { exp: NOW_S } }))).toBe("token_expired");
    expect(verdict(token({ claims: { exp: NOW_S + 1 } }))).toBe("token_expired");
    expect(verdict(token({ claims: { exp: NOW_S + 2 } }))).toBe("ok");
    expect(verdict(token({ claims: { exp: -5 } }))).toBe("token_expired");
  });

  test("is looked at before the other claims", () => {
    expect(verdict(token({ claims: { exp: 1, sub: "" } }))).toBe("token_expired");
  });

  test("never more than 24 hours from issue", () => {
    expect(verified({ claims: { iat: NOW_S - 3600, exp: NOW_S + 86_400 } }).expiresAtMs).toBe(
      (NOW_S - 3600 + 86_400) * 1000,
    );
    expect(verified({ claims: { iat: NOW_S + 50, exp: NOW_S + 90_000 } }).expiresAtMs).toBe(NOW + 86_400_000);
    expect(verdict(token({ claims: { iat: NOW_S - 86_400, exp: NOW_S + 3600 } }))).toBe("token_expired");
  });

  test("without iat, an exp more than 24 hours ahead is refused", () => {
    expect(verdict(token({ claims: { exp: NOW_S + 86_400 } }))).toBe("ok");
    expect(verdict(token({ claims: { exp: NOW_S + 86_401 } }))).toBe("invalid_token");
  });
});

describe("claims (check 10)", () => {
  const text = (bytes: number): string => "x".repeat(bytes - '{"a":""}'.length);

  test.each<[string, object | string]>([
    ["payload no object", "[]"],
    ["payload no JSON", "{"],
    ["a key twice", `{"sub":"eve","sub":"alice","exp":${NOW_S + 60}}`],
    ["a key twice, deep", `{"sub":"alice","exp":${NOW_S + 60},"metadata":{"a":1,"a":2}}`],
    ["exp absent", { exp: undefined }],
    ["exp a string", { exp: "1900000000" }],
    ["exp beyond what a number can say", { exp: 1e300 }],
    ["sub absent", { sub: undefined }],
    ["sub empty", { sub: "" }],
    ["sub of 129", { sub: "s".repeat(129) }],
    ["sub with a control character", { sub: "a\u0007" }],
    ["sub beyond ASCII", { sub: "é" }],
    ["sub a number", { sub: 7 }],
    ["iat a string", { iat: "0" }],
    ["iat more than 60 s ahead", { iat: NOW_S + 61 }],
    ["nbf more than 60 s ahead", { nbf: NOW_S + 61 }],
    ["nbf a string", { nbf: "0" }],
    ["iss a number", { iss: 7 }],
    ["channels no list", { channels: "chat/a" }],
    ["channels with a number", { channels: [7] }],
    ["101 channels", { channels: new Array(101).fill("chat/a") }],
    ["a malformed pattern", { channels: ["chat/***"] }],
    ["a channel of 257 bytes", { channels: [`chat/${"a".repeat(252)}`] }],
    ["permissions no list", { permissions: "publish" }],
    ["17 permissions", { permissions: new Array(17).fill("publish") }],
    ["an unknown permission", { permissions: ["fly"] }],
    ["metadata no object", { metadata: [] }],
    ["metadata null", { metadata: null }],
    ["metadata of 8193 bytes", { metadata: { a: text(8193) } }],
    ["peerMetadata no object", { peerMetadata: "x" }],
    ["peerMetadata of 4097 bytes", { peerMetadata: { a: text(4097) } }],
  ])("%s", (_name, claims) => {
    expect(verdict(token({ claims }))).toBe("invalid_token");
  });

  test("fractions of times are cut off", () => {
    expect(verified({ claims: { exp: NOW_S + 60.9 } }).expiresAtMs).toBe((NOW_S + 60) * 1000);
    expect(verified({ claims: { iat: NOW_S - 0.5, nbf: NOW_S - 0.5 } }).expiresAtMs).toBe((NOW_S + 3600) * 1000);
    expect(verdict(token({ claims: { iat: NOW_S + 60.9, nbf: NOW_S + 60.9 } }))).toBe("ok");
    expect(verdict(token({ claims: { exp: NOW_S + 0.9 } }))).toBe("token_expired");
  });

  test.each([
    ["metadata", 8192],
    ["peerMetadata", 4096],
  ])("the size of %s is that of its text, spaces included", (name, maxBytes) => {
    const spaced = (bytes: number): string => `{"sub":"a","exp":${NOW_S + 60},"${name}":{${" ".repeat(bytes - 2)}}}`;
    expect(verdict(token({ claims: spaced(maxBytes) }))).toBe("ok");
    expect(verdict(token({ claims: spaced(maxBytes + 1) }))).toBe("invalid_token");
  });

  test("invalid UTF-8", () => {
    const input = `${part({ alg: "HS256", kid: KEY })}.${Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]).toString("base64url")}`;
    const signature = createHmac("sha256", SECRETS.current).update(input).digest("base64url");
    expect(verdict(`${input}.${signature}`)).toBe("invalid_token");
  });

  test("everything at its limit is good, and arrives untouched", () => {
    const metadata = { a: text(8192) };
    const peerMetadata = { a: text(4096) };
    const result = verified({
      claims: {
        sub: "~".repeat(128),
        iat: NOW_S + 60,
        nbf: NOW_S + 60,
        iss: "me",
        channels: new Array(100).fill(`chat/${"a".repeat(251)}`),
        permissions: new Array(16).fill("publish"),
        metadata,
        peerMetadata,
        unknown: { ignored: true },
      },
    });
    expect(result.metadataJson).toBe(JSON.stringify(metadata));
    expect(result.peerMetadataJson).toBe(JSON.stringify(peerMetadata));
    expect(actionList(result.actions)).toEqual(["publish"]);
  });

  test("metadata is handed on byte for byte", () => {
    const claims = `{"sub":"alice","metadata": {"id":12345678901234567890, "b":1.0},"exp":${NOW_S + 60},"peerMetadata":{ "é":"\\u0041" }}`;
    const result = verified({ claims });
    expect(result.metadataJson).toBe('{"id":12345678901234567890, "b":1.0}');
    expect(result.peerMetadataJson).toBe('{ "é":"\\u0041" }');
  });

  test("and signed byte for byte", () => {
    const raw = { metadata: '{"id":12345678901234567890, "big":1e400}', peerMetadata: undefined };
    const ours = signToken({ sub: "alice", exp: NOW_S + 60 }, KEY, { hmacKey: Buffer.from(SECRETS.current) }, raw);
    expect(Buffer.from(ours.split(".")[1] ?? "", "base64url").toString()).toBe(
      `{"sub":"alice","exp":${NOW_S + 60},"metadata":${raw.metadata}}`,
    );
    const result = verifyToken(ours, keyring, NOW) as VerifiedToken;
    expect(result.metadataJson).toBe(raw.metadata);
  });

  test("a token longer than a request's head is refused unread", () => {
    expect(verdict(token({ claims: { junk: "x".repeat(95_000) } }))).toBe("ok");
    expect(verdict(token({ claims: { junk: "x".repeat(99_000) } }))).toBe("invalid_token");
  });

  test("a claim named like one of our own fields fools nobody", () => {
    expect(verdict(token({ claims: { reason: "x", code: "invalid_token" } }))).toBe("ok");
  });
});

describe("elevation (check 11) is refused whole, not trimmed", () => {
  test("channels", () => {
    expect(verdict(token({ claims: { channels: ["chat/a", "chat/*", "news"] } }))).toBe("ok");
    for (const channels of [["other"], ["chat/a", "other"], ["chat/**"], ["**"], ["_system/x"]])
      expect(verdict(token({ claims: { channels } }))).toBe("invalid_token");
    expect(verified({ claims: { channels: [] } }).scope?.matches("news")).toBe(false);
  });

  test("permissions", () => {
    expect(verdict(token({ claims: { permissions: ["publish", "send"] } }))).toBe("invalid_token");
    expect(verified({ claims: { permissions: [] } }).actions).toBe(0);
  });
});

describe("against another implementation", () => {
  test("what we sign, jose verifies; what jose signs, we verify", async () => {
    const key = keyring.key(KEY);
    if (key?.type !== "secret") throw new Error("no key");
    const claims = { sub: "alice", exp: NOW_S + 60, iat: NOW_S, metadata: { iceServers: [{ urls: ["turn:x"] }] } };
    const bytes = new TextEncoder().encode(SECRETS.current);
    const ours = signToken(claims, KEY, key.secrets[0]!);
    const { payload, protectedHeader } = await jose.jwtVerify(ours, bytes, {
      algorithms: ["HS256"],
      currentDate: new Date(NOW),
    });
    expect(payload as object).toEqual(claims);
    expect(protectedHeader).toEqual({ alg: "HS256", kid: KEY, typ: "JWT" });
    const theirs = await new jose.SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: KEY }).sign(bytes);
    expect(verdict(theirs)).toBe("ok");
  });

  test("any mutation of a valid token is refused", () => {
    const good = token({ claims: { channels: ["chat/a"], metadata: { a: 1 } } });
    const position = fc.nat(good.length - 1);
    const character = fc.constantFrom(..."ABCxyz0189-_.=+/ é");
    fc.assert(
      fc.property(
        fc.oneof(
          fc.tuple(position, character).map(([at, unit]) => good.slice(0, at) + unit + good.slice(at + 1)),
          fc.tuple(position, character).map(([at, unit]) => good.slice(0, at) + unit + good.slice(at)),
          position.map((at) => good.slice(0, at) + good.slice(at + 1)),
          position.map((at) => good.slice(0, at)),
          fc.tuple(position, position).map(([a, b]) => good.slice(0, Math.min(a, b)) + good.slice(Math.max(a, b) + 1)),
        ),
        (mutated) => {
          fc.pre(mutated !== good);
          expect(verdict(mutated)).not.toBe("ok");
        },
      ),
      { numRuns: 5000 },
    );
  });

  test("no text makes it throw", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string({ unit: "binary" }),
          fc.json().map((json) => token({ claims: json })),
        ),
        (text) => {
          expect(["ok", "invalid_token", "token_expired"]).toContain(verdict(text));
        },
      ),
      { numRuns: 2000 },
    );
  });
});
