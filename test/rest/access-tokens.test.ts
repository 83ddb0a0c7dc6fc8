/** Access tokens: the section of rooms.md, line by line. Every response is also checked against /openapi.json. */
import { beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { Application, type AppRefusal, expectAppRefusal, newApplication } from "../support/application.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import type { Answer, Json } from "../support/http.ts";
import { encodePart, forge, headerOf, nowSeconds, payloadOf, signature } from "../support/jwt.ts";
import { startParley } from "../support/parley.ts";

setDefaultTimeout(60_000);

let app: Application;
const server = await checkedServerForTests();
beforeEach(async () => {
  app = await newApplication(server);
});

const mint = async (body: Json = {}): Promise<string> =>
  (await app.must<{ token: string }>("POST", "/token", body)).token;

/** Without the secret key: this call needs no credential. */
const ask = (token: unknown, more: Json = {}, of = app): Promise<Answer<Json & AppRefusal>> => {
  const guest = new Application(of.url, of.name, "");
  guest.contract = of.contract;
  return guest.call("POST", "/token/validate", { token, ...more }, { headers: { Authorization: "" } });
};

async function good(token: string, more: Json = {}): Promise<Json> {
  const answer: Answer = await ask(token, more);
  const { status, body } = answer;
  expect({ status, body }).toEqual({ status: 200, body: { success: true, data: expect.any(Object), valid: true } });
  return body.data as Json;
}

const bad = async (token: unknown, more: Json = {}): Promise<string> =>
  expectAppRefusal(await ask(token, more), 400, "invalid_access_token").message;

const room = (roomName: string, fields: Json = {}): Promise<Json> => app.must("POST", "/room", { roomName, ...fields });

/** A field of the token request, so that the refusal names it. */
const refused = async (body: Json): Promise<unknown> =>
  expectAppRefusal(await app.call("POST", "/token", body), 400, "invalid_request").error.details?.map(
    (one) => one.field,
  );

/** Resolves shortly after the whole second `unixSeconds`. */
const until = (unixSeconds: number): Promise<void> => Bun.sleep(Math.max(0, unixSeconds * 1000 - Date.now()) + 20);

const EVERYTHING = {
  roomName: "one",
  globalToken: false,
  isAdmin: true,
  name: "Zoë \u{1f600}",
  email: "zoe@example.com",
  externalUserId: "42",
  meta: '{"a":"ü"}',
  expireUnixSec: nowSeconds() + 600,
  notBeforeUnixSec: nowSeconds() - 5,
  ejectAfterElapsedTimeInSec: 60,
  joinVideoOn: false,
  joinAudioOn: true,
  disableVideo: true,
  disableAudio: false,
  disableScreenSharing: true,
};

describe("POST /token", () => {
  test("returns {token}: HS256, payload {data:{…body, appName}, iat, exp?, nbf?}", async () => {
    const { _id } = await room("one");
    const answer = await app.must("POST", "/token", EVERYTHING);
    expect(Object.keys(answer)).toEqual(["token"]);
    const token = String(answer.token);
    expect(headerOf(token)).toEqual({ alg: "HS256", typ: "JWT" });
    expect(payloadOf(token)).toEqual({
      data: { ...EVERYTHING, appName: app.name },
      iat: expect.any(Number),
      exp: EVERYTHING.expireUnixSec,
      nbf: EVERYTHING.notBeforeUnixSec,
      room: _id,
      gen: 1,
    });
    expect(Number(payloadOf(token).iat)).toBeWithin(nowSeconds() - 5, nowSeconds() + 2);
    expect(await good(token)).toEqual({ ...EVERYTHING, appName: app.name });
  });

  test("all fields are optional; exp and nbf are present only if they were requested", async () => {
    const payload = payloadOf(await mint());
    const bare = { data: { appName: app.name }, iat: expect.any(Number), gen: 1 };
    expect(payload).toEqual(bare);
    expect(payloadOf(await mint({ expireUnixSec: 0, notBeforeUnixSec: null }))).toEqual(bare);
    const nulls = { roomName: null, roomURL: null, isAdmin: null, globalToken: null, name: null, meta: null };
    expect(payloadOf(await mint(nulls))).toEqual(bare);
  });

  test("a number as roomName is read as its text", async () => {
    await room("7");
    expect(await good(await mint({ roomName: 7 }))).toEqual({ roomName: "7", appName: app.name });
  });

  test("needs the secret key", async () => {
    const stranger = new Application(app.url, app.name, "x".repeat(48));
    expectAppRefusal(await stranger.call("POST", "/token", {}), 400, "invalid_secret_key");
  });

  test("a named room must exist, in this application, and not be archived", async () => {
    const other = await newApplication(server);
    await other.must("POST", "/room", { roomName: "theirs" });
    await room("gone");
    await app.must("DELETE", "/room/gone");
    for (const roomName of ["none", "theirs", "gone"])
      expectAppRefusal(await app.call("POST", "/token", { roomName }), 404, "room_not_found");
  });

  test("tokens are signed with a separate secret per application, not with the secretKey", async () => {
    const other = await newApplication(server);
    const token = await mint();
    const [head, payload, mac] = token.split(".");
    for (const key of [app.secretKey, other.secretKey, server.adminToken, ""])
      expect(signature(`${head}.${payload}`, key)).not.toBe(String(mac));
    await other.must("POST", "/token", {});
    expectAppRefusal(await ask(token, {}, other), 400, "invalid_access_token");
  });

  test("fractions of a second are cut off", async () => {
    const soon = nowSeconds() + 600;
    const payload = payloadOf(await mint({ expireUnixSec: soon + 0.75, notBeforeUnixSec: soon - 60.25 }));
    expect(payload).toMatchObject({ exp: soon, nbf: soon - 61 });
    expect(payload.data).toMatchObject({ expireUnixSec: soon, notBeforeUnixSec: soon - 61 });
  });

  test.each(["https://demo.example.com/one", "demo.example.com/one/", "http://x/a/b/one?lang=de#t", "one"])(
    "roomURL counts as roomName by its last segment: %s",
    async (roomURL) => {
      await room("one", { privacy: "private" });
      await room("two", { privacy: "private" });
      const token = await mint({ roomURL });
      expect(await good(token, { roomName: "one" })).toEqual({ roomURL, roomName: "one", appName: app.name });
      await bad(token, { roomName: "two" });
      expect(await good(await mint({ roomURL, roomName: "two" }), { roomName: "two" })).toMatchObject({
        roomName: "two",
      });
    },
  );

  test("a token for an admin of every room has to name globalToken", async () => {
    await room("one");
    expect(await refused({ isAdmin: true })).toEqual(["isAdmin"]);
    expect(await refused({ isAdmin: true, globalToken: false })).toEqual(["isAdmin"]);
    const { message } = (await app.call("POST", "/token", { isAdmin: true })).body;
    expect(message).toContain("globalToken: true");
    await good(await mint({ isAdmin: true, globalToken: true }));
    await good(await mint({ isAdmin: true, roomName: "one" }));
    await good(await mint({ isAdmin: false }));
  });

  test("every minted token can be validated: none is longer than that call accepts", async () => {
    const longest = "\u4e00".repeat(256);
    const texts = { name: longest, email: longest, externalUserId: longest };
    await good(await mint({ ...texts, meta: "\u4e00".repeat(1000) }));
    expect(await refused({ ...texts, meta: "\u0001".repeat(1000) })).toEqual(["meta"]);
  });

  test("meta has at most 1,000 characters", async () => {
    expect((await good(await mint({ meta: "x".repeat(1000) }))).meta).toHaveLength(1000);
    expect(await refused({ meta: "x".repeat(1001) })).toEqual(["meta"]);
  });

  const wrong: [string, unknown[]][] = [
    ["roomName", ["", "a b", "../x", true, {}, "x".repeat(129)]],
    ["roomURL", ["", "/", "https://x/a b", "https://x/?room", 1, true, {}, `https://x/${"y".repeat(2048)}`]],
    ...[
      "globalToken",
      "isAdmin",
      "joinVideoOn",
      "joinAudioOn",
      "disableVideo",
      "disableAudio",
      "disableScreenSharing",
    ].map((name): [string, unknown[]] => [name, [0, 1, "true", {}, []]]),
    ...["name", "email", "externalUserId"].map((name): [string, unknown[]] => [
      name,
      [1, true, {}, [], "a\u0000", "\ud800", "x".repeat(257), "x".repeat(120_000)],
    ]),
    ["meta", [1, { a: 1 }, [], "\udc00"]],
    ...["expireUnixSec", "notBeforeUnixSec"].map((name): [string, unknown[]] => [
      name,
      [-1, "1", true, Date.now(), 1e300, {}],
    ]),
    ["ejectAfterElapsedTimeInSec", [-1, 1.5, "1", 31_536_001, {}]],
  ];
  for (const [field, values] of wrong)
    test(`${field} of the wrong type or value is refused and named`, async () => {
      for (const value of values) expect(await refused({ [field]: value })).toEqual([field]);
      const megabyte = await app.call("POST", "/token", { [field]: "x".repeat(1_000_000) });
      expectAppRefusal(megabyte, 413, "body_too_large");
    });

  test("a token that could never be valid is refused: already expired, or expired before it begins", async () => {
    const now = nowSeconds();
    expect(await refused({ expireUnixSec: now - 1 })).toEqual(["expireUnixSec"]);
    expect(await refused({ expireUnixSec: now + 100, notBeforeUnixSec: now + 100 })).toEqual(["expireUnixSec"]);
    await room("over", { expireUnixSec: now - 1 });
    expect(await refused({ roomName: "over" })).toEqual(["expireUnixSec"]);
    await room("later", { notBeforeUnixSec: now + 500 });
    expect(await refused({ roomName: "later", expireUnixSec: now + 400 })).toEqual(["expireUnixSec"]);
  });
});

describe("POST /token/validate", () => {
  test("needs no secretKey; responds 200 {success:true, data:{…}, valid:true}, or 400", async () => {
    expect(await good(await mint({ name: "Ann" }))).toEqual({ name: "Ann", appName: app.name });
    expect(await bad("x.y.z")).toBe("The access token is not valid.");
  });

  test("a token changed in any character is invalid", async () => {
    const token = await mint({ name: "Ann" });
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === "A" ? "B" : "A";
      await bad(token.slice(0, at) + other + token.slice(at + 1));
    }
  });

  test("forged, truncated, padded, unsigned tokens and other kinds are invalid", async () => {
    const token = await mint();
    const [head = "", payload = "", mac = ""] = token.split(".");
    const none = encodePart({ alg: "none", typ: "JWT" });
    const publishable = await server.admin.createKey(app.name);
    for (const wrong of [
      "",
      ".",
      "..",
      `${head}.${payload}`,
      `${head}.${payload}.`,
      `${none}.${payload}.`,
      `${none}.${payload}.${mac}`,
      `${token}=`,
      `${token}.`,
      ` ${token}`,
      "x".repeat(8000),
      forge({ alg: "HS256", typ: "JWT" }, { data: { appName: app.name } }, app.secretKey),
      forge({ alg: "HS256", typ: "JWT" }, { data: { appName: app.name } }, ""),
      forge({ alg: "HS256", kid: publishable.keyId, typ: "JWT" }, { data: {} }, publishable.secret),
    ])
      await bad(wrong);
  });

  test("an application without tokens and one that does not exist get the same response", async () => {
    const token = await mint();
    const fresh = await newApplication(server);
    const missing = new Application(app.url, "no-such-app", "");
    const answers = [await ask(token, {}, fresh), await ask(token, {}, missing)];
    const [one, two] = answers.map((answer) => expectAppRefusal(answer, 400, "invalid_access_token").message);
    expect(one).toBe(String(two));
  });

  test.each([undefined, null, 1, true, {}])("%p is refused as a token, and the field is named", async (token) => {
    const { error } = expectAppRefusal(await ask(token), 400, "invalid_request");
    expect(error.details?.map(({ field }) => field)).toEqual(["token"]);
  });

  test("a token is invalid after its expireUnixSec and before its notBeforeUnixSec", async () => {
    const soon = nowSeconds() + 2;
    const [ends, begins] = [await mint({ expireUnixSec: soon }), await mint({ notBeforeUnixSec: soon })];
    await good(ends);
    expect(await bad(begins)).toBe("The access token is not open yet.");
    await until(soon);
    expect(await bad(ends)).toBe("The access token has expired.");
    await good(begins);
  });

  test("a body over 8 KiB is refused before it is read", async () => {
    expectAppRefusal(await ask("x".repeat(8192)), 413, "body_too_large");
    const form = `token=x&${"a=1&".repeat(30_000)}`;
    const headers = { Authorization: "", "Content-Type": "application/x-www-form-urlencoded" };
    const guest = new Application(app.url, app.name, "");
    expectAppRefusal(await guest.call("POST", "/token/validate", form, { headers }), 413, "body_too_large");
  });

  test("a token is invalid for another room that later takes its room's name", async () => {
    await room("one", { privacy: "private" });
    const token = await mint({ roomName: "one", isAdmin: true });
    await app.must("DELETE", "/room/one");
    await room("one", { privacy: "private" });
    expect(await bad(token)).toBe("The room of the access token is not there any more.");
    await bad(token, { roomName: "one" });
  });

  test("a token stays valid for its renamed room, and not for the room that takes the old name", async () => {
    await room("one", { privacy: "private" });
    const token = await mint({ roomName: "one" });
    await app.must("PUT", "/room/one", { roomName: "two" });
    await room("one", { privacy: "private" });
    await good(token, { roomName: "two" });
    expect(await bad(token, { roomName: "one" })).toBe("The access token is for another room.");
  });

  test("a token is invalid when its room is archived, has ended, or is not open yet", async () => {
    const now = nowSeconds();
    await room("one");
    const token = await mint({ roomName: "one" });
    await good(token);
    await app.must("PUT", "/room/one", { notBeforeUnixSec: now + 600 });
    expect(await bad(token)).toBe("The room is not open yet.");
    await app.must("PUT", "/room/one", { notBeforeUnixSec: 0, expireUnixSec: now - 1 });
    expect(await bad(token)).toBe("The room has expired.");
    await app.must("PUT", "/room/one", { expireUnixSec: null });
    await good(token);
    await app.must("DELETE", "/room/one");
    await bad(token);
  });

  test("a token's values take precedence over the room's", async () => {
    const now = nowSeconds();
    await room("one", { notBeforeUnixSec: now + 600, expireUnixSec: now + 700 });
    await good(await mint({ roomName: "one", notBeforeUnixSec: now - 5 }));
    await app.must("PUT", "/room/one", { notBeforeUnixSec: 0, expireUnixSec: now - 1 });
    await good(await mint({ roomName: "one", expireUnixSec: now + 100 }));
  });

  test("a token survives a restart; under another master key it is invalid, because its secret is derived from it", async () => {
    const own = await startParley();
    const demo = new Application(own.url, "demo", own.keys.appSecret);
    const { token } = await demo.must<{ token: string }>("POST", "/token", { name: "Ann" });
    await own.kill();
    const restarted = await startParley({ data: own.data });
    const { status, body } = await ask(token, {}, new Application(restarted.url, "demo", ""));
    expect([status, body.data as unknown]).toEqual([200, { name: "Ann", appName: "demo" }]);
    await restarted.stop();
    const foreign = Buffer.alloc(32, 7).toString("base64");
    const sealed = await startParley({ data: own.data, env: { PARLEY_MASTER_KEY: foreign } });
    const locked = new Application(sealed.url, "demo", demo.secretKey);
    expectAppRefusal(await ask(token, {}, locked), 400, "invalid_access_token");
    await sealed.stop();
    await own.stop();
  });
});

describe("which room a token opens (privacy)", () => {
  test("a token without roomName and globalToken is global, like one with globalToken", async () => {
    await room("one", { privacy: "private" });
    for (const body of [{}, { globalToken: true }, { globalToken: true, roomName: "one" }, { globalToken: false }]) {
      const token = await mint(body);
      await room("later", { privacy: "private" });
      for (const roomName of ["one", "later"]) await good(token, { roomName });
      await app.must("DELETE", "/room/later");
    }
  });

  test("a private room needs a token for this room or a global one; a public room needs none", async () => {
    await room("mine", { privacy: "private" });
    await room("other", { privacy: "private" });
    await room("open");
    const token = await mint({ roomName: "mine" });
    await good(token, { roomName: "mine" });
    await good(token, { roomName: "open" });
    expect(await bad(token, { roomName: "other" })).toBe("The access token is for another room.");
    await app.must("PUT", "/room/other", { privacy: "public" });
    await good(token, { roomName: "other" });
  });

  test("the requested room must exist and be open; the token's times take precedence in its own room only", async () => {
    const now = nowSeconds();
    await room("mine", { privacy: "private", expireUnixSec: now + 600 });
    await room("over", { expireUnixSec: now - 1 });
    const token = await mint({ roomName: "mine", expireUnixSec: now + 100 });
    expect(await bad(token, { roomName: "over" })).toBe("The room has expired.");
    expect(await bad(token, { roomName: "none" })).toBe("There is no room of this name.");
    await app.must("PUT", "/room/mine", { expireUnixSec: now - 1 });
    await good(token, { roomName: "mine" });
    await good(await mint({ expireUnixSec: now + 100 }), { roomName: "over" });
  });
});
