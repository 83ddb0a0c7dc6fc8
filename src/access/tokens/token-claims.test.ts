/** What a token may claim, once its signature has been verified. */
import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { actionList } from "../../protocol/actions.ts";
import { base64urlOf, KEY, keyring, NOW, NOW_S, SECRETS, token, verdict, verified } from "../testing/tokens.ts";
import { signToken, type VerifiedToken, verifyToken } from "./token.ts";

describe("expiry (check 9)", () => {
  test("a token with less than a second left is expired, without leeway", () => {
    expect(verdict(token({ claims: { exp: NOW_S } }))).toBe("token_expired");
    expect(verdict(token({ claims: { exp: NOW_S + 1 } }))).toBe("token_expired");
    expect(verdict(token({ claims: { exp: NOW_S + 2 } }))).toBe("ok");
    expect(verdict(token({ claims: { exp: -5 } }))).toBe("token_expired");
  });

  test("it is checked before the other claims", () => {
    expect(verdict(token({ claims: { exp: 1, sub: "" } }))).toBe("token_expired");
  });

  test("a token ends 24 hours after it was issued, at the latest", () => {
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
    ["the payload is not an object", "[]"],
    ["the payload is not JSON", "{"],
    ["a key twice", `{"sub":"eve","sub":"alice","exp":${NOW_S + 60}}`],
    ["a key twice in a nested object", `{"sub":"alice","exp":${NOW_S + 60},"metadata":{"a":1,"a":2}}`],
    ["exp absent", { exp: undefined }],
    ["exp is a string", { exp: "1900000000" }],
    ["exp is beyond safe integers", { exp: 1e300 }],
    ["sub absent", { sub: undefined }],
    ["sub empty", { sub: "" }],
    ["sub of 129 characters", { sub: "s".repeat(129) }],
    ["sub with a control character", { sub: "a\u0007" }],
    ["sub beyond ASCII", { sub: "é" }],
    ["sub is a number", { sub: 7 }],
    ["iat is a string", { iat: "0" }],
    ["iat more than 60 s ahead", { iat: NOW_S + 61 }],
    ["nbf more than 60 s ahead", { nbf: NOW_S + 61 }],
    ["nbf is a string", { nbf: "0" }],
    ["iss is a number", { iss: 7 }],
    ["channels is not a list", { channels: "chat/a" }],
    ["channels with a number", { channels: [7] }],
    ["101 channels", { channels: new Array(101).fill("chat/a") }],
    ["a malformed pattern", { channels: ["chat/***"] }],
    ["a channel of 257 bytes", { channels: [`chat/${"a".repeat(252)}`] }],
    ["permissions is not a list", { permissions: "publish" }],
    ["17 permissions", { permissions: new Array(17).fill("publish") }],
    ["an unknown permission", { permissions: ["fly"] }],
    ["metadata is not an object", { metadata: [] }],
    ["metadata is null", { metadata: null }],
    ["metadata of 8193 bytes", { metadata: { a: text(8193) } }],
    ["peerMetadata is not an object", { peerMetadata: "x" }],
    ["peerMetadata of 4097 bytes", { peerMetadata: { a: text(4097) } }],
  ])("a token is refused: %s", (_name, claims) => {
    expect(verdict(token({ claims }))).toBe("invalid_token");
  });

  test("fractions of seconds are cut off", () => {
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

  test("a payload of invalid UTF-8 is refused", () => {
    const input = `${base64urlOf({ alg: "HS256", kid: KEY })}.${Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]).toString("base64url")}`;
    const signature = createHmac("sha256", SECRETS.current).update(input).digest("base64url");
    expect(verdict(`${input}.${signature}`)).toBe("invalid_token");
  });

  test("claims exactly at their limits are good, and metadata arrives unchanged", () => {
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

  test("metadata is passed on byte for byte", () => {
    const claims = `{"sub":"alice","metadata": {"id":12345678901234567890, "b":1.0},"exp":${NOW_S + 60},"peerMetadata":{ "é":"\\u0041" }}`;
    const result = verified({ claims });
    expect(result.metadataJson).toBe('{"id":12345678901234567890, "b":1.0}');
    expect(result.peerMetadataJson).toBe('{ "é":"\\u0041" }');
  });

  test("metadata is signed byte for byte", () => {
    const raw = { metadata: '{"id":12345678901234567890, "big":1e400}', peerMetadata: undefined };
    const ours = signToken({ sub: "alice", exp: NOW_S + 60 }, KEY, { hmacKey: Buffer.from(SECRETS.current) }, raw);
    expect(Buffer.from(ours.split(".")[1] ?? "", "base64url").toString()).toBe(
      `{"sub":"alice","exp":${NOW_S + 60},"metadata":${raw.metadata}}`,
    );
    const result = verifyToken(ours, keyring, NOW) as VerifiedToken;
    expect(result.metadataJson).toBe(raw.metadata);
  });

  test("a token longer than a request's head is refused without being parsed", () => {
    expect(verdict(token({ claims: { junk: "x".repeat(95_000) } }))).toBe("ok");
    expect(verdict(token({ claims: { junk: "x".repeat(99_000) } }))).toBe("invalid_token");
  });

  test("claims named like fields of a refusal do not make a token refused", () => {
    expect(verdict(token({ claims: { reason: "x", code: "invalid_token" } }))).toBe("ok");
  });
});

describe("a token that asks for more than its key may (check 11) is refused whole, not trimmed", () => {
  test("for channels", () => {
    expect(verdict(token({ claims: { channels: ["chat/a", "chat/*", "news"] } }))).toBe("ok");
    for (const channels of [["other"], ["chat/a", "other"], ["chat/**"], ["**"], ["_system/x"]])
      expect(verdict(token({ claims: { channels } }))).toBe("invalid_token");
    expect(verified({ claims: { channels: [] } }).scope?.matches("news")).toBe(false);
  });

  test("for permissions", () => {
    expect(verdict(token({ claims: { permissions: ["publish", "send"] } }))).toBe("invalid_token");
    expect(verified({ claims: { permissions: [] } }).actions).toBe(0);
  });
});

test("a payload of very many values is refused before they are read; the longest metadata is not", () => {
  const many = (count: number): object[] => Array.from({ length: count }, (_, i) => ({ [i]: 0 }));
  expect(verdict(token({ claims: { p: many(6000) } }))).toBe("invalid_token");
  expect(verdict(token({ claims: { p: "x".repeat(60_000) } }))).toBe("ok");
  const lists = (count: number): object[] => Array.from({ length: count }, () => []);
  expect(verdict(token({ claims: { metadata: { a: lists(2700) }, peerMetadata: { a: lists(1300) } } }))).toBe("ok");
});
