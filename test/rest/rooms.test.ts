/** Rooms: the table of calls of rooms.md, row by row. Every response is also checked against /openapi.json. */
import { beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { type Application, expectAppRefusal, newApplication } from "../support/application.ts";
import { startChecked } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import type { Json } from "../support/http.ts";
import { nowSeconds } from "../support/jwt.ts";

setDefaultTimeout(60_000);

let app: Application;
const server = await checkedServerForTests();
beforeEach(async () => {
  app = await newApplication(server);
});

interface Page {
  data: Json[];
  total: number;
  limit: number;
  currEndId: string;
}

const create = (roomName?: string, fields: Json = {}): Promise<Json> =>
  app.must("POST", "/room", { roomName, ...fields });
const names = (rooms: readonly Json[]): unknown[] => rooms.map((room) => room.roomName);

/** service.md 2.4, in its order. */
const record = (roomName: string): Json => ({
  _id: expect.stringMatching(/^[0-9a-f]{24}$/),
  roomName,
  app: app.id,
  created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  privacy: "public",
  deleteOnExp: false,
  autoJoin: false,
  enableRequestToJoin: true,
  enableChat: true,
  enableScreenSharing: true,
  joinVideoOn: true,
  joinAudioOn: true,
  ownerOnlyBroadcast: false,
  enableRecording: false,
  ejectAtRoomExp: false,
  lang: "en",
  archived: false,
});

describe("POST /room", () => {
  test("a room created with only a name returns exactly the record of service.md 2.4", async () => {
    const before = Date.now();
    const room = await create("standup");
    expect(room).toEqual(record("standup"));
    expect(Object.keys(room)).toEqual(Object.keys(record("standup")));
    expect(Date.parse(String(room.created))).toBeWithin(before - 1000, Date.now() + 1000);
  });

  test("a room created with privacy public returns it too", async () => {
    expect(await create("open", { privacy: "public" })).toEqual(record("open"));
  });

  test("roomName is optional: 10 random lower-case letters are used, different each time", async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => create()));
    for (const { roomName } of made) expect(roomName).toMatch(/^[a-z]{10}$/);
    expect(new Set(names(made)).size).toBe(20);
  });

  test("a name that is taken is 409 room_already_exists, also with requests at the same time", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => app.call("POST", "/room", { roomName: "one" })));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(7);
    for (const answer of refused) expectAppRefusal(answer, 409, "room_already_exists");
    expect(refused[0]?.body.message).toMatch(/^A room named one already exists\. Use it, .* choose another name\.$/);
    expect(names(await app.must<Json[]>("GET", "/rooms"))).toEqual(["one"]);
  });
});

describe("roomName", () => {
  test.each(["a", "Z", "0", "_", "-", "--", "A-b_9", "x".repeat(128), "toString", "__proto__", "constructor"])(
    "is 1 to 128 of A-Z a-z 0-9 _ -: %p",
    async (name) => {
      expect((await create(name)).roomName).toBe(name);
      expect((await app.must("GET", `/room/${name}`)).roomName).toBe(name);
    },
  );

  test.each([
    "",
    "x".repeat(129),
    "a b",
    "a.b",
    "..",
    ".",
    "../rooms",
    "a/b",
    "a\\b",
    "a%2Fb",
    "/etc/passwd",
    "ä",
    "a\n",
    "a\u0000",
    "\ud800",
    "room?x=1",
    true,
    1.5,
    1e21,
    2 ** 53,
    [["a"]],
    { a: 1 },
  ])("is refused and named: %p", async (roomName) => {
    const { error } = expectAppRefusal(await app.call("POST", "/room", { roomName }), 400, "invalid_request");
    expect(error.details?.map(({ field }) => field)).toEqual(["roomName"]);
    expect(await app.must<Json[]>("GET", "/rooms")).toEqual([]);
  });

  test("a JSON number is read as its text", async () => {
    expect((await create(undefined, { roomName: 42 })).roomName).toBe("42");
    expect((await create(undefined, { roomName: -7 })).roomName).toBe("-7");
    expectAppRefusal(await app.call("POST", "/room", { roomName: "42" }), 409, "room_already_exists");
  });

  test("is unique and case-sensitive per application", async () => {
    const other = await newApplication(server);
    await create("same");
    await create("Same");
    expect((await other.must("POST", "/room", { roomName: "same" })).app).toBe(other.id);
    expect(names(await other.must<Json[]>("GET", "/rooms"))).toEqual(["same"]);
    await other.must("DELETE", "/room/same");
    expect((await app.call("GET", "/room/same")).status).toBe(200);
  });

  test("in the path: an invalid name is no room, however it is encoded", async () => {
    for (const path of ["..", "%2e%2e", "a%2Fb", "%00", "%zz", "%ff", "*", "a%20b", "..%2f..%2fapps", "x".repeat(9000)])
      for (const method of ["GET", "PUT", "DELETE"]) {
        const answer = await app.call(method, `/room/${path}`, method === "PUT" ? {} : undefined, {});
        expect(answer.status).toBe(404);
      }
  });
});

describe("GET /rooms", () => {
  test("is a plain array, newest first, without archived rooms", async () => {
    expect(await app.must<Json[]>("GET", "/rooms")).toEqual([]);
    for (const name of ["a", "b", "c", "d"]) await create(name);
    await app.must("DELETE", "/room/b");
    const rooms = await app.must<Json[]>("GET", "/rooms");
    expect(names(rooms)).toEqual(["d", "c", "a"]);
    expect(rooms[0]).toEqual(record("d"));
  });

  test("an edit does not move a room", async () => {
    for (const name of ["a", "b", "c"]) await create(name);
    await app.must("PUT", "/room/a", { enableChat: false, roomName: "z" });
    expect(names(await app.must<Json[]>("GET", "/rooms"))).toEqual(["c", "b", "z"]);
  });

  test("with limit or endId is an envelope {data,total,limit,currEndId}", async () => {
    for (let i = 0; i < 7; i++) await create(`r${i}`);
    const first = await app.must<Page>("GET", "/rooms?limit=3");
    expect(first).toEqual({
      data: [record("r6"), record("r5"), record("r4")] as Json[],
      total: 7,
      limit: 3,
      currEndId: String(first.data[2]?._id),
    });
    const second = await app.must<Page>("GET", `/rooms?limit=3&endId=${first.currEndId}`);
    expect(names(second.data)).toEqual(["r3", "r2", "r1"]);
    const third = await app.must<Page>("GET", `/rooms?endId=${second.currEndId}`);
    expect([names(third.data), third.limit, third.total]).toEqual([["r0"], 50, 7]);
    expect(await app.must<Page>("GET", `/rooms?limit=3&endId=${third.currEndId}`)).toEqual({
      data: [],
      total: 7,
      limit: 3,
      currEndId: "",
    });
  });

  test("pages stay stable while rooms are created and deleted, and a cursor outlives its room", async () => {
    for (let i = 0; i < 6; i++) await create(`r${i}`);
    const first = await app.must<Page>("GET", "/rooms?limit=2");
    await create("late");
    await app.must("DELETE", "/room/r4");
    await app.must("DELETE", "/room/r3");
    const second = await app.must<Page>("GET", `/rooms?limit=2&endId=${first.currEndId}`);
    expect([names(first.data), names(second.data), second.total]).toEqual([["r5", "r4"], ["r2", "r1"], 5]);
  });

  test.each(["limit=0", "limit=101", "limit=-1", "limit=x", "limit=1.5", "limit=", "limit=1e1", "limit=%2010"])(
    "%s is refused and named",
    async (query) => {
      const { error } = expectAppRefusal(await app.call("GET", `/rooms?${query}`), 400, "invalid_request");
      expect(error.details?.[0]?.field).toBe("limit");
    },
  );

  test("a cursor of another application, or an invalid one, is 400", async () => {
    const other = await newApplication(server);
    const { _id } = await other.must("POST", "/room", {});
    await create("mine");
    for (const endId of [String(_id), "", "x", "0".repeat(24), "'; DROP TABLE rooms; --", "%00", "g".repeat(24)])
      expectAppRefusal(await app.call("GET", `/rooms?endId=${endId}`), 400, "invalid_request");
  });
});

describe("GET /room/:roomName", () => {
  test("is the record; an archived room is not found", async () => {
    const made = await create("one", { maxParticipants: 4 });
    expect(await app.must("GET", "/room/one")).toEqual(made);
    await app.must("DELETE", "/room/one");
    const { message } = expectAppRefusal(await app.call("GET", "/room/one"), 404, "room_not_found");
    expect(message).toBe("room not found");
  });

  test("an id is not accepted as a name", async () => {
    const { _id } = await create("one");
    expectAppRefusal(await app.call("GET", `/room/${_id}`), 404, "room_not_found");
  });

  test("an error body has no key named roomName", async () => {
    for (const answer of [
      await app.call("GET", "/room/none"),
      await app.call("POST", "/room", { roomName: "!" }),
      await app.call("POST", "/token", { roomName: "none" }),
    ])
      expect(answer.text).not.toContain('"roomName":');
  });
});

describe("PUT /room/:roomName", () => {
  test("merges the given fields and returns the whole record", async () => {
    const made = await create("one", { maxParticipants: 4, enableChat: false });
    const changed = await app.must("PUT", "/room/one", { maxParticipants: 5, lang: "de" });
    expect(changed).toEqual({ ...made, maxParticipants: 5, lang: "de" });
    expect(await app.must("PUT", "/room/one", {})).toEqual(changed);
    expect(await app.must("GET", "/room/one")).toEqual(changed);
  });

  test("one wrong field leaves everything unchanged", async () => {
    const made = await create("one");
    expectAppRefusal(await app.call("PUT", "/room/one", { lang: "de", enableChat: 1 }), 400, "invalid_request");
    expect(await app.must("GET", "/room/one")).toEqual(made);
  });

  test("roomName renames; the old name is free, and the id stays", async () => {
    const { _id } = await create("old");
    expect(await app.must("PUT", "/room/old", { roomName: "new" })).toMatchObject({ _id, roomName: "new" });
    expect((await app.call("GET", "/room/old")).status).toBe(404);
    expect((await create("old"))._id).not.toBe(_id);
    expect(await app.must("PUT", "/room/new", { roomName: "new", lang: "fr" })).toMatchObject({ _id, lang: "fr" });
  });

  test("is 409 if the name is taken, and changes nothing", async () => {
    await create("a");
    const b = await create("b");
    expectAppRefusal(await app.call("PUT", "/room/b", { roomName: "a", lang: "fr" }), 409, "room_already_exists");
    expect(await app.must("GET", "/room/b")).toEqual(b);
  });

  test("edits at the same moment are all kept", async () => {
    await create("one");
    const flags = ["enableChat", "enableScreenSharing", "joinVideoOn", "joinAudioOn", "showInviteBox"];
    await Promise.all(flags.map((flag) => app.must("PUT", "/room/one", { [flag]: false })));
    expect(await app.must("GET", "/room/one")).toMatchObject(Object.fromEntries(flags.map((flag) => [flag, false])));
  });

  test("of several renames to one name at the same moment one succeeds", async () => {
    for (const name of ["a", "b", "c", "d"]) await create(name);
    const answers = await Promise.all(
      ["a", "b", "c", "d"].map((name) => app.call("PUT", `/room/${name}`, { roomName: "z" })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    expect(await app.must<Json[]>("GET", "/rooms")).toHaveLength(4);
  });

  test("a missing or archived room is 404", async () => {
    await create("gone");
    await app.must("DELETE", "/room/gone");
    for (const name of ["gone", "never"])
      expectAppRefusal(await app.call("PUT", `/room/${name}`, { lang: "de" }), 404, "room_not_found");
  });

  test("a record can be written back unchanged: read-only fields are ignored", async () => {
    const made = await create("one", { expireUnixSec: nowSeconds() + 600 });
    const { body, headers } = await app.call("PUT", "/room/one", made);
    expect(body as Json).toEqual(made);
    expect(headers.get("x-parley-ignored")).toBe("_id, app, created, archived");
  });
});

describe("DELETE /room/:roomName", () => {
  test("archives the room, frees the name, and returns its sentence", async () => {
    const { _id } = await create("one");
    expect(await app.must("DELETE", "/room/one")).toEqual({ success: true, message: "Room successfully archived" });
    expectAppRefusal(await app.call("DELETE", "/room/one"), 404, "room_not_found");
    const successor = await create("one");
    expect(successor._id).not.toBe(_id);
    await app.must("DELETE", "/room/one");
  });

  test("keeps the row, marked as archived", async () => {
    const own = await startChecked();
    const demo = await newApplication(own);
    await demo.must("POST", "/room", { roomName: "kept" });
    await demo.must("DELETE", "/room/kept");
    await own.kill("SIGTERM");
    const { Database } = await import("bun:sqlite");
    const database = new Database(`${own.data}/parley.sqlite`, { readonly: true });
    expect(database.query("SELECT name, archived > 0 AS gone FROM rooms").all()).toEqual([{ name: "kept", gone: 1 }]);
    database.close();
    await own.stop();
  });
});
