/** POST /token: the section of rooms.md, line by line. Every response is also checked against /openapi.json. */
import { beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { expectInvalid, expectValid, mintAccessToken, validate } from "../support/access-tokens.ts";
import { Application, expectAppRefusal, newApplication } from "../support/application.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import type { Json } from "../support/http.ts";
import { headerOf, nowSeconds, payloadOf, signature } from "../support/jwt.ts";

setDefaultTimeout(60_000);

const server = await checkedServerForTests();
let app: Application;
beforeEach(async () => {
  app = await newApplication(server);
});

const room = (roomName: string, fields: Json = {}): Promise<Json> => app.must("POST", "/room", { roomName, ...fields });

/** A field of the token request, so that the refusal names it. */
const refused = async (body: Json): Promise<unknown> =>
  expectAppRefusal(await app.call("POST", "/token", body), 400, "invalid_request").error.details?.map(
    (one) => one.field,
  );

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
  test("returns {token}: HS256, payload {data:{…body, appName}, iat, jti, exp?, nbf?}", async () => {
    const { _id } = await room("one");
    const answer = await app.must("POST", "/token", EVERYTHING);
    expect(Object.keys(answer)).toEqual(["token"]);
    const token = String(answer.token);
    expect(headerOf(token)).toEqual({ alg: "HS256", typ: "JWT" });
    expect(payloadOf(token)).toEqual({
      data: { ...EVERYTHING, appName: app.name },
      iat: expect.any(Number),
      jti: expect.any(String),
      exp: EVERYTHING.expireUnixSec,
      nbf: EVERYTHING.notBeforeUnixSec,
      room: _id,
      gen: 1,
    });
    expect(Number(payloadOf(token).iat)).toBeWithin(nowSeconds() - 60, nowSeconds() + 2);
    expect(await expectValid(app, token)).toEqual({ ...EVERYTHING, appName: app.name });
  });

  test("all fields are optional; exp and nbf are present only if they were requested", async () => {
    const payload = payloadOf(await mintAccessToken(app));
    const bare = { data: { appName: app.name }, iat: expect.any(Number), jti: expect.any(String), gen: 1 };
    expect(payload).toEqual(bare);
    expect(payloadOf(await mintAccessToken(app, { expireUnixSec: 0, notBeforeUnixSec: null }))).toEqual(bare);
    const nulls = { roomName: null, roomURL: null, isAdmin: null, globalToken: null, name: null, meta: null };
    expect(payloadOf(await mintAccessToken(app, nulls))).toEqual(bare);
  });

  test("a number as roomName is read as its text", async () => {
    await room("7");
    expect(await expectValid(app, await mintAccessToken(app, { roomName: 7 }))).toEqual({
      roomName: "7",
      appName: app.name,
    });
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
    const token = await mintAccessToken(app);
    const [head, payload, mac] = token.split(".");
    for (const key of [app.secretKey, other.secretKey, server.adminToken, ""])
      expect(signature(`${head}.${payload}`, key)).not.toBe(String(mac));
    await other.must("POST", "/token", {});
    expectAppRefusal(await validate(other, token, {}), 400, "invalid_access_token");
  });

  test("fractions of a second are cut off", async () => {
    const soon = nowSeconds() + 600;
    const payload = payloadOf(
      await mintAccessToken(app, { expireUnixSec: soon + 0.75, notBeforeUnixSec: soon - 60.25 }),
    );
    expect(payload).toMatchObject({ exp: soon, nbf: soon - 61 });
    expect(payload.data).toMatchObject({ expireUnixSec: soon, notBeforeUnixSec: soon - 61 });
  });

  test.each(["https://demo.example.com/one", "demo.example.com/one/", "http://x/a/b/one?lang=de#t", "one"])(
    "the last segment of roomURL is read as roomName: %s",
    async (roomURL) => {
      await room("one", { privacy: "private" });
      await room("two", { privacy: "private" });
      const token = await mintAccessToken(app, { roomURL });
      expect(await expectValid(app, token, { roomName: "one" })).toEqual({
        roomURL,
        roomName: "one",
        appName: app.name,
      });
      await expectInvalid(app, token, { roomName: "two" });
      expect(
        await expectValid(app, await mintAccessToken(app, { roomURL, roomName: "two" }), { roomName: "two" }),
      ).toMatchObject({
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
    await expectValid(app, await mintAccessToken(app, { isAdmin: true, globalToken: true }));
    await expectValid(app, await mintAccessToken(app, { isAdmin: true, roomName: "one" }));
    await expectValid(app, await mintAccessToken(app, { isAdmin: false }));
  });

  test("every minted token can be validated: none is longer than that call accepts", async () => {
    const longest = "\u4e00".repeat(256);
    const texts = { name: longest, email: longest, externalUserId: longest };
    await expectValid(app, await mintAccessToken(app, { ...texts, meta: "\u4e00".repeat(1000) }));
    expect(await refused({ ...texts, meta: "\u0001".repeat(1000) })).toEqual(["meta"]);
  });

  test("meta has at most 1,000 characters", async () => {
    expect((await expectValid(app, await mintAccessToken(app, { meta: "x".repeat(1000) }))).meta).toHaveLength(1000);
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
