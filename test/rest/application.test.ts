/** Host, credential and errors of the application API: the first section of rooms.md, line by line. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { Application, expectAppRefusal, newApplication } from "../support/application.ts";
import { expectRefusal } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { call, inPieces, rawCall, statusOf } from "../support/http.ts";
import { startParley } from "../support/parley.ts";
import { sha256, webm } from "../support/recordings.ts";

setDefaultTimeout(60_000);

const server = await checkedServerForTests();
const app = await newApplication(server);

const FORM = { "Content-Type": "application/x-www-form-urlencoded" };
const rooms = (host: string, more: Record<string, string> = {}, bearer = app.secretKey) =>
  call(`${app.url}/api/v1/rooms`, { bearer, headers: { Host: host, ...more } });

describe("the application is the one label of the Host header under the configured domain", () => {
  test("demo.localhost works without configuration, with the key that the first start showed", async () => {
    await using own = await startParley();
    const demo = new Application(own.url, "demo", own.keys.appSecret);
    expect(own.keys.appSecret).toMatch(/^[A-Za-z0-9_-]{48}$/);
    expect((await demo.call("GET", "/rooms")).text).toBe("[]");
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
    const answers = await Promise.all(Array.from({ length: 8 }, () => demo.call("GET", "/rooms")));
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

describe("bodies", () => {
  test("an empty body is {}, whatever its content type", async () => {
    for (const type of ["application/json", "text/plain", ""]) {
      const headers = type === "" ? {} : { "Content-Type": type };
      const { status, body } = await app.call("POST", "/room", undefined, { headers });
      expect([status, body.roomName]).toEqual([200, expect.stringMatching(/^[a-z]{10}$/)]);
    }
  });

  test("form fields are read as true/false/1/0 and decimal integers", async () => {
    const form =
      "roomName=form&enableChat=false&autoJoin=1&joinVideoOn=0&audioOnlyRoom=true&maxParticipants=12&lang=fr";
    const { status, body } = await app.call("POST", "/room", form, { headers: FORM });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      roomName: "form",
      enableChat: false,
      autoJoin: true,
      joinVideoOn: false,
      audioOnlyRoom: true,
      maxParticipants: 12,
      lang: "fr",
    });
    const edited = await app.call("PUT", "/room/form", "maxParticipants=0&roomName=1234", { headers: FORM });
    expect(edited.body).toMatchObject({ roomName: "1234", autoJoin: true });
    expect(edited.body).not.toHaveProperty("maxParticipants");
    await app.must("DELETE", "/room/1234");
  });

  test.each([
    ["enableChat=yes", "enableChat"],
    ["enableChat=2", "enableChat"],
    ["enableChat=", "enableChat"],
    ["maxParticipants=1.5", "maxParticipants"],
    ["maxParticipants=0x10", "maxParticipants"],
    ["maxParticipants=1e3", "maxParticipants"],
    ["maxParticipants=-1", "maxParticipants"],
    ["expireUnixSec=99999999999999999999", "expireUnixSec"],
  ])("a form's %s is refused and named", async (form, field) => {
    const refusal = expectAppRefusal(await app.call("POST", "/room", form, { headers: FORM }), 400, "invalid_request");
    expect(refusal.error.details?.map((one) => one.field)).toEqual([field]);
  });

  test("a field of a form that occurs twice is refused", async () => {
    const twice = await app.call("POST", "/room", "roomName=a1&roomName=a2", { headers: FORM });
    expectAppRefusal(twice, 400, "invalid_request");
  });

  test("JSON that curl -d labels as a form is read as JSON", async () => {
    const { status, body } = await app.call("POST", "/room", '{"roomName":"curl","enableChat":false}', {
      headers: FORM,
    });
    expect([status, body.roomName, body.enableChat]).toEqual([200, "curl", false]);
    await app.must("DELETE", "/room/curl");
  });

  test.each(["text/plain", "application/xml", "multipart/form-data; boundary=x", "application/octet-stream", "json"])(
    "415 for %s",
    async (type) => {
      const answer = await app.call("POST", "/room", '{"roomName":"x"}', { headers: { "Content-Type": type } });
      expectAppRefusal(answer, 415, "unsupported_media_type");
    },
  );

  test.each(["application/json; charset=utf-8", "APPLICATION/JSON"])("%s is JSON", async (type) => {
    const answer = await app.call("POST", "/room", "{}", { headers: { "Content-Type": type } });
    expect(answer.status).toBe(200);
  });

  test("413 for more than 128 KiB, announced or not", async () => {
    const big = Buffer.from(JSON.stringify({ meta: "x".repeat(140_000) }));
    for (const body of [big, inPieces(big)])
      expectAppRefusal(await app.call("POST", "/token", body), 413, "body_too_large");
  });

  test.each(["[]", "null", '"x"', "1", "{", '{"a":1,"a":2}', '{"roomName":"a","roomName":"b"}', "\u0000"])(
    "%p is no body",
    async (text) => {
      expectAppRefusal(await app.call("POST", "/room", text), 400, "invalid_request");
    },
  );

  test("a body that is not UTF-8 is refused", async () => {
    const answer = await app.call("POST", "/room", Buffer.from([0x7b, 0xff, 0x7d]));
    expectAppRefusal(answer, 400, "invalid_request");
  });

  test("unknown fields are ignored, and named in X-Parley-Ignored", async () => {
    const body = { roomName: "typo", enableChatt: false, archived: true, _id: "mine", ö: 1 };
    const { status, body: room, headers } = await app.call("POST", "/room", body);
    expect(status).toBe(200);
    expect(headers.get("x-parley-ignored")).toBe("enableChatt, archived, _id, %C3%B6");
    expect(room).toMatchObject({ enableChat: true, archived: false, _id: expect.not.stringContaining("mine") });
    await app.must("DELETE", "/room/typo");
  });

  test("unknown query parameters are named there too, together with the body's, each once and at most 20", async () => {
    const ignored = async (method: string, path: string, body?: object): Promise<string | null> => {
      const { status, headers } = await app.call(method, path, body);
      expect(status).toBe(200);
      return headers.get("x-parley-ignored");
    };
    expect(await ignored("GET", "/rooms?limt=5&limit=5&ö=1&limt=6")).toBe("limt, %C3%B6");
    expect(await ignored("GET", `/rooms?secretKey=${app.secretKey}`)).toBeNull();
    expect(await ignored("POST", "/room?nam=x", { roomName: "typo2", nam: 1, roomNam: 2 })).toBe("nam, roomNam");
    expect(await ignored("GET", "/room/typo2?fields=all")).toBe("fields");
    const many = Array.from({ length: 50 }, (_, i) => `p${i}=1`).join("&");
    expect((await ignored("DELETE", `/room/typo2?${many}`))?.split(", ")).toHaveLength(20);
  });

  test("a known field of the wrong type or value is a 400 that names every such field", async () => {
    const answer = await app.call("POST", "/room", { enableChat: "yes", lang: 5, maxParticipants: -1 });
    const { message, error } = expectAppRefusal(answer, 400, "invalid_request");
    expect(message).toContain("enableChat");
    expect(error.details?.map(({ field }) => field).sort()).toEqual(["enableChat", "lang", "maxParticipants"]);
  });

  test("a WebSocket upgrade is refused", async () => {
    const request = `GET /api/v1/rooms HTTP/1.1\r\nHost: ${app.host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`;
    expect(statusOf(await rawCall(app.url, request))).toBe(404);
  });
});
