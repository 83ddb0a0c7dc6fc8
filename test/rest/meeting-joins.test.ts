/** The way into a room over HTTP (meetings.md 2): the door, joins, their refusals, CORS, rates. Every response is checked against /openapi.json. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { newRoom, ROOMS_ENV, type Room } from "../conformance/raw/support/rooms.ts";
import { Application, newApplication } from "../support/application.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { type Answer, call, type Json } from "../support/http.ts";
import { nowSeconds } from "../support/jwt.ts";
import { until } from "../support/wait.ts";
import { WORKERS } from "../support/workers.ts";

setDefaultTimeout(60_000);

const FRAMES = "https://frames.example";
const server = await checkedServerForTests({ env: ROOMS_ENV });
let app: Application;
beforeAll(async () => {
  app = await newApplication(server);
  await server.admin.call("PATCH", `/apps/${app.id}`, { allowedFrameOrigins: [FRAMES, "https://*.wild.example"] });
});

const roomWith = (fields: Json = {}): Promise<Room> => newRoom(server, fields, app);

let addresses = 0;
/** A client of its own: rates are per address. */
const asClient = (address = `192.0.${++addresses >> 8}.${addresses & 255}`): Record<string, string> => ({
  "X-Forwarded-For": address,
  Authorization: "",
});
const doorOf = (room: string, headers = asClient(), of = app): Promise<Answer> =>
  of.call("GET", `/room/${room}/door`, undefined, { headers });

const codeOf = ({ status, body }: Answer<{ error?: { code?: string } }>): string => `${status} ${body.error?.code}`;

describe("the door", () => {
  test("shows what a page needs before one enters, and who is inside of public rooms only", async () => {
    const room = await roomWith({ lang: "de", autoJoin: true });
    const shown = {
      roomName: room.name,
      lang: "de",
      autoJoin: true,
      audioOnlyRoom: false,
      recording: false,
      enableRequestToJoin: true,
    };
    expect((await doorOf(room.name)).body).toEqual({ ...shown, privacy: "public", state: "open", inside: 0 });
    const { wire } = await room.enter();
    expect((await doorOf(room.name)).body).toMatchObject({ inside: 1 });
    await app.must("PUT", `/room/${room.name}`, { privacy: "private" });
    expect((await doorOf(room.name)).body).toEqual({ ...shown, privacy: "private", state: "open" });
    await app.must("PUT", `/room/${room.name}`, { enableRequestToJoin: false });
    expect((await doorOf(room.name)).body).toMatchObject({ enableRequestToJoin: false });
    wire.close(1000);
  });

  test("says when the room opens, and when it is over", async () => {
    const opensAt = nowSeconds() + 3600;
    const early = await roomWith({ notBeforeUnixSec: opensAt });
    const over = await roomWith({ expireUnixSec: nowSeconds() - 1 });
    expect((await doorOf(early.name)).body).toMatchObject({ state: "not_open", opensAt });
    const appointment = await roomWith({ notBeforeUnixSec: opensAt, expireUnixSec: opensAt + 3600 });
    expect((await doorOf(early.name)).body).not.toHaveProperty("closesAt");
    expect((await doorOf(appointment.name)).body).toMatchObject({ opensAt, closesAt: opensAt + 3600 });
    expect((await doorOf(over.name)).body).toMatchObject({ state: "over" });
    const refused = await early.tryJoin();
    expect(refused).toMatchObject({ status: 403, body: { error: { code: "room_not_open" }, opensAt } });
    expect(await over.tryJoin()).toMatchObject({ status: 403, body: { error: { code: "room_over" }, over: "room" } });
  });

  test("says to the holder of an access token how it would enter, or why not", async () => {
    const room = await roomWith({ privacy: "private" });
    const knock = (token?: string, of = room.name): Promise<Answer> =>
      app.call("POST", `/room/${of}/door`, { token }, { headers: asClient() });
    const host = await knock(await room.accessToken({ name: "Ada", isAdmin: true }));
    expect(host.body).toMatchObject({
      roomName: room.name,
      state: "open",
      you: { name: "Ada", isAdmin: true, isInvited: true },
    });
    expect((await knock(await room.accessToken())).body).toMatchObject({ you: { isAdmin: false, isInvited: true } });
    expect((await knock()).body).not.toHaveProperty("you");
    expect(codeOf(await knock("x.y.z"))).toBe("400 invalid_access_token");
    expect(codeOf(await knock(undefined, "missing"))).toBe("404 room_not_found");
  });

  test("of an unknown application looks like that of an unknown room", async () => {
    const stranger = new Application(server.url, "no-such-app", "");
    const known = await roomWith();
    const answers = [await doorOf("missing"), await doorOf(known.name, asClient(), stranger)];
    for (const answer of answers)
      expect(answer).toMatchObject({
        status: 404,
        body: { message: "room not found", error: { code: "room_not_found" } },
      });
    expect(codeOf(await stranger.call("POST", `/room/${known.name}/join`, {}, { headers: asClient() }))).toBe(
      "404 room_not_found",
    );
  });
});

describe("a join", () => {
  test("of a public room makes a guest of anyone, under the name that was typed", async () => {
    const room = await roomWith();
    const joined = await room.join({ name: "  Ada\u202e " });
    expect(joined).toMatchObject({ name: "Ada", isGuest: true, isAdmin: false, room: { roomName: room.name } });
    expect(joined.connect.url).toBe(`ws://${app.host}/v1`);
    expect(await room.join({})).toMatchObject({ name: "Guest" });
    const long = await room.tryJoin({ name: "x".repeat(65) });
    expect(long).toMatchObject({ status: 400, body: { error: { details: [{ field: "name" }] } } });
  });

  test("of a private room needs an access token of it, or a place in the lobby", async () => {
    const room = await roomWith({ privacy: "private" });
    const other = await roomWith();
    expect(await room.join({ token: await room.accessToken({ name: "Ada", isAdmin: true }) })).toMatchObject({
      name: "Ada",
      isAdmin: true,
      isGuest: false,
    });
    expect(await room.join({ name: "Bob" })).toMatchObject({ waiting: true, ticket: expect.any(String) });
    expect(await room.join({ token: await other.accessToken({ isAdmin: true }) })).toMatchObject({ waiting: true });
    await app.must("PUT", `/room/${room.name}`, { enableRequestToJoin: false });
    expect(codeOf(await room.tryJoin({ name: "Bob" }))).toBe("403 token_required");
    expect(codeOf(await room.tryJoin({ token: "x.y.z" }))).toBe("400 invalid_access_token");
  });

  test("takes no token of another application, not even one for all rooms", async () => {
    const room = await roomWith({ privacy: "private" });
    const stranger = await newRoom(server);
    const token = (await stranger.app.must<{ token: string }>("POST", "/token", { globalToken: true, isAdmin: true }))
      .token;
    expect(codeOf(await room.tryJoin({ token }))).toBe("400 invalid_access_token");
  });

  test("of a full room is refused, and the place of a reload is its own", async () => {
    const room = await roomWith({ maxParticipants: 1 });
    const first = await room.enter({ name: "Ada" });
    expect(codeOf(await room.tryJoin())).toBe("409 room_full");
    const second = await room.enter({ resume: first.token });
    expect(second.id).toBe(first.id);
    expect(await first.wire.closed()).toMatchObject({ code: 4021, reason: "replaced" });
    second.wire.close(1000);
    await until("the stay has ended", async () => {
      const path = `/meeting/${first.join.meetingSession}`;
      return (await app.must<{ participants: Json[] }>("GET", path)).participants[0]?.endTime !== undefined;
    });
    await room.enter();
  });

  test("is refused while the room is locked, except for admins and those who are inside already", async () => {
    const room = await roomWith();
    const host = await room.enter({ token: await room.accessToken({ isAdmin: true }) });
    const guest = await room.enter();
    expect((await room.act(host.token, { do: "lock" })).status).toBe(200);
    expect(codeOf(await room.tryJoin())).toBe("409 room_locked");
    expect(await room.join({ resume: guest.token })).toMatchObject({ participantSession: guest.id });
    expect(await room.join({ token: await room.accessToken({ isAdmin: true }) })).toMatchObject({ isAdmin: true });
    await room.act(host.token, { do: "unlock" });
    await room.join();
  });

  test("of a person who was removed is refused, by token and by user", async () => {
    const room = await roomWith();
    const host = await room.enter({ token: await room.accessToken({ isAdmin: true }) });
    const token = await room.accessToken({ externalUserId: "eve" });
    const eve = await room.enter({ token });
    await room.act(host.token, { do: "remove", participantSession: eve.id });
    for (const body of [
      { token },
      { token: await room.accessToken({ externalUserId: "eve", name: "E" }) },
      { resume: eve.token },
    ])
      expect(codeOf(await room.tryJoin(body))).toBe("403 removed");
  });

  test("reads a form and an empty body, and refuses what is too large", async () => {
    const room = await roomWith();
    const path = `/room/${room.name}/join`;
    const form = { ...asClient(), "Content-Type": "application/x-www-form-urlencoded" };
    expect((await app.call("POST", path, "name=Ada", { headers: form })).body).toMatchObject({ name: "Ada" });
    expect((await app.call("POST", path, undefined, { headers: asClient() })).status).toBe(200);
    expect((await room.tryJoin({ token: "x".repeat(20_000) })).status).toBe(413);
  });
});

describe("pages of other origins", () => {
  const cors = async (origin: string, method = "GET", of = app): Promise<[number, string | null]> => {
    const path = method === "GET" ? "missing/door" : "missing/join";
    const headers = { ...asClient(), Host: of.host, Origin: origin, "Access-Control-Request-Method": "POST" };
    const answer = await call(`${server.url}/api/v1/room/${path}`, { method, headers });
    return [answer.status, answer.headers.get("access-control-allow-origin")];
  };

  test("that the application allows to frame its rooms may read answers and refusals", async () => {
    for (const origin of [FRAMES, "https://a.wild.example"]) {
      expect(await cors(origin)).toEqual([404, origin]);
      expect(await cors(origin, "OPTIONS")).toEqual([204, origin]);
    }
  });

  test("that it does not allow may not", async () => {
    for (const origin of [
      "https://evil.example",
      "null",
      "https://frames.example.evil.example",
      "http://frames.example",
    ]) {
      expect(await cors(origin)).toEqual([404, null]);
      expect(await cors(origin, "OPTIONS")).toEqual([405, null]);
    }
    const other = await newApplication(server);
    expect(await cors(FRAMES, "GET", other)).toEqual([404, null]);
  });

  test("may not call what needs the secret key", async () => {
    const headers = { Host: app.host, Origin: FRAMES };
    const answer = await call(`${server.url}/api/v1/rooms`, { bearer: app.secretKey, headers });
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  });
});

test("the page of an unknown room says nothing of its application, also not whether there is one", async () => {
  const get = (path: string, host: string): Promise<Response> => fetch(server.url + path, { headers: { Host: host } });
  const room = await roomWith();
  expect((await get(`/${room.name}`, app.host)).headers.get("content-security-policy")).toContain(FRAMES);
  const stranger = app.host.replace(/^[^.]+/, (name) => "x".repeat(name.length));
  const [known, unknown] = await Promise.all([app.host, stranger].map((host) => get("/nowhere", host)));
  const shown = async (page: Response | undefined): Promise<unknown> => {
    const headers = [...(page?.headers ?? [])].map(([name, value]) => [name, value.replaceAll(app.host, stranger)]);
    return {
      status: page?.status,
      headers: headers.filter(([name]) => !/^(date|x-request-id)$/.test(String(name))),
      html: await page?.text(),
    };
  };
  expect(known?.headers.get("x-frame-options")).toBe("DENY");
  expect(await shown(known)).toEqual(await shown(unknown));
});

describe("the address of the page with a slash at its end", () => {
  const get = async (path: string, host = app.host, method = "GET"): Promise<Response> =>
    fetch(server.url + path, { method, headers: { Host: host }, redirect: "manual" });

  test("is the same page", async () => {
    const room = await roomWith();
    const [plain, withSlash] = [await get(`/${room.name}`), await get(`/${room.name}/?token=a.b-c`)];
    expect([plain.status, withSlash.status]).toEqual([200, 200]);
    expect(await withSlash.text()).toBe(await plain.text());
    expect((await get(`/${room.name}/`, app.host, "HEAD")).status).toBe(200);
  });

  test("is not found where there is no room, and redirects nowhere", async () => {
    const none = ["/nowhere/", "/v1/", "/api/", "/client.js/", "/a.b/", "/%2Fevil.example/", "/a/b/"];
    for (const path of [...none, "//evil.example/"]) {
      const { status, headers } = await get(path);
      expect([path, status, headers.get("location")]).toEqual([path, 404, null]);
    }
    expect((await get("/nowhere/", new URL(server.url).host)).status).toBe(404);
    expect((await get("/nowhere/", app.host, "POST")).status).toBe(405);
  });
});

describe("a flood of joins", () => {
  const WAVE = 40;
  const flood = async (room: Room, count: number, address?: string): Promise<Answer[]> => {
    const headers = (): Record<string, string> => asClient(address);
    return Promise.all(
      Array.from({ length: count }, () => room.app.call("POST", `/room/${room.name}/join`, {}, { headers: headers() })),
    );
  };
  const statuses = (answers: readonly Answer[]): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const answer of answers) counts[codeOf(answer)] = (counts[codeOf(answer)] ?? 0) + 1;
    return counts;
  };

  test("from one address ends after 20 a minute, and others go on; the door is counted apart", async () => {
    const room = await roomWith();
    const beganMs = performance.now();
    const answers = await flood(room, 60 * WORKERS, "198.51.100.7");
    const refilled = Math.ceil((performance.now() - beganMs) / 3000);
    const { "200 undefined": admitted = 0, "429 rate_limited": refusedCount = 0 } = statuses(answers);
    // A burst meets every worker before they have notified each other.
    expect(admitted).toBeWithin(20, 20 * WORKERS + refilled + 1);
    expect(admitted + refusedCount).toBe(answers.length);
    const refused = answers.filter(({ status }) => status === 429);
    for (const { headers } of refused) expect(Number(headers.get("retry-after"))).toBeWithin(1, 4);
    // It holds two places, so there are others left.
    expect(statuses(await flood(room, 5))).toEqual({ "200 undefined": 4, "409 room_full": 1 });
    expect((await doorOf(room.name, asClient("198.51.100.7"))).status).toBe(200);
  });

  test("of guests for one room ends after 120 a minute, from as many addresses as there are; other rooms go on", async () => {
    const room = await roomWith();
    const total = 120 * WORKERS + 5;
    // Two come back every second: far more than a slow machine answers meanwhile.
    const many = total + 120;
    const looks = await Promise.all(Array.from({ length: many }, () => doorOf(room.name)));
    expect(statuses(looks)["429 rate_limited"]).toBeWithin(3, many - 120 + 1);
    expect((await doorOf((await roomWith()).name)).status).toBe(200);
    // Refused joins count for their addresses only. In waves: those that are not answered yet count for the room until then.
    const joins: Answer[] = [];
    while (joins.length < total) joins.push(...(await flood(room, Math.min(WAVE, total - joins.length))));
    expect(statuses(joins)).toEqual({ "200 undefined": 6, "409 room_full": total - 6 });
  });
});
