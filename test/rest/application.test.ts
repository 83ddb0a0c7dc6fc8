/** Host, credential and errors of the application API: the first section of rooms.md, line by line. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { Application, expectAppRefusal, newApplication } from "../support/application.ts";
import { expectRefusal } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { call } from "../support/http.ts";
import { startParley } from "../support/parley.ts";
import { sha256, webm } from "../support/recordings.ts";
import { WORKERS } from "../support/workers.ts";

setDefaultTimeout(60_000);

const server = await checkedServerForTests();
const app = await newApplication(server);

const rooms = (host: string, more: Record<string, string> = {}, bearer = app.secretKey) =>
  call(`${app.url}/api/v1/rooms`, { bearer, headers: { Host: host, ...more } });

describe("the application is the one label of the Host header under the configured domain", () => {
  test("demo.localhost works without configuration, with the key that the first start showed", async () => {
    await using own = await startParley();
    const demo = new Application(own.url, "demo", own.keys.appSecret);
    expect(own.keys.appSecret).toMatch(/^[A-Za-z0-9_-]{48}$/);
    expect((await demo.call("GET", "/rooms")).text).toBe("[]\n");
  });

  test.each(["", ":80", ":12345", "."])("a port and a trailing dot are ignored: %p", async (end) => {
    expect((await rooms(`${app.name}.localhost${end}`)).status).toBe(200);
  });

  test("the host is lower-cased", async () => {
    expect((await rooms(`${app.name}.localhost`.toUpperCase())).status).toBe(200);
  });

  test("the host has exactly one label under this domain", async () => {
    for (const host of [
      "localhost",
      "127.0.0.1",
      `x.${app.name}.localhost`,
      `${app.name}.localhost.example.com`,
      `${app.name}.example.com`,
      `${app.name}localhost`,
      ".localhost",
    ])
      expectRefusal(await rooms(host), 404, "not_found");
  });

  test("an id instead of the name is refused", async () => {
    expectAppRefusal(await rooms(`${app.id}.localhost`), 400, "invalid_secret_key");
  });

  test("the domain can be configured", async () => {
    await using own = await startParley({ env: { PARLEY_DOMAIN: "meet.example.com" } });
    const ask = (host: string) =>
      call(`${own.url}/api/v1/rooms`, { bearer: own.keys.appSecret, headers: { Host: host } });
    expect((await ask("demo.meet.example.com")).status).toBe(200);
    expect((await ask("demo.localhost")).status).toBe(404);
  });

  test("X-Forwarded-Host is ignored if its sender is not trusted", async () => {
    expect((await rooms("localhost", { "X-Forwarded-Host": app.host })).status).toBe(404);
    expect((await rooms(app.host, { "X-Forwarded-Host": "localhost" })).status).toBe(200);
  });

  test("X-Forwarded-Host from a trusted proxy is the host; its right-most entry is the one that the proxy added", async () => {
    await using own = await startParley({ env: { PARLEY_TRUSTED_PROXIES: "127.0.0.1" } });
    const ask = (path: string, host: string, forwarded: string, bearer: string) =>
      call(own.url + path, { bearer, headers: { Host: host, "X-Forwarded-Host": forwarded } });
    const { appSecret } = own.keys;
    expect((await ask("/api/v1/rooms", "localhost", "demo.localhost", appSecret)).status).toBe(200);
    expect((await ask("/api/v1/rooms", "localhost", "evil.example, demo.localhost:443", appSecret)).status).toBe(200);
    expect((await ask("/api/v1/rooms", "demo.localhost", "localhost", appSecret)).status).toBe(404);
    expect((await ask("/api/v1/rooms", "localhost", "demo.localhost, localhost", appSecret)).status).toBe(404);
    // The control plane is absent if either of the two headers names an application.
    const control = "/api/internal/v1/apps";
    expect((await ask(control, "localhost", "localhost", own.adminToken)).status).toBe(200);
    expect((await ask(control, "localhost", "demo.localhost", own.adminToken)).status).toBe(404);
    expect((await ask(control, "demo.localhost", "localhost", own.adminToken)).status).toBe(404);
  });

  test("the control plane is absent on an application's host", async () => {
    const { status } = await call(`${app.url}/api/internal/v1/apps`, {
      bearer: server.adminToken,
      headers: { Host: app.host },
    });
    expect(status).toBe(404);
  });

  test("an unknown path and a wrong method are refused with the application API's error body", async () => {
    expectAppRefusal(await app.call("GET", "/nothing"), 404, "not_found");
    const wrong = await app.call("PATCH", "/rooms", {});
    expectAppRefusal(wrong, 405, "method_not_allowed");
    expect(wrong.headers.get("allow")).toBe("GET");
  });
});

describe("X-Parley-App names the application on the realtime host", () => {
  const onRealtimeHost = (path: string, rest: Parameters<typeof call>[1] = {}) =>
    call(`${app.url}/api/v1${path}`, {
      bearer: app.secretKey,
      ...rest,
      headers: { "X-Parley-App": app.name, ...rest.headers },
    });

  test("by name in any case, or by number", async () => {
    expect((await onRealtimeHost("/rooms")).status).toBe(200);
    expect((await onRealtimeHost("/rooms", { headers: { "X-Parley-App": app.name.toUpperCase() } })).status).toBe(200);
    expect((await onRealtimeHost("/rooms", { headers: { Host: "realtime.example.com" } })).status).toBe(200);
  });

  test("an application that does not exist responds like a wrong key, with this API's error body", async () => {
    for (const name of ["no-such-app", "not a name", "a.b"])
      expectAppRefusal(
        await onRealtimeHost("/rooms", { headers: { "X-Parley-App": name } }),
        400,
        "invalid_secret_key",
      );
    expectAppRefusal(await onRealtimeHost("/rooms", { bearer: "wrong" }), 400, "invalid_secret_key");
    expectRefusal(await onRealtimeHost("/rooms", { headers: { "X-Parley-App": "" } }), 404, "not_found");
  });

  test("an application's host takes precedence over the header", async () => {
    const other = await newApplication(server);
    const answer = await onRealtimeHost("/rooms", { headers: { Host: app.host, "X-Parley-App": other.name } });
    expect(answer.status).toBe(200);
  });

  test("the control plane still answers", async () => {
    const headers = { "X-Parley-App": app.name };
    expect((await call(`${app.url}/api/internal/v1/apps`, { bearer: server.adminToken, headers })).status).toBe(200);
  });

  test("upload addresses and links work without the header", async () => {
    const { roomName } = (await onRealtimeHost("/room", { body: {} })).body;
    const upload = { room: roomName, participantUsername: "ann", type: "video" };
    const { body } = await onRealtimeHost("/recording", { body: upload });
    const uploadUrl = String(body.uploadUrl);
    expect(uploadUrl).toStartWith(`${app.url}/api/v1/upload/`);
    const bytes = webm(1000);
    expect((await call(uploadUrl, { method: "PUT", body: bytes })).status).toBe(200);
    expect((await onRealtimeHost(`/recording/${body._id}/complete`, { body: {} })).status).toBe(200);
    const { url } = (await onRealtimeHost(`/recording/${body._id}/view`)).body;
    const file = await fetch(String(url));
    expect([file.status, sha256(await file.bytes())]).toEqual([200, sha256(bytes)]);
    // The signature covers the application: another name in the link makes it invalid.
    const other = await newApplication(server);
    const moved = String(url).replace(`app=${app.name}`, `app=${other.name}`);
    expect(moved).not.toBe(url);
    expect((await call(moved)).status).toBe(403);
    // On addresses that are not signed links, the query parameter has no effect.
    expect((await call(`${app.url}/api/v1/rooms?app=${app.name}`, { bearer: app.secretKey })).status).toBe(404);
  });
});

describe("credential", () => {
  test("is accepted as ?secretKey= or Authorization: Bearer", async () => {
    const asQuery = (key: string) => call(`${app.url}/api/v1/rooms?secretKey=${key}`, { headers: { Host: app.host } });
    expect((await asQuery(app.secretKey)).status).toBe(200);
    expect((await rooms(app.host)).status).toBe(200);
    expectAppRefusal(await asQuery(`${app.secretKey}x`), 400, "invalid_secret_key");
  });

  test("a missing key, a wrong key, another application's key and an unknown application get the same 400", async () => {
    const other = await newApplication(server);
    const answers = [
      await call(`${app.url}/api/v1/rooms`, { headers: { Host: app.host } }),
      await call(`${app.url}/api/v1/rooms?secretKey=`, { headers: { Host: app.host } }),
      await rooms(app.host, {}, "x".repeat(48)),
      await rooms(app.host, {}, app.secretKey.slice(0, -1)),
      await rooms(app.host, {}, other.secretKey),
      await rooms(app.host, {}, (await server.admin.createKey(app.name)).credential),
      await rooms(app.host, {}, server.adminToken),
      await rooms("no-such-app.localhost"),
      await rooms("www.localhost"),
    ];
    const [first, ...rest] = answers.map((answer) => {
      const { requestId: _its, ...body } = expectAppRefusal(answer, 400, "invalid_secret_key");
      return body;
    });
    for (const body of rest) expect(body).toEqual(first as typeof body);
  });

  test("it is checked before the body: a caller without a credential learns nothing about valid bodies", async () => {
    const stranger = new Application(app.url, app.name, "x".repeat(48));
    for (const body of ["not json", { roomName: "!" }, "x".repeat(1_000_000)])
      expectAppRefusal(await stranger.call("POST", "/room", body), 400, "invalid_secret_key");
  });

  test("a rotated key and that of a deleted application are refused", async () => {
    const own = await newApplication(server);
    const rotate = `/apps/${own.id}/secret-key/rotate`;
    const { secretKey } = await server.admin.must<{ secretKey: string }>("POST", rotate, { graceSec: 0 });
    expectAppRefusal(await own.call("GET", "/rooms"), 400, "invalid_secret_key");
    const renewed = new Application(own.url, own.name, secretKey);
    expect((await renewed.call("GET", "/rooms")).status).toBe(200);
    await server.admin.must("DELETE", `/apps/${own.id}`);
    expectAppRefusal(await renewed.call("GET", "/rooms"), 400, "invalid_secret_key");
  });

  test("it is never in a log line, an error text or a metric label", async () => {
    await using own = await startParley({ env: { PARLEY_LOG_LEVEL: "debug" } });
    const { appSecret } = own.keys;
    const ask = (path: string, body?: unknown) =>
      call(`${own.url}/api/v1${path}${path.includes("?") ? "&" : "?"}secretKey=${appSecret}`, {
        ...(body !== undefined && { body }),
        headers: { Host: "demo.localhost" },
      });
    const texts: string[] = [];
    for (const answer of [
      await ask("/rooms"),
      await ask(`/room/${appSecret}`),
      await ask(`/rooms?endId=${appSecret}`),
      await ask(`/${appSecret}`),
      await ask("/room", { roomName: `${appSecret}!`, lang: appSecret, [appSecret]: 1, enableChat: appSecret }),
      await ask("/token/validate", { token: appSecret }),
    ])
      texts.push(answer.text, answer.headers.get("location") ?? "");
    const { text: metrics } = await call(`${own.url}/metrics`);
    expect(own.output).toContain("request");
    for (const text of [own.output, metrics, ...texts]) expect(text).not.toContain(appSecret);
  });

  test("it is stored encrypted", async () => {
    await using own = await startParley();
    const { appSecret } = own.keys;
    for (const file of new Bun.Glob("parley.sqlite*").scanSync(own.data))
      expect(Buffer.from(await Bun.file(`${own.data}/${file}`).bytes()).includes(appSecret)).toBe(false);
  });
});

describe("responses", () => {
  test("carry no-store and no-referrer; none is a redirect", async () => {
    for (const path of ["/rooms", "/rooms/", "/room/none", "/nothing", "/nothing/"]) {
      const { status, headers } = await app.call("GET", path);
      expect(status).not.toBeWithin(300, 400);
      expect(headers.get("location")).toBeNull();
    }
  });

  test("a trailing slash is accepted", async () => {
    await app.must("POST", "/room/", { roomName: "slash" });
    expect(await app.must("GET", "/room/slash/")).toEqual(await app.must("GET", "/room/slash"));
    expect((await app.call("GET", "/rooms/?limit=1")).status).toBe(200);
    await app.must("DELETE", "/room/slash/");
  });

  test("are 429 with Retry-After over the rate, per application", async () => {
    await using own = await startParley({ env: { PARLEY_REST_REQUESTS_PER_SECOND: "3" } });
    const demo = new Application(own.url, "demo", own.keys.appSecret);
    const made = await own.admin.createApp();
    const other = new Application(own.url, made.name, made.secretKey);
    const answers = await Promise.all(Array.from({ length: 60 + 3 * WORKERS }, () => demo.call("GET", "/rooms")));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(2);
    for (const answer of refused) {
      expectAppRefusal(answer, 429, "rate_limited");
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect((await other.call("GET", "/rooms")).status).toBe(200);
  });

  test("a 500 internal_error shows no cause; the log has it under the same requestId", async () => {
    await using own = await startParley();
    const demo = new Application(own.url, "demo", own.keys.appSecret);
    // A row that no release has ever written stands for an internal error.
    await own.kill();
    const { Database } = await import("bun:sqlite");
    const database = new Database(`${own.data}/parley.sqlite`);
    const { id } = database.query("SELECT id FROM apps").get() as { id: string };
    database.run("INSERT INTO rooms VALUES ('0', ?, 'broken', 'no json', 0, NULL, NULL, 1)", [id]);
    database.close();
    await using restarted = await startParley({ data: own.data });
    const answer = await new Application(restarted.url, "demo", demo.secretKey).call("GET", "/room/broken");
    const { message, requestId } = expectAppRefusal(answer, 500, "internal_error");
    expect(message).toBe("Something went wrong on our side.");
    const line = await restarted.logged((one) => one.requestId === requestId);
    expect(line.level).toBe("error");
    expect(JSON.stringify(line.err)).toContain("JSON");
  });
});
