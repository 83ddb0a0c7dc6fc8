import { expect, test } from "bun:test";
import { Vault } from "../../access/keys/vault.ts";
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { appRow } from "../../store/testing/rows.ts";
import { TurnKeys } from "./keys.ts";
import { credentialOf, Turn, turnName } from "./turn.ts";

const APP = anAppId("app");
const APP1 = anAppId("app1");

const NOW_MS = 1_800_000_000_000;
const SECRET = "north-of-the-river";
const RELAYS = ["turn:turn.example.com:3478?transport=udp", "turns:turn.example.com:443"];

test("a credential is base64 of the HMAC-SHA1 of the username under the secret", () => {
  // printf '%s' USERNAME | openssl dgst -sha1 -hmac SECRET -binary | base64
  expect(credentialOf(SECRET, "alice", 1_800_086_400)).toEqual({
    username: "1800086400:alice",
    credential: "q95LNjILr0e6jsX4ou/5FXSG8QM=",
  });
  expect(credentialOf("Jefe", "x", 1).credential).toBe("T5sswUgKC3mNZHkw4lKP+SEkUVs=");
});

test("the first of two secrets signs", () => {
  const turn = new Turn({ urls: RELAYS, secrets: ["the-new-secret-of-1", SECRET] });
  expect(turn.credential("alice", 5)).toEqual(credentialOf("the-new-secret-of-1", "alice", 5));
});

test("STUN servers come without a credential, TURN servers with one that is good for a day", () => {
  const turn = new Turn({ urls: ["turn:a.example", "stun:a.example", "turns:a.example"], secrets: [SECRET] });
  const [stun, relay] = turn.iceServersFor(APP, "alice", NOW_MS);
  expect(stun).toEqual({ urls: ["stun:a.example"] });
  expect(relay).toEqual({
    urls: ["turn:a.example", "turns:a.example"],
    ...credentialOf(SECRET, turnName(APP, "alice"), NOW_MS / 1000 + 86_400),
  });
});

test("without settings there are no servers, and STUN servers alone are no TURN", () => {
  const none = new Turn({ urls: [], secrets: [] });
  expect([none.hasRelays, none.iceServersFor(APP, "alice", NOW_MS)]).toEqual([false, []]);
  const stun = new Turn({ urls: ["stun:a.example"], secrets: [] });
  expect([stun.hasRelays, stun.iceServersFor(APP, "alice", NOW_MS)]).toEqual([false, [{ urls: ["stun:a.example"] }]]);
});

test("the name in a username is that of one peer, and does not show its id", () => {
  expect(turnName(APP, "alice@example.com")).toMatch(/^app\.[0-9a-f]{16}$/);
  expect(turnName(APP, "alice")).toBe(turnName(APP, "alice"));
  expect(turnName(APP, "alice")).not.toBe(turnName(APP, "bob"));
});

test("people in rooms are counted by their user, their access token, or else their address, however often they join", () => {
  const turn = new Turn({ urls: ["turn:a.example"], secrets: [SECRET] });
  const exp = NOW_MS / 1000 + 600;
  const claims: RoomClaims = {
    kind: "stay",
    id: "1",
    app: APP,
    room: "r",
    name: "A",
    isAdmin: false,
    isGuest: true,
    exp,
  };
  const ofJoin = (more: Partial<RoomClaims>, address = "x") =>
    turn.iceServersOfJoin({ ...claims, ...more }, address, NOW_MS)[0]?.username ?? "";
  const ofStay = (more: Partial<RoomClaims>, address = "x") =>
    turn.iceServersOfStay({ ...claims, ...more }, address)[0]?.username ?? "";
  expect(ofJoin({})).toBe(`${NOW_MS / 1000 + 120}:${turnName(APP, "guest x")}`);
  expect(ofStay({})).toBe(`${exp}:${turnName(APP, "guest x")}`);
  expect(ofStay({ id: "2" })).toBe(ofStay({}));
  expect(ofStay({}, "y")).not.toBe(ofStay({}));
  expect(ofStay({ accessToken: "t" }, "y")).toBe(ofStay({ accessToken: "t", id: "2" }));
  expect(ofStay({ accessToken: "u", externalUserId: "ann" })).toBe(ofStay({ accessToken: "t", externalUserId: "ann" }));
  expect(new Set([ofStay({}), ofStay({ accessToken: "x" }), ofStay({ externalUserId: "x" })]).size).toBe(3);
});

const keys = new TurnKeys(new Vault(Buffer.alloc(32, 7)));
const app = appRow("app1");
const made = (fields: { exp?: number; gen?: number } = {}): string =>
  keys.create({ app: app.id, label: "web", gen: 1, ...fields }).apiKey;

test("an API key is good for its application until its time, or its generation of the secret key, is over", () => {
  expect(keys.verify(app, made(), NOW_MS)).toMatchObject({ app: APP1, label: "web", gen: 1 });
  expect(keys.verify(appRow("app2"), made(), NOW_MS)).toBeUndefined();
  expect(keys.verify(undefined, made(), NOW_MS)).toBeUndefined();
  const ending = made({ exp: NOW_MS / 1000 });
  expect([keys.verify(app, ending, NOW_MS - 1), keys.verify(app, ending, NOW_MS)]).toEqual([
    expect.objectContaining({ exp: NOW_MS / 1000 }),
    undefined,
  ]);
  const rotated = { ...app, secretSeq: 2, previousSecrets: [{ seq: 1, digest: "digest", ends: NOW_MS + 10 }] };
  expect(keys.verify(rotated, made(), NOW_MS)).toBeDefined();
  expect(keys.verify(rotated, made(), NOW_MS + 10)).toBeUndefined();
  expect(keys.verify(rotated, made({ gen: 2 }), NOW_MS + 10)).toBeDefined();
});

test("an API key that was changed, cut or made elsewhere is none", () => {
  const key = made();
  const other = new TurnKeys(new Vault(Buffer.alloc(32, 8))).create({ app: APP1, label: "web", gen: 1 }).apiKey;
  const [head, , signature] = key.split(".");
  const forged = `${head}.${Buffer.from('{"app":"app1","gen":1,"id":"x","label":""}').toString("base64url")}.${signature}`;
  for (const wrong of ["", "tk_", key.slice(0, -1), key.slice(3), other, forged, `tk_${"a".repeat(5000)}`])
    expect(keys.verify(app, wrong, NOW_MS)).toBeUndefined();
});
