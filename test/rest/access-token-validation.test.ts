/** POST /token/validate: the section of rooms.md, line by line. Every response is also checked against /openapi.json. */
import { beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { expectInvalid, expectValid, mintAccessToken, validate } from "../support/access-tokens.ts";
import { Application, expectAppRefusal, newApplication } from "../support/application.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import type { Json } from "../support/http.ts";
import { encodePart, forge, nowSeconds } from "../support/jwt.ts";
import { startParley } from "../support/parley.ts";

setDefaultTimeout(60_000);

const server = await checkedServerForTests();
let app: Application;
beforeEach(async () => {
  app = await newApplication(server);
});

const room = (roomName: string, fields: Json = {}): Promise<Json> => app.must("POST", "/room", { roomName, ...fields });

/** Resolves shortly after the whole second `unixSeconds`. */
const until = (unixSeconds: number): Promise<void> => Bun.sleep(Math.max(0, unixSeconds * 1000 - Date.now()) + 20);

describe("POST /token/validate", () => {
  test("needs no secretKey; responds 200 {success:true, data:{…}, valid:true}, or 400", async () => {
    expect(await expectValid(app, await mintAccessToken(app, { name: "Ann" }))).toEqual({
      name: "Ann",
      appName: app.name,
    });
    expect(await expectInvalid(app, "x.y.z")).toBe("The access token is not valid.");
  });

  test("a token changed in any character is invalid", async () => {
    const token = await mintAccessToken(app, { name: "Ann" });
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === "A" ? "B" : "A";
      await expectInvalid(app, token.slice(0, at) + other + token.slice(at + 1));
    }
  });

  test("forged, truncated, padded, unsigned tokens and other kinds are invalid", async () => {
    const token = await mintAccessToken(app);
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
      await expectInvalid(app, wrong);
  });

  test("an application without tokens and one that does not exist get the same response", async () => {
    const token = await mintAccessToken(app);
    const fresh = await newApplication(server);
    const missing = new Application(app.url, "no-such-app", "");
    const answers = [await validate(fresh, token, {}), await validate(missing, token, {})];
    const [one, two] = answers.map((answer) => expectAppRefusal(answer, 400, "invalid_access_token").message);
    expect(one).toBe(String(two));
  });

  test.each([undefined, null, 1, true, {}])("%p is refused as a token, and the field is named", async (token) => {
    const { error } = expectAppRefusal(await validate(app, token), 400, "invalid_request");
    expect(error.details?.map(({ field }) => field)).toEqual(["token"]);
  });

  test("a token is invalid after its expireUnixSec and before its notBeforeUnixSec", async () => {
    const soon = nowSeconds() + 2;
    const [ends, begins] = [
      await mintAccessToken(app, { expireUnixSec: soon }),
      await mintAccessToken(app, { notBeforeUnixSec: soon }),
    ];
    await expectValid(app, ends);
    expect(await expectInvalid(app, begins)).toBe("The access token is not open yet.");
    await until(soon);
    expect(await expectInvalid(app, ends)).toBe("The access token has expired.");
    await expectValid(app, begins);
  });

  test("a body over 8 KiB is refused before it is read", async () => {
    expectAppRefusal(await validate(app, "x".repeat(8192)), 413, "body_too_large");
    const form = `token=x&${"a=1&".repeat(30_000)}`;
    const headers = { Authorization: "", "Content-Type": "application/x-www-form-urlencoded" };
    const guest = new Application(app.url, app.name, "");
    expectAppRefusal(await guest.call("POST", "/token/validate", form, { headers }), 413, "body_too_large");
  });

  test("a token is invalid for another room that later takes its room's name", async () => {
    await room("one", { privacy: "private" });
    const token = await mintAccessToken(app, { roomName: "one", isAdmin: true });
    await app.must("DELETE", "/room/one");
    await room("one", { privacy: "private" });
    expect(await expectInvalid(app, token)).toBe("The access token's room no longer exists.");
    await expectInvalid(app, token, { roomName: "one" });
  });

  test("a token stays valid for its renamed room, and not for the room that takes the old name", async () => {
    await room("one", { privacy: "private" });
    const token = await mintAccessToken(app, { roomName: "one" });
    await app.must("PUT", "/room/one", { roomName: "two" });
    await room("one", { privacy: "private" });
    await expectValid(app, token, { roomName: "two" });
    expect(await expectInvalid(app, token, { roomName: "one" })).toBe("The access token is for another room.");
  });

  test("a token is invalid when its room is archived, has ended, or is not open yet", async () => {
    const now = nowSeconds();
    await room("one");
    const token = await mintAccessToken(app, { roomName: "one" });
    await expectValid(app, token);
    await app.must("PUT", "/room/one", { notBeforeUnixSec: now + 600 });
    expect(await expectInvalid(app, token)).toBe("The room is not open yet.");
    await app.must("PUT", "/room/one", { notBeforeUnixSec: 0, expireUnixSec: now - 1 });
    expect(await expectInvalid(app, token)).toBe("The room has expired.");
    await app.must("PUT", "/room/one", { expireUnixSec: null });
    await expectValid(app, token);
    await app.must("DELETE", "/room/one");
    await expectInvalid(app, token);
  });

  test("a token's values take precedence over the room's", async () => {
    const now = nowSeconds();
    await room("one", { notBeforeUnixSec: now + 600, expireUnixSec: now + 700 });
    await expectValid(app, await mintAccessToken(app, { roomName: "one", notBeforeUnixSec: now - 5 }));
    await app.must("PUT", "/room/one", { notBeforeUnixSec: 0, expireUnixSec: now - 1 });
    await expectValid(app, await mintAccessToken(app, { roomName: "one", expireUnixSec: now + 100 }));
  });

  test("a token survives a restart; under another master key it is invalid, because its secret is derived from it", async () => {
    const own = await startParley();
    const demo = new Application(own.url, "demo", own.keys.appSecret);
    const { token } = await demo.must<{ token: string }>("POST", "/token", { name: "Ann" });
    await own.kill();
    const restarted = await startParley({ data: own.data });
    const { status, body } = await validate(new Application(restarted.url, "demo", ""), token, {});
    expect([status, body.data as unknown]).toEqual([200, { name: "Ann", appName: "demo" }]);
    await restarted.stop();
    const foreign = Buffer.alloc(32, 7).toString("base64");
    const sealed = await startParley({ data: own.data, env: { PARLEY_MASTER_KEY: foreign } });
    const locked = new Application(sealed.url, "demo", demo.secretKey);
    expectAppRefusal(await validate(locked, token, {}), 400, "invalid_access_token");
    await sealed.stop();
    await own.stop();
  });
});

describe("which room a token opens (privacy)", () => {
  test("a token without roomName and globalToken is global, like one with globalToken", async () => {
    await room("one", { privacy: "private" });
    for (const body of [{}, { globalToken: true }, { globalToken: true, roomName: "one" }, { globalToken: false }]) {
      const token = await mintAccessToken(app, body);
      await room("later", { privacy: "private" });
      for (const roomName of ["one", "later"]) await expectValid(app, token, { roomName });
      await app.must("DELETE", "/room/later");
    }
  });

  test("a private room needs a token for this room or a global one; a public room needs none", async () => {
    await room("mine", { privacy: "private" });
    await room("other", { privacy: "private" });
    await room("open");
    const token = await mintAccessToken(app, { roomName: "mine" });
    await expectValid(app, token, { roomName: "mine" });
    await expectValid(app, token, { roomName: "open" });
    expect(await expectInvalid(app, token, { roomName: "other" })).toBe("The access token is for another room.");
    await app.must("PUT", "/room/other", { privacy: "public" });
    await expectValid(app, token, { roomName: "other" });
  });

  test("the requested room must exist and be open; the token's times take precedence in its own room only", async () => {
    const now = nowSeconds();
    await room("mine", { privacy: "private", expireUnixSec: now + 600 });
    await room("over", { expireUnixSec: now - 1 });
    const token = await mintAccessToken(app, { roomName: "mine", expireUnixSec: now + 100 });
    expect(await expectInvalid(app, token, { roomName: "over" })).toBe("The room has expired.");
    expect(await expectInvalid(app, token, { roomName: "none" })).toBe("No room has this name.");
    await app.must("PUT", "/room/mine", { expireUnixSec: now - 1 });
    await expectValid(app, token, { roomName: "mine" });
    await expectValid(app, await mintAccessToken(app, { expireUnixSec: now + 100 }), { roomName: "over" });
  });
});
