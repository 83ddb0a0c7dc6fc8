/** Whether a token is authentic: its form, its header and its signature. token-claims.test.ts has the rest. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import * as jose from "jose";
import { actionList } from "../../protocol/actions.ts";
import { runs } from "../../testing/runs.ts";
import {
  KEY,
  keyring,
  NOW,
  NOW_S,
  OTHER_KEY,
  PUBLISHABLE_KEY,
  SEALED_KEY,
  SECRETS,
  type TokenParts,
  token,
  verdict,
  verified,
} from "../testing/tokens.ts";
import { signToken } from "./token.ts";

test("a plain token is good, and has the key's channels and actions where it names none", () => {
  const result = verified({});
  expect(result.peerId).toBe("alice");
  expect(result.scope).toBeUndefined();
  expect(actionList(result.actions)).toEqual(["publish", "subscribe", "presence"]);
  expect(result.expiresAtMs).toBe((NOW_S + 3600) * 1000);
  expect(result.metadataJson).toBeUndefined();
});

describe("parsing and the header (check 7)", () => {
  test.each<[string, TokenParts]>([
    ["alg none", { header: { alg: "none" } }],
    ["alg HS512, and signed with it", { header: { alg: "HS512" }, hash: "sha512" }],
    ["alg RS256", { header: { alg: "RS256" } }],
    ["alg in lower case", { header: { alg: "hs256" } }],
    ["alg absent", { header: { alg: undefined } }],
    ["typ other than JWT", { header: { typ: "at+jwt" } }],
    ["crit", { header: { crit: ["exp"], exp: 1 } }],
    ["kid absent", { header: { kid: undefined } }],
    ["kid is a number", { header: { kid: 7 } }],
    ["kid is unknown", { header: { kid: "sk_id_unknown" } }],
    ["kid is a path", { header: { kid: "../../etc/passwd" } }],
    ["kid is __proto__", { header: { kid: "__proto__" } }],
    ["kid of 10 KB", { header: { kid: "k".repeat(10_240) } }],
    ["kid is a publishable key", { header: { kid: PUBLISHABLE_KEY } }],
    ["a key twice in the header", { header: `{"alg":"HS256","kid":"${OTHER_KEY}","kid":"${KEY}"}` }],
    ["a header that is no object", { header: "[]" }],
    ["a header that is no JSON", { header: "{" }],
  ])("a token is refused: %s", (_name, parts) => {
    expect(verdict(token(parts))).toBe("invalid_token");
  });

  test("typ may be absent, and in upper or lower case", () => {
    for (const typ of [undefined, "jwt", "Jwt"]) expect(verdict(token({ header: { typ } }))).toBe("ok");
  });

  test("a text that is not three parts of strict base64url is refused", () => {
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
  test("the current secret verifies, and so does a previous one in its grace period", () => {
    expect(verdict(token())).toBe("ok");
    expect(verdict(token({ secret: SECRETS.grace }))).toBe("ok");
    expect(verified({ secret: SECRETS.grace }).secret.seq).toBe(2);
  });

  test("a token of a retired secret is expired, to the millisecond of its grace period", () => {
    expect(verdict(token({ secret: SECRETS.retired }))).toBe("token_expired");
    expect(verdict(token({ secret: SECRETS.grace }), NOW + 9_999)).toBe("ok");
    expect(verdict(token({ secret: SECRETS.grace }), NOW + 10_000)).toBe("token_expired");
  });

  test("another secret does not verify, nor does another application's", () => {
    expect(verdict(token({ secret: "sk_secret_unknown" }))).toBe("invalid_token");
    expect(verdict(token({ secret: SECRETS.other }))).toBe("invalid_token");
    expect(verdict(token({ header: { kid: OTHER_KEY } }))).toBe("invalid_token");
    expect(verdict(token({ secret: "" }))).toBe("invalid_token");
  });

  test("it is checked before the claims", () => {
    expect(verdict(token({ secret: "sk_secret_unknown", claims: { exp: 1 } }))).toBe("invalid_token");
    expect(verdict(token({ secret: SECRETS.retired, claims: { sub: "" } }))).toBe("token_expired");
  });

  test("a key whose secret cannot be decrypted is an error of the service, not of the token", () => {
    expect(verdict(token({ header: { kid: SEALED_KEY } }))).toBe("internal_error");
  });
});

describe("compared with jose, and with random texts", () => {
  test("jose verifies what we sign, and we verify what jose signs", async () => {
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
      { numRuns: runs(5000) },
    );
  });

  test("no text makes the verification throw", () => {
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
      { numRuns: runs(2000) },
    );
  });
});
