import { expect, test } from "bun:test";
import type { KeyGrant } from "../../access/admission/admit.ts";
import type { SecretKey } from "../../access/keys/keyring.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { bitOf } from "../../protocol/actions.ts";
import { parseGlob } from "../../protocol/patterns/glob.ts";
import { Scope } from "../../protocol/patterns/scope.ts";
import { Terms } from "./terms.ts";

const A = anAppId("a");

const scopeOf = (...patterns: string[]): Scope =>
  new Scope(patterns.map(parseGlob).filter((glob) => typeof glob !== "string"));

const keyOf = (ends: number | null = null): SecretKey => ({
  type: "secret",
  id: "k",
  app: A,
  scope: scopeOf("**"),
  actions: bitOf("subscribe"),
  turn: false,
  secrets: [{ seq: 1, ends }] as unknown as SecretKey["secrets"],
});

const grantOf = (key: SecretKey, claims: Partial<KeyGrant> = {}): KeyGrant => ({
  spaceId: A,
  key,
  peerId: "ann",
  tokenScope: undefined,
  tokenActions: undefined,
  secretSeq: 1,
  secretEndsMs: null,
  expiresAtMs: null,
  peerMetadataJson: undefined,
  metadataJson: undefined,
  extraConnects: 0,
  seat: undefined,
  ...claims,
});

test("connections with the same claims under one key share their terms", () => {
  const key = keyOf();
  const terms = Terms.of(grantOf(key, { tokenScope: scopeOf("chat/*", "x") }));
  expect(Terms.of(grantOf(key, { tokenScope: scopeOf("chat/*", "x"), peerId: "ben" }))).toBe(terms);
});

test("connections with other claims have their own terms", () => {
  const key = keyOf();
  const scope = scopeOf("chat/*");
  const others: Partial<KeyGrant>[] = [
    { tokenScope: scopeOf("chat/*", "x") },
    { tokenScope: scopeOf("chat/**") },
    { tokenScope: undefined },
    { tokenScope: scope, tokenActions: 0 },
    { tokenScope: scope, secretSeq: 2 },
    { tokenScope: scope, secretEndsMs: 5 },
  ];
  for (const claims of others) {
    const terms = Terms.of(grantOf(key, { tokenScope: scope }));
    const own = Terms.of(grantOf(key, claims));
    expect(own).not.toBe(terms);
    expect([own.tokenScope, own.secretSeq, own.secretEndsMs]).toEqual([
      claims.tokenScope,
      claims.secretSeq ?? 1,
      claims.secretEndsMs ?? null,
    ]);
  }
});

test("an edited key gives other terms, which are shared as well", () => {
  const [before, after] = [keyOf(), keyOf(7)];
  const terms = Terms.of(grantOf(before)).under(after);
  expect([terms.keyScope, terms.secretEndsMs]).toEqual([after.scope, 7]);
  expect(Terms.of(grantOf(before)).under(after)).toBe(terms);
});
