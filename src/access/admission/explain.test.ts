/** Explanations of connects: the same verdict as a real connect, in sentences, without a secret. */
import { describe, expect, test } from "bun:test";
import { Chance } from "../../../test/support/random.ts";
import { anAppId } from "../../base/testing/ids.ts";
import type { Action } from "../../protocol/actions.ts";
import { appRow, keyRow } from "../../store/testing/rows.ts";
import { Keyring } from "../keys/keyring.ts";
import { Vault } from "../keys/vault.ts";
import {
  KEY,
  keyring,
  NOW,
  NOW_S,
  PUBLISHABLE_KEY,
  SEALED_KEY,
  SECRETS,
  type TokenParts,
  token,
} from "../testing/tokens.ts";
import { RoomTokens } from "../tokens/room-token.ts";
import { admit, Refusal } from "./admit.ts";
import { Blocks } from "./blocks.ts";
import { type ExplainedCheck, type Explanation, explain, type Moment } from "./explain.ts";
import { type AdviceParts, namedKey, type Question } from "./explain-advice.ts";

const APP = anAppId("app");

const QUIET: Moment = {
  isDraining: false,
  connectsPerMinute: 600,
  connectionsOf: () => ({ now: 3, max: null }),
  isQuotaUsedUp: () => false,
};

const partsWith = (more: Partial<AdviceParts> = {}): AdviceParts => ({
  keyring,
  blocks: new Blocks(),
  keyRate: { debt: () => 0, charge: () => undefined },
  revoked: undefined,
  ...more,
});

const explained = (question: Question, moment: Partial<Moment> = {}, parts: Partial<AdviceParts> = {}): Explanation =>
  explain(question, partsWith(parts), { ...QUIET, ...moment }, NOW);

/** The check that refuses; there is at most one, and all after it are not reached. */
function refusing({ checks, allowed }: Explanation): ExplainedCheck | undefined {
  const at = checks.findIndex(({ result }) => result === "refuses");
  expect(allowed).toBe(at < 0);
  const after = at < 0 ? [] : checks.slice(at + 1);
  expect(after.every(({ result }) => result === "not reached")).toBe(true);
  const before = checks.slice(0, at < 0 ? undefined : at).filter(({ name }) => name !== "connect rate");
  expect(before.every(({ result }) => result === "passes")).toBe(true);
  return checks[at];
}

const why = (question: Question, moment?: Partial<Moment>, parts?: Partial<AdviceParts>): string => {
  const check = refusing(explained(question, moment, parts));
  return check ? `${check.name}: ${check.why} ${check.hint}` : "allowed";
};

describe("a connect with a key", () => {
  test("lists its checks in the order of the protocol", () => {
    expect(explained({ key: PUBLISHABLE_KEY }).checks.map(({ name, result }) => `${name}: ${result}`)).toEqual([
      "drain: passes",
      "connect rate: not reached",
      "credential: passes",
      "key: passes",
      "origin: passes",
      "capacity: passes",
    ]);
  });

  test("is refused for what is not a publishable key, which is never repeated", () => {
    const secret = "sk_secret_0123456789";
    for (const [key, text] of [
      [secret, "This is the secret of a secret key."],
      [`${KEY}:${secret}`, "This is the secret of a secret key."],
      [KEY, "This is the id of a secret key."],
      ["parley_admin_0123456789", "This is an operator's token"],
      [token(), "This looks like a token"],
      ["<b>0123456789</b>", "No publishable key of this server has this id."],
    ] as const) {
      expect(why({ key })).toContain(`key: ${text}`);
      expect(JSON.stringify(explained({ key }))).not.toContain(key);
    }
  });

  test("says when a key was revoked", () => {
    const id = `pk_live_${"e".repeat(32)}`;
    const revoked = keyRow(id, { type: "publishable", revoked: NOW - 180_000 });
    expect(why({ key: id }, {}, { revoked })).toContain(`key: ${id} was revoked 3 minutes ago.`);
  });

  test("is refused at the credential if both or none are given", () => {
    expect(why({})).toContain("credential: The connect has neither a key nor a token.");
    expect(why({ key: PUBLISHABLE_KEY, token: token() })).toContain(
      "credential: The connect has both a key and a token",
    );
  });

  test("is refused while the node drains, and over the cap of the plan", () => {
    expect(why({ key: PUBLISHABLE_KEY }, { isDraining: true })).toContain("drain: This node is shutting down");
    expect(why({ key: PUBLISHABLE_KEY }, { connectionsOf: () => ({ now: 3, max: 3 }) })).toContain(
      "capacity: The application has 3 connections and its plan allows 3",
    );
  });
});

describe("a connect with a token", () => {
  const cases: readonly [string, TokenParts][] = [
    ["token: The token is refused: the header's alg must be HS256.", { header: { alg: "none" } }],
    ["token key: The token is refused: kid does not name a live secret key.", { header: { kid: "sk_id_x" } }],
    [`token key: kid names ${PUBLISHABLE_KEY}, which is a publishable key.`, { header: { kid: PUBLISHABLE_KEY } }],
    ["signing secret: The token is refused: the key's signing secret cannot", { header: { kid: SEALED_KEY } }],
    ["signature: The token is refused: its signature matches no secret", { secret: "sk_secret_wrong" }],
    ["signature: The token is refused: it was signed with a secret that has since been", { secret: SECRETS.retired }],
    ["payload: The token is refused: exp must be a number", { claims: { exp: "soon" } }],
    ["expiry: The token is refused: its exp passed 3 minutes ago.", { claims: { exp: NOW_S - 180 } }],
    ["claims: The token is refused: sub must be", { claims: { sub: "" } }],
    ['scope: The token is refused: channels: "other" is not covered', { claims: { channels: ["other"] } }],
  ];
  for (const [text, parts] of cases) test(text, () => expect(why({ token: token(parts) })).toContain(text));

  test("never repeats the token or the secret", () => {
    for (const [, parts] of cases) {
      const text = token(parts);
      const answer = JSON.stringify(explained({ token: text }));
      for (const part of text.split(".")) expect(answer).not.toContain(part);
    }
  });

  test("names the peer that is blocked, and for how long", () => {
    const blocks = new Blocks();
    blocks.add({ app: APP, peerId: "alice", untilMs: NOW + 120_000 });
    expect(why({ token: token() }, {}, { blocks })).toContain(
      'block: The peer "alice" is blocked for another 2 minutes.',
    );
  });

  test("says what it found where all is well", () => {
    const remarks = explained({ token: token({ secret: SECRETS.grace }) }).checks.map((check) => check.why);
    expect(remarks).toContain("It is signed with a previous secret, which stays valid for another 10 seconds.");
    expect(remarks).toContain("It expires in 59 minutes.");
    expect(remarks).toContain('sub is "alice".');
  });

  test("names the key of a question only if it has the form of an id", () => {
    expect(namedKey({ token: token() })).toBe(KEY);
    expect(namedKey({ token: token({ header: { kid: "anything" } }) })).toBeUndefined();
    expect(namedKey({ key: "sk_secret_x" })).toBeUndefined();
  });
});

describe("a frame", () => {
  test("needs a name, an action and a channel that token and key allow", () => {
    const narrow = token({ claims: { channels: ["chat/1"], permissions: ["subscribe"] } });
    const of = (text: string, channel: string, action?: Question["action"]): string =>
      why({ token: text, channel, action });
    expect(of(token(), "chat/1", "publish")).toBe("allowed");
    expect(of(token(), "chat/*", "publish")).toContain("channel name: This is not a valid channel name");
    expect(of(token(), "_system/x", "publish")).toContain("reserved name: This name is reserved");
    expect(of(token(), "chat/1", "send")).toContain(`action: The key lacks the action send. Edit ${KEY}`);
    expect(of(narrow, "chat/1", "publish")).toContain("action: The token's permissions lack publish.");
    expect(of(narrow, "chat/2", "subscribe")).toContain('channel: The token\'s channels do not cover "chat/2".');
    expect(of(token(), "other", "subscribe")).toContain('channel: The key\'s patterns do not cover "other".');
    expect(of(token(), "other")).toContain("channel: The key's patterns");
    expect(why({ token: token(), channel: "chat/1", action: "publish" }, { isQuotaUsedUp: () => true })).toContain(
      "message quota: The application has used up its messages",
    );
  });
});

test("the verdict on 3,000 random connects is that of admit", () => {
  const chance = new Chance(14);
  const seen = new Map<string, number>();
  const blocks = new Blocks();
  blocks.add({ app: APP, peerId: "eve", untilMs: NOW + 60_000 });
  const parts = partsWith({ blocks });
  const maybe = <T>(values: readonly T[]): T | undefined => (chance.once(3) ? undefined : chance.pick(values));
  for (let i = 0; i < 3000; i++) {
    const made = token({
      header: { kid: chance.pick([KEY, KEY, KEY, KEY, SEALED_KEY, "nothing"]) },
      secret: chance.pick([SECRETS.current, SECRETS.current, SECRETS.grace, SECRETS.retired, "wrong"]),
      claims: {
        sub: chance.pick(["alice", "alice", "eve", "", 7]),
        exp: NOW_S + chance.pick([3600, 3600, 3600, -5, 200_000]),
        channels: maybe([["chat/1"], ["chat/*"], ["**"], "chat"]),
        permissions: maybe([["publish"], ["send"], []]),
      },
    });
    const question: Question = chance.once(3)
      ? { key: chance.pick([PUBLISHABLE_KEY, KEY, "x"]), origin: maybe(["https://a.example", "null"]) }
      : { token: chance.once(20) ? made.slice(1) : made, ...(chance.once(20) && { key: PUBLISHABLE_KEY }) };
    const query = new URLSearchParams(
      Object.entries(question).filter(([name]) => name !== "origin") as [string, string][],
    );
    const admitted = admit({ query: `${query}`, origin: question.origin ?? null }, parts, NOW);
    const explanation = explain(question, parts, QUIET, NOW);
    const expected = admitted instanceof Refusal ? admitted.check : "none";
    expect(refusing(explanation)?.name ?? "none").toBe(expected);
    seen.set(expected, (seen.get(expected) ?? 0) + 1);
  }
  // Every check that can refuse here did.
  const checks = ["none", "credential", "key", "token", "token key", "signing secret", "signature", "expiry", "claims"];
  for (const check of [...checks, "scope", "block"] as const) expect(seen.get(check)).toBeGreaterThan(3);
});

test("a query of very many parameters is refused before they are read", () => {
  const admitted = (more: string) => admit({ query: `key=${PUBLISHABLE_KEY}${more}`, origin: null }, partsWith(), NOW);
  expect(admitted("&a".repeat(60))).not.toBeInstanceOf(Refusal);
  expect(admitted("&a".repeat(60_000))).toMatchObject({ code: "unauthorized", check: "credential" });
});

describe("a token of a room", () => {
  const roomTokens = new RoomTokens(new Vault(Buffer.alloc(32, 7)));
  const claims = {
    kind: "stay",
    id: "p1",
    app: APP,
    room: "r1",
    name: "Ann",
    isAdmin: false,
    isGuest: true,
  } as const;
  const withApp = new Keyring(new Vault(Buffer.alloc(32, 7)));
  withApp.load({ revision: 1, apps: [appRow("app", {})], keys: [], secrets: [] });
  const parts = { roomTokens, keyring: withApp };
  const live = roomTokens.sign({ ...claims, exp: NOW_S + 60 });

  test("is explained like others: what it covers, and why it is refused", () => {
    const inside = (channel: string, action: Action): string => why({ token: live, channel, action }, {}, parts);
    expect(inside("_parley/room/r1/room", "subscribe")).toBe("allowed");
    expect(inside("_parley/room/r1/room", "publish")).toContain("does not permit this on");
    expect(inside("_parley/room/r2/room", "subscribe")).toContain("covers the channels of its room");
    expect(why({ token: live, action: "send" }, {}, parts)).toContain("action:");
    expect(why({ token: roomTokens.sign({ ...claims, exp: NOW_S }) }, {}, parts)).toContain(
      "expiry: The token is refused: it has expired",
    );
    expect(why({ token: `${live}x` }, {}, parts)).toContain("signature: The token is refused");
    expect(why({ token: roomTokens.sign({ ...claims, app: anAppId("gone"), exp: NOW_S + 60 }) }, {}, parts)).toContain(
      "token key:",
    );
    expect(why({ token: live })).toContain("signature:");
    expect(why({ key: live }, {}, parts)).toContain("key:");
  });
});
