/** Recordings: the table of calls of rooms.md, row by row. Every response is also checked against /openapi.json. */
import { beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expectAppRefusal, newApplication } from "../support/application.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import type { Json } from "../support/http.ts";
import { nowSeconds } from "../support/jwt.ts";
import { asQuery, Backend, type Page, type Recording, webm } from "../support/recordings.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(60_000);

let backend: Backend;
const server = await checkedServerForTests();
beforeEach(async () => {
  backend = new Backend(await newApplication(server));
});

const ids = (page: { data: Recording[] }): string[] => page.data.map((one) => one._id);
const many = (count: number, fields: Json = {}): Promise<Recording[]> =>
  Array.fromAsync({ length: count }, () => backend.record(fields));
const files = (): string[] =>
  readdirSync(join(server.data, "recordings"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);

describe("GET /recordings", () => {
  test("returns the envelope of service.md 2.6 with the records of 2.5", async () => {
    const room = await backend.room("standup");
    const made = await backend.record({
      room: "standup",
      participantUsername: "Ann Ärger",
      type: "screen",
      startTime: 1_700_000_000,
      meetingSession: "m".repeat(24),
      participantSession: "p".repeat(24),
    });
    const page = await backend.list();
    expect(page).toEqual({ data: [made], total: 1, limit: 50, currEndId: made._id });
    expect(made).toEqual({
      _id: expect.stringMatching(/^[0-9a-f]{24}$/) as unknown as string,
      app: backend.app.id,
      room,
      participantSession: "p".repeat(24),
      meetingSession: "m".repeat(24),
      participantUsername: "Ann Ärger",
      fileName: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.webm$/) as unknown as string,
      downloadName: `Ann-Ärger-screen-20231114T221320Z-${made._id}.webm`,
      sizeInBytes: 100,
      type: "screen",
      startTime: 1_700_000_000,
      endTime: expect.any(Number) as unknown as number,
    });
    expect(Object.keys(page)).toEqual(["data", "total", "limit", "currEndId"]);
  });

  test("an empty page has data [] and an empty currEndId", async () => {
    expect(await backend.list()).toEqual({ data: [], total: 0, limit: 50, currEndId: "" });
  });

  test("works with only the secret key in the query; a missing or wrong one is 400 with success false and a message", async () => {
    await backend.record();
    const { secretKey } = backend.app;
    const inQuery = await backend.app.call<Page>("GET", `/recordings?secretKey=${secretKey}`, undefined, {
      bearer: "x",
    });
    expect(inQuery.body.total).toBe(1);
    for (const query of ["", "?secretKey=", `?secretKey=${secretKey.slice(1)}`, `?secretKey=${"x".repeat(100_000)}`]) {
      const answer = await backend.app.call("GET", `/recordings${query}`, undefined, { bearer: "x" });
      expectAppRefusal(answer, 400, "invalid_secret_key");
    }
  });

  test("pages by limit 1 to 100 (default 50) and endId, the last currEndId (also its alias); newest first", async () => {
    const made = (await many(5)).map((one) => one._id);
    const first = await backend.list({ limit: 2 });
    expect([ids(first), first.total, first.limit, first.currEndId]).toEqual([made.slice(3).reverse(), 5, 2, made[3]!]);
    for (const name of ["endId", "currEndId"]) {
      const second = await backend.list({ limit: 2, [name]: first.currEndId });
      expect(ids(second)).toEqual([made[2]!, made[1]!]);
      const third = await backend.list({ limit: 2, [name]: second.currEndId });
      expect(ids(third)).toEqual([made[0]!]);
      expect(await backend.list({ limit: 2, [name]: third.currEndId })).toEqual({
        data: [],
        total: 5,
        limit: 2,
        currEndId: "",
      });
    }
    for (const limit of ["0", "101", "-1", "1.5", "x", "", "9".repeat(400)])
      expectAppRefusal(await backend.app.call("GET", `/recordings?limit=${limit}`), 400, "invalid_request");
    expect((await backend.list({ limit: 100 })).limit).toBe(100);
  });

  test("order=asc reverses the order, and a poller that uses it sees recordings completed later", async () => {
    const made = (await many(3)).map((one) => one._id);
    const page = await backend.list({ order: "asc" });
    expect(ids(page)).toEqual(made);
    const later = await backend.record();
    expect(ids(await backend.list({ order: "asc", endId: page.currEndId }))).toEqual([later._id]);
    expectAppRefusal(await backend.app.call("GET", "/recordings?order=up"), 400, "invalid_request");
  });

  test("the order is by completion, not by beginning, so that a poller misses none", async () => {
    const [one, two] = [await backend.begin(), await backend.begin()];
    for (const { uploadUrl } of [one, two]) await backend.mustPut(uploadUrl, webm(10));
    await backend.complete(two._id);
    const first = await backend.list({ order: "asc" });
    expect(ids(first)).toEqual([two._id]);
    await backend.complete(one._id);
    expect(ids(await backend.list({ order: "asc", endId: first.currEndId }))).toEqual([one._id]);
    expect(ids(await backend.list())).toEqual([one._id, two._id]);
  });

  test("filters: room by id or name, sessions, username, type, start; total counts the filtered set", async () => {
    const [east, west] = [await backend.room("east"), await backend.room("west")];
    const common = { meetingSession: "m1", participantSession: "p1", participantUsername: "ann", startTime: 1000 };
    const a = await backend.record({ ...common, room: east, type: "video" });
    const b = await backend.record({
      ...common,
      room: east,
      type: "audio",
      participantUsername: "bob",
      startTime: 2000,
    });
    const c = await backend.record({ ...common, room: "west", meetingSession: "m2", participantSession: "p2" });
    const cases: [Readonly<Record<string, string | number>>, Recording[]][] = [
      [{ room: "east" }, [b, a]],
      [{ room: east }, [b, a]],
      [{ room: west }, [c]],
      [{ room: "nowhere" }, []],
      [{ room: "f".repeat(24) }, []],
      [{ meetingSession: "m1" }, [b, a]],
      [{ participantSession: "p2" }, [c]],
      [{ participantUsername: "bob" }, [b]],
      [{ participantUsername: "BOB" }, []],
      [{ type: "audio" }, [b]],
      [{ type: "composition" }, []],
      [{ startedAfter: 2000 }, [b]],
      [{ startedAfter: 1001, startedBefore: 2000 }, []],
      [{ startedBefore: 2000 }, [c, a]],
      [{ room: "east", type: "video" }, [a]],
      [{ room: "east", type: "video", participantUsername: "bob" }, []],
      [{ room: "east", startedAfter: 1500, meetingSession: "m1" }, [b]],
    ];
    for (const [filter, wanted] of cases) {
      const page = await backend.list({ ...filter, limit: 1 });
      expect([filter, page.total, ids(page)]).toEqual([
        filter,
        wanted.length,
        wanted.slice(0, 1).map((one) => one._id),
      ]);
      expect(ids(await backend.list(filter))).toEqual(wanted.map((one) => one._id));
    }
  });

  test("room: 24 hex digits are tried as an id first, then as a name; recordings of an archived room are found by its id", async () => {
    const name = "0123456789abcdef01234567";
    const [named, other] = [await backend.room(name), await backend.room("other")];
    const inNamed = await backend.record({ room: name });
    expect(inNamed.room).toBe(named);
    expect(ids(await backend.list({ room: name }))).toEqual([inNamed._id]);
    // A room whose name is another room's id: the filter means the id.
    const decoy = await backend.app.must("POST", "/room", { roomName: other });
    const inOther = await backend.record({ room: other });
    expect(inOther.room).toBe(other);
    expect(inOther.room).not.toBe(decoy._id as string);
    await backend.app.must("DELETE", "/room/other");
    expect(ids(await backend.list({ room: other }))).toEqual([inOther._id]);
  });

  test.each([
    "type=film",
    "type=",
    "room=",
    "room=a%20b",
    "room=../../etc",
    `room=${"x".repeat(129)}`,
    "meetingSession=",
    "meetingSession=a%00b",
    `participantSession=${"x".repeat(129)}`,
    `participantUsername=${"x".repeat(257)}`,
    "participantUsername=%0a",
    "startedAfter=yesterday",
    "startedAfter=-1",
    "startedAfter=1.5",
    `startedBefore=${"9".repeat(30)}`,
  ])("a filter of the wrong type is 400 and named: %s", async (query) => {
    const { message } = expectAppRefusal(await backend.app.call("GET", `/recordings?${query}`), 400, "invalid_request");
    expect(message).toStartWith(`${query.slice(0, query.indexOf("="))}: `);
  });

  test("a cursor stays valid when its row is deleted", async () => {
    const made = (await many(4)).map((one) => one._id);
    const page = await backend.list({ limit: 2 });
    await backend.app.must("DELETE", `/recording/${page.currEndId}`);
    expect(ids(await backend.list({ limit: 2, endId: page.currEndId }))).toEqual([made[1]!, made[0]!]);
    expect(ids(await backend.list({ limit: 2, endId: page.currEndId, order: "asc" }))).toEqual([made[3]!]);
  });

  test("a cursor of another application, of an open upload, or an invalid one is 400", async () => {
    const other = new Backend(await newApplication(server));
    const foreign = await other.record();
    const open = await backend.begin();
    for (const endId of [
      foreign._id,
      open._id,
      "f".repeat(24),
      "",
      "x",
      "../..",
      "' OR 1=1",
      "%00",
      "y".repeat(5000),
      foreign._id.toUpperCase(),
    ]) {
      const answer = await backend.app.call("GET", `/recordings?${asQuery({ endId })}`);
      expect(expectAppRefusal(answer, 400, "invalid_request").message).toStartWith("endId: ");
    }
  });

  test("pages stay stable while rows are added and deleted", async () => {
    const made = (await many(6)).map((one) => one._id);
    const first = await backend.list({ limit: 2 });
    await backend.record();
    await backend.app.must("DELETE", `/recording/${made[4]}`);
    await backend.app.must("DELETE", `/recording/${made[2]}`);
    const second = await backend.list({ limit: 2, endId: first.currEndId });
    expect(ids(second)).toEqual([made[3]!, made[1]!]);
    expect(second.total).toBe(5);
  });
});

describe("GET /recording/:id", () => {
  test("returns one record; another application's, an open upload's or an unknown id is 404", async () => {
    const made = await backend.record();
    expect(await backend.app.must<Recording>("GET", `/recording/${made._id}`)).toEqual(made);
    const foreign = await new Backend(await newApplication(server)).record();
    const open = await backend.begin();
    for (const id of [foreign._id, open._id, "f".repeat(24), "x", "..%2f..%2fetc%2fpasswd", "%00", "x".repeat(10_000)])
      for (const call of ["", "/view", "/download"])
        expectAppRefusal(await backend.app.call("GET", `/recording/${id}${call}`), 404, "recording_not_found");
  });
});

describe("DELETE /recording/:id", () => {
  test("removes file and row; a second time is 404", async () => {
    const made = await backend.record();
    expect(files()).toContain(made._id);
    expect(await backend.app.must("DELETE", `/recording/${made._id}`)).toEqual({
      success: true,
      message: "Recording successfully deleted",
    });
    expect(files()).not.toContain(made._id);
    expectAppRefusal(await backend.app.call("DELETE", `/recording/${made._id}`), 404, "recording_not_found");
    expectAppRefusal(await backend.app.call("GET", `/recording/${made._id}`), 404, "recording_not_found");
    expect((await backend.list()).total).toBe(0);
  });

  test("ends an open upload and removes its bytes", async () => {
    const { _id, uploadUrl } = await backend.begin();
    await backend.mustPut(uploadUrl, webm(10), { "Content-Range": "bytes 0-9/20" });
    expect(files()).toContain(_id);
    await backend.app.must("DELETE", `/recording/${_id}`);
    expect(files()).not.toContain(_id);
    expect((await backend.put(uploadUrl, webm(10))).status).toBe(404);
    expectAppRefusal(await backend.app.call("POST", `/recording/${_id}/complete`), 404, "recording_not_found");
  });

  test("does not delete another application's recording", async () => {
    const made = await backend.record();
    const other = await newApplication(server);
    expectAppRefusal(await other.call("DELETE", `/recording/${made._id}`), 404, "recording_not_found");
    expect((await other.must("DELETE", "/recordings?type=video")).deleted).toBe(0);
    expect((await backend.list()).total).toBe(1);
  });
});

describe("DELETE /recordings", () => {
  test("deletes in bulk, by the same filters", async () => {
    const room = await backend.room();
    const kept = await backend.record({ room, type: "audio" });
    const gone = await many(3, { room, type: "video" });
    expect(await backend.app.must("DELETE", `/recordings?room=${room}&type=video`)).toEqual({
      success: true,
      message: "Recordings successfully deleted",
      deleted: 3,
    });
    expect(ids(await backend.list())).toEqual([kept._id]);
    for (const { _id } of gone) expect(files()).not.toContain(_id);
    expect(files()).toContain(kept._id);
    expect((await backend.app.must("DELETE", "/recordings?room=nowhere")).deleted).toBe(0);
  });

  test.each(["", "limit=5", "rooom=x", "type=video&rooom=x", "type=video&type=audio", "type=film", "endId=x", "room="])(
    "at least one filter is required, and none may be misspelt: %p deletes nothing",
    async (query) => {
      await backend.record();
      expectAppRefusal(await backend.app.call("DELETE", `/recordings?${query}`), 400, "invalid_request");
      expect((await backend.list()).total).toBe(1);
    },
  );
});

test("endTime defaults to now, and is not before startTime", async () => {
  const before = nowSeconds();
  const { startTime, endTime } = await backend.record();
  for (const time of [startTime, endTime]) expect(time).toBeWithin(before, nowSeconds() + 1);
  const { _id, uploadUrl } = await backend.begin({ startTime: 1000 });
  await backend.mustPut(uploadUrl, webm(1));
  for (const endTime of [999, -1, "1000", 1e15, true])
    expectAppRefusal(await backend.app.call("POST", `/recording/${_id}/complete`, { endTime }), 400, "invalid_request");
  expect((await backend.complete(_id, { endTime: 1000 })).endTime).toBe(1000);
});

describe("DELETE /apps/:app", () => {
  test("archives its rooms, and removes its recordings and open uploads in the background", async () => {
    const other = new Backend(await newApplication(server));
    const kept = await other.record();
    const made = await many(2);
    const open = await backend.begin();
    await backend.mustPut(open.uploadUrl, webm(10), { "Content-Range": "bytes 0-9/100" });
    const gone = new Set([...made.map((one) => one._id), open._id]);
    expect(files().filter((name) => gone.has(name)).length).toBe(3);
    await server.admin.must("DELETE", `/apps/${backend.app.id}`);
    await until("the files are gone", () => !files().some((name) => gone.has(name)));
    expect((await other.list()).data).toEqual([kept]);
    // The name is free, and its next owner finds no recordings there.
    const successor = new Backend(await newApplication(server, backend.app.name));
    expect([(await successor.list()).total, (await successor.app.call("GET", "/rooms")).text]).toEqual([0, "[]\n"]);
  });
});
