/** Meetings and their participants over the application API (meetings.md 4). */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { ROOMS_ENV, Room } from "../conformance/raw/support/rooms.ts";
import { fresh } from "../conformance/raw/support/world.ts";
import { type Application, expectAppRefusal, newApplication } from "../support/application.ts";
import { serverForTests } from "../support/for-tests.ts";
import type { Json } from "../support/http.ts";
import { until } from "../support/wait.ts";
import { WORKERS } from "../support/workers.ts";

setDefaultTimeout(60_000);

const server = await serverForTests({ env: ROOMS_ENV });

interface Meeting extends Json {
  readonly _id: string;
  readonly participants: Json[];
}

interface Page {
  readonly data: Meeting[];
  readonly total: number;
  readonly limit: number;
  readonly currEndId: string;
}

async function newRoom(app: Application, fields: Json = {}): Promise<Room> {
  const name = fresh("room");
  const { _id } = await app.must<{ _id: string }>("POST", "/room", { roomName: name, ...fields });
  return new Room(app, name, _id);
}

const meetings = (app: Application, query = ""): Promise<Page> => app.must<Page>("GET", `/meetings${query}`);
const meeting = (app: Application, id: string): Promise<Meeting> => app.must<Meeting>("GET", `/meeting/${id}`);
const nowSec = (): number => Math.floor(Date.now() / 1000);
const end = ({ app, name }: Room): Promise<Json> => app.must("POST", `/room/${name}/end`);

describe("a meeting", () => {
  test("says who was in it, from when to when, and why each one went", async () => {
    const app = await newApplication(server);
    const room = await newRoom(app);
    const token = await room.accessToken({ name: "Host", isAdmin: true, externalUserId: "u1" });
    const [host, ann, ben, cara] = [
      await room.inside({ token }),
      await room.inside({ name: "Ann" }),
      await room.inside({ name: "Ben" }),
      await room.inside({ name: "Cara" }),
    ];
    const { meetingSession } = host.join;
    ann.wire.close(1000);
    await room.act(host.token, { do: "remove", participantSession: ben.id });
    await until("Ann has left", async () => "endTime" in ((await meeting(app, meetingSession)).participants[1] ?? {}));
    expect(await meeting(app, meetingSession)).toMatchObject({
      _id: meetingSession,
      app: app.id,
      room: room.id,
      roomName: room.name,
      active: true,
      locked: false,
      participants: [
        { _id: host.id, name: "Host", externalUserId: "u1", isAdmin: true, isGuest: false },
        { _id: ann.id, name: "Ann", isAdmin: false, isGuest: true, endReason: "left" },
        { _id: ben.id, endReason: "removed" },
        { _id: cara.id },
      ],
    });
    await end(room);
    const over = await meeting(app, meetingSession);
    expect(over).toMatchObject({ active: false });
    expect(over.participants.map(({ endReason }) => endReason)).toEqual(["ended", "left", "removed", "ended"]);
    for (const { startTime, endTime } of [over, ...over.participants]) {
      expect(startTime as number).toBeLessThanOrEqual(endTime as number);
      expect(Math.abs(nowSec() - (endTime as number))).toBeLessThan(30);
    }
  });

  test("of another application, or of none, is not found", async () => {
    const [app, other] = [await newApplication(server), await newApplication(server)];
    const room = await newRoom(app);
    const { join } = await room.inside();
    expectAppRefusal(await other.call("GET", `/meeting/${join.meetingSession}`), 404, "meeting_not_found");
    expectAppRefusal(await app.call("GET", `/meeting/${"0".repeat(24)}`), 404, "meeting_not_found");
    expect((await meetings(other)).data).toEqual([]);
    for (const [method, path] of [
      ["GET", "/meetings"],
      ["GET", `/meeting/${join.meetingSession}`],
      ["GET", "/rooms/active/meetingsessions"],
      ["POST", `/room/${room.name}/end`],
      ["DELETE", `/room/${room.name}/participant/${join.participantSession}`],
      ["POST", `/room/${room.name}/message`],
    ] as const) {
      const wrong = await app.call(method, path, undefined, { bearer: join.connect.token });
      expectAppRefusal(wrong, 400, "invalid_secret_key");
    }
  });
});

describe("the list of meetings", () => {
  test("is newest first, in pages, and filtered by room, time and whether they go on", async () => {
    const app = await newApplication(server);
    const rooms = [await newRoom(app), await newRoom(app)];
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      const room = rooms[n % 2] as Room;
      const { join } = await room.inside();
      ids.unshift(join.meetingSession);
      if (n < 3) await end(room);
    }
    const whole = await meetings(app);
    expect(whole).toMatchObject({ total: 5, limit: 50, currEndId: ids[4] as string });
    expect(whole.data.map(({ _id }) => _id)).toEqual(ids);
    const seen: string[] = [];
    for (let endId = ""; ; ) {
      const page = await meetings(app, `?limit=2${endId && `&endId=${endId}`}`);
      if (page.data.length === 0) break;
      expect(page).toMatchObject({ total: 5, limit: 2 });
      seen.push(...page.data.map(({ _id }) => _id));
      endId = page.currEndId;
    }
    expect(seen).toEqual(ids);
    const count = async (query: string): Promise<number> => (await meetings(app, query)).total;
    expect([await count("?active=true"), await count("?active=false")]).toEqual([2, 3]);
    expect([await count(`?room=${rooms[0]?.name}`), await count(`?room=${rooms[1]?.id}`)]).toEqual([3, 2]);
    expect(await count("?room=nowhere")).toBe(0);
    expect([await count(`?startedAfter=${nowSec() + 60}`), await count(`?startedBefore=${nowSec() + 60}`)]).toEqual([
      0, 5,
    ]);
    await app.must("DELETE", `/room/${rooms[1]?.name}`);
    expect(await count(`?room=${rooms[1]?.id}`)).toBe(2);
  });

  test("refuses what it cannot read, by the name of the parameter", async () => {
    const app = await newApplication(server);
    for (const query of ["limit=0", "limit=101", "active=yes", "startedAfter=x", "endId=nothing"]) {
      const { error } = expectAppRefusal(await app.call("GET", `/meetings?${query}`), 400, "invalid_request");
      expect(error.details?.[0]?.field).toBe(query.split("=")[0] as string);
    }
  });
});

test("the active meetings are a bare array, as existing clients read it", async () => {
  const app = await newApplication(server);
  expect(await app.must<Json[]>("GET", "/rooms/active/meetingsessions")).toEqual([]);
  const room = await newRoom(app);
  const { join } = await room.inside();
  await room.inside();
  const active = await app.must<Json[]>("GET", "/rooms/active/meetingsessions");
  expect(active).toEqual([
    {
      _id: join.meetingSession,
      room: room.id,
      roomName: room.name,
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
      participants: 2,
    },
  ]);
  await end(room);
  expect(await app.must<Json[]>("GET", "/rooms/active/meetingsessions")).toEqual([]);
});

describe("calls about people in a room", () => {
  test("are refused in a sentence where there is none", async () => {
    const app = await newApplication(server);
    expectAppRefusal(await app.call("POST", "/room/nowhere/end"), 404, "room_not_found");
    expectAppRefusal(await app.call("POST", "/room/nowhere/message", { text: "x" }), 404, "room_not_found");
    expectAppRefusal(await app.call("DELETE", "/room/nowhere/participant/x"), 404, "room_not_found");
    const room = await newRoom(app);
    expectAppRefusal(await app.call("POST", `/room/${room.name}/message`, { text: "x" }), 404, "meeting_not_found");
    expectAppRefusal(await app.call("DELETE", `/room/${room.name}/participant/x`), 404, "participant_not_found");
  });

  test("take a text of 1 to 4,000 characters", async () => {
    const app = await newApplication(server);
    const room = await newRoom(app, { newChatForMeetingSession: false });
    const path = `/room/${room.name}/message`;
    for (const body of [
      {},
      { text: "" },
      { text: "x".repeat(4001) },
      { text: 1 },
      { text: "\ud800" },
      { text: "\u0001" },
    ]) {
      const { error } = expectAppRefusal(await app.call("POST", path, body), 400, "invalid_request");
      expect(error.details?.[0]?.field).toBe("text");
    }
    await app.must("POST", path, { text: "x".repeat(4000) });
    await app.must("POST", path, { text: "one\r\n\ttwo" });
  });

  test("are in the audit, with who was removed and how many were put out", async () => {
    const app = await newApplication(server);
    const room = await newRoom(app);
    const [ann] = [await room.inside(), await room.inside()];
    await app.must("DELETE", `/room/${room.name}/participant/${ann.id}`);
    await end(room);
    await end(room);
    const entries = async (): Promise<Json[]> =>
      (await server.admin.must<{ data: Json[] }>("GET", `/audit?app=${app.id}`)).data;
    await until("both", async () => (await entries()).some(({ what }) => what === "meeting ended"));
    expect((await entries()).filter(({ what }) => what !== "room created")).toMatchObject([
      { what: "meeting ended", on: room.name, who: "application secret", after: { participants: 1 } },
      { what: "participant removed", on: room.name, after: { participantSession: ann.id } },
      { what: "app created" },
    ]);
  });
});

test("an act without a credential, and one with a wrong body, say what is missing", async () => {
  const app = await newApplication(server);
  const room = await newRoom(app);
  const host = await room.inside({ token: await room.accessToken({ isAdmin: true }) });
  const path = `/room/${room.name}/act`;
  const headers = { "X-Forwarded-For": "192.0.2.1" };
  expectAppRefusal(
    await app.call("POST", path, { do: "lock" }, { headers, bearer: undefined as never }),
    401,
    "invalid_token",
  );
  expectAppRefusal(await app.call("POST", path, { do: "lock" }, { headers }), 401, "invalid_token");
  const { error } = expectAppRefusal(
    await app.call("POST", path, { do: "dance" }, { headers, bearer: host.token }),
    400,
    "invalid_request",
  );
  expect(error.details?.[0]?.field).toBe("do");
  // At once, so that little of the 60 a minute is refilled meanwhile.
  const lock = async (): Promise<number> =>
    (await app.call("POST", path, { do: "lock" }, { headers, bearer: host.token })).status;
  const statuses = await Promise.all(Array.from({ length: 60 + 60 * WORKERS }, lock));
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(3);
});
