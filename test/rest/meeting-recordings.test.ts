/** What pages of meetings record: uploads with the connect token of a stay (meetings.md 5). */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { type Person, ROOMS_ENV, Room } from "../conformance/raw/support/rooms.ts";
import { fresh } from "../conformance/raw/support/world.ts";
import { type Application, newApplication } from "../support/application.ts";
import { serverForTests } from "../support/for-tests.ts";
import type { Answer, Json } from "../support/http.ts";
import { Backend, type Recording, webm } from "../support/recordings.ts";
import { until } from "../support/wait.ts";
import { WORKERS } from "../support/workers.ts";

setDefaultTimeout(60_000);

const server = await serverForTests({ env: ROOMS_ENV });

interface Begun extends Json {
  readonly _id: string;
  readonly uploadUrl: string;
  readonly offset: number;
}

let addresses = 0;
const fromElsewhere = (): Readonly<Record<string, string>> => ({
  "X-Forwarded-For": `10.9.${addresses >> 8}.${++addresses & 255}`,
});

class Page {
  constructor(
    readonly room: Room,
    readonly person: Person,
  ) {}

  static async open(room: Room, body: Json = {}): Promise<Page> {
    return new Page(room, await room.inside(body));
  }

  get id(): string {
    return this.person.id;
  }

  send(
    method: "POST" | "DELETE",
    body: unknown,
    bearer = this.person.token,
    name = this.room.name,
  ): Promise<Answer<Json>> {
    return this.room.app.call(method, `/room/${name}/recording`, body, { bearer, headers: fromElsewhere() });
  }

  begin(source = "camera", more: Json = {}): Promise<Begun> {
    return must(this.send("POST", { source, ...more })) as Promise<Begun>;
  }

  end(_id: string): Promise<Json> {
    return must(this.send("DELETE", { _id }));
  }

  /** A part of which it is not known yet whether it is the last one. */
  part({ uploadUrl }: Begun, at: number, bytes: Uint8Array): Promise<number> {
    const range = `bytes ${at}-${at + bytes.length - 1}/*`;
    return new Backend(this.room.app).mustPut(uploadUrl, bytes, { "Content-Range": range });
  }
}

async function must(call: Promise<Answer<Json>>): Promise<Json> {
  const { status, text, body } = await call;
  if (status !== 200) throw new Error(`${status} ${text}`);
  return body;
}

const codeOf = async (call: Promise<Answer<Json>>): Promise<unknown> => {
  const { status, body } = await call;
  return [status, (body as { error?: { code: string } }).error?.code];
};

async function newRoom(app: Application, fields: Json = {}): Promise<Room> {
  const name = fresh("room");
  const { _id } = await app.must<{ _id: string }>("POST", "/room", { roomName: name, ...fields });
  return new Room(app, name, _id);
}

/** A room in which every meeting is recorded. */
const recordedRoom = async (fields: Json = {}, app?: Application): Promise<Room> =>
  newRoom(app ?? (await newApplication(server)), { recordRoom: true, ...fields });

const recorded = ({ app, id }: Room): Promise<Recording[]> =>
  new Backend(app).list({ room: id }).then(({ data }) => data);

/** It is listed when a process of its own has mended it, one after the other: on a machine that is busy with other tests that takes long. */
const LISTED_MS = 50_000;

const listed = (room: Room, count: number): Promise<unknown> =>
  until(`${count} recordings`, async () => (await recorded(room)).length >= count, LISTED_MS);

const nowSec = (): number => Math.floor(Date.now() / 1000);

describe("a page that records", () => {
  test("uploads in parts, and what it ends is listed in its name, with the service's times and sessions", async () => {
    const room = await recordedRoom();
    const began = nowSec();
    const ann = await Page.open(room, { name: "Ann" });
    const [camera, screen] = [await ann.begin(), await ann.begin("screen")];
    expect(camera.offset).toBe(0);
    const bytes = webm(3000);
    expect(await ann.part(camera, 0, bytes.subarray(0, 1000))).toBe(1000);
    expect(await ann.part(camera, 1000, bytes.subarray(1000))).toBe(3000);
    await ann.part(screen, 0, webm(500));
    expect(await recorded(room)).toEqual([]);
    expect(await ann.end(camera._id)).toEqual({ success: true });
    // An answer may get lost.
    expect(await ann.end(camera._id)).toEqual({ success: true });
    await listed(room, 1);
    expect(await ann.end(camera._id)).toEqual({ success: true });
    const [made] = await recorded(room);
    expect(made).toMatchObject({
      _id: camera._id,
      room: room.id,
      type: "video",
      participantUsername: "Ann",
      participantSession: ann.id,
      meetingSession: ann.person.join.meetingSession,
    });
    expect(made?.startTime).toBeGreaterThanOrEqual(began);
    expect(made?.endTime).toBeLessThanOrEqual(nowSec());
    const answer = await new Backend(room.app).put(camera.uploadUrl, webm(10), {
      "Content-Range": "bytes 3000-3009/*",
    });
    expect(answer.body.error.code).toBe("upload_complete");
    // A run of which nothing came leaves nothing.
    const empty = await ann.begin("microphone");
    await ann.end(empty._id);
    await ann.end(screen._id);
    await listed(room, 2);
    expect((await recorded(room)).map(({ type }) => type).sort()).toEqual(["screen", "video"]);
    expect(await codeOf(ann.send("DELETE", { _id: empty._id }))).toEqual([404, "recording_not_found"]);
  });

  test("says how long ago it has begun, but not before it was inside", async () => {
    const room = await recordedRoom();
    const ann = await Page.open(room);
    const run = await ann.begin("microphone", { startedMsAgo: 3_600_000 });
    await ann.part(run, 0, webm(100));
    await ann.end(run._id);
    await listed(room, 1);
    const [made] = await recorded(room);
    expect(made?.type).toBe("audio");
    expect(nowSec() - (made?.startTime ?? 0)).toBeLessThan(30);
    for (const startedMsAgo of [-1, 86_400_001, "1", null])
      expect([startedMsAgo, await codeOf(ann.send("POST", { source: "camera", startedMsAgo }))]).toEqual([
        startedMsAgo,
        startedMsAgo === null ? [200, undefined] : [400, "invalid_request"],
      ]);
  });

  test("has at most two open uploads, whatever the others of the application have", async () => {
    const room = await recordedRoom();
    const [ann, ben] = [await Page.open(room), await Page.open(room)];
    const first = await ann.begin();
    await ann.begin("screen");
    expect(await codeOf(ann.send("POST", { source: "screen" }))).toEqual([409, "too_many_uploads"]);
    await ben.begin();
    await ann.end(first._id);
    await ann.begin();
    const backend = new Backend(room.app);
    await Promise.all(Array.from({ length: 20 }, () => backend.begin({ room: room.id })));
    await ben.begin("screen");
  });

  test("completes with its token and the total; with another total it is refused with the offset", async () => {
    const room = await recordedRoom();
    const [ann, ben] = [await Page.open(room), await Page.open(room)];
    const run = await ann.begin();
    await ann.part(run, 0, webm(700));
    const complete = (bearer: string, total: number): Promise<Answer<Json>> =>
      room.app.call("POST", `/recording/${run._id}/complete`, { total }, { bearer, headers: fromElsewhere() });
    const short = await complete(ann.person.token, 800);
    expect([short.status, short.body]).toMatchObject([409, { error: { code: "upload_incomplete" }, offset: 700 }]);
    expect(await codeOf(complete(ben.person.token, 700))).toEqual([404, "recording_not_found"]);
    expect(await must(complete(ann.person.token, 700))).toEqual({ success: true });
    expect(await must(complete(ann.person.token, 700))).toEqual({ success: true });
    await listed(room, 1);
    expect(await must(complete(room.app.secretKey, 700))).toMatchObject({
      _id: run._id,
      sizeInBytes: expect.any(Number),
    });
  });

  test("that was removed sends and begins nothing more; what came is listed, although its page never says that it has ended", async () => {
    const room = await recordedRoom();
    const [eve, ann] = [await Page.open(room, { name: "Eve" }), await Page.open(room)];
    const [run, other] = [await eve.begin(), await ann.begin()];
    await eve.part(run, 0, webm(100));
    await room.app.must("DELETE", `/room/${room.name}/participant/${eve.id}`);
    for (const startedMsAgo of [0, 60_000])
      expect(await codeOf(eve.send("POST", { source: "screen", startedMsAgo }))).toEqual([403, "action_not_permitted"]);
    await expect(eve.part(run, 100, webm(100))).rejects.toThrow(/^PUT: (403|409|423) /);
    await listed(room, 1);
    expect(await recorded(room)).toMatchObject([{ _id: run._id, sizeInBytes: 100 }]);
    await expect(eve.part(run, 100, webm(100))).rejects.toThrow("PUT: 409 ");
    await ann.part(other, 0, webm(100));
  });

  test("that was put out at the end of the meeting and of the room sends what is left, and it is listed as any other", async () => {
    const room = await recordedRoom();
    const ben = await Page.open(room);
    const last = await ben.begin();
    await ben.part(last, 0, webm(100));
    await room.app.must("DELETE", `/room/${room.name}`);
    expect(await ben.person.wire.closed()).toMatchObject({ code: 4021 });
    await ben.part(last, 100, webm(50));
    await ben.end(last._id);
    await until("the recording", async () => {
      const { status } = await room.app.call("GET", `/recording/${last._id}`);
      return status === 200;
    });
  });
});

describe("an upload of a stay is refused", () => {
  test("without a token of a stay in this room", async () => {
    const app = await newApplication(server);
    const [room, other] = [await recordedRoom({}, app), await recordedRoom({}, app)];
    const [ann, elsewhere] = [await Page.open(room), await Page.open(other)];
    const foreign = await Page.open(await recordedRoom());
    const wanted = { source: "camera" };
    const refusals: readonly [string, unknown][] = [
      ["", [401, "invalid_token"]],
      ["rt_x.y.z", [401, "invalid_token"]],
      [app.secretKey, [401, "invalid_token"]],
      [`${ann.person.token.slice(0, -4)}AAAA`, [401, "invalid_token"]],
      [foreign.person.token, [401, "invalid_token"]],
      [elsewhere.person.token, [403, "action_not_permitted"]],
    ];
    const run = await ann.begin();
    for (const [token, refusal] of refusals) {
      expect(await codeOf(ann.send("POST", wanted, token))).toEqual(refusal);
      expect(await codeOf(ann.send("DELETE", { _id: run._id }, token))).toEqual(refusal);
    }
    // A place that is held is no stay.
    const { connect } = await room.join();
    expect(await codeOf(ann.send("POST", wanted, connect.token))).toEqual([403, "action_not_permitted"]);
    expect(await codeOf(ann.send("POST", wanted, ann.person.token, other.name))).toEqual([403, "action_not_permitted"]);
  });

  test("if it is another's, or a backend's", async () => {
    const room = await recordedRoom();
    const [ann, eve] = [await Page.open(room), await Page.open(room)];
    const run = await ann.begin();
    await ann.part(run, 0, webm(100));
    const { _id } = await new Backend(room.app).begin({ room: room.id, participantSession: eve.id });
    for (const id of [run._id, _id, "f".repeat(24), "../x"])
      expect([id, await codeOf(eve.send("DELETE", { _id: id }))]).toEqual([id, [404, "recording_not_found"]]);
    const proof = new URL((await eve.begin()).uploadUrl).search;
    const forged = run.uploadUrl.replace(/\?.*/, proof);
    const bytes = { "Content-Range": "bytes 100-109/*" };
    expect((await new Backend(room.app).put(forged, webm(10), bytes)).body.error.code).toBe("link_not_valid");
    await ann.end(run._id);
  });

  test("with a body that is none of these", async () => {
    const ann = await Page.open(await recordedRoom());
    for (const body of [{}, { source: "composition" }, { source: ["camera"] }, { source: "camera", startedMsAgo: {} }])
      expect([body, await codeOf(ann.send("POST", body))]).toEqual([body, [400, "invalid_request"]]);
    for (const body of [{}, { _id: 7 }, { _id: "" }, { _id: "x".repeat(65) }])
      expect([body, await codeOf(ann.send("DELETE", body))]).toEqual([body, [400, "invalid_request"]]);
    const huge = { source: "camera", padding: "x".repeat(2000) };
    expect((await ann.send("POST", huge)).status).toBe(413);
    // What the service says about an upload is not the page's to say.
    const room = ann.room;
    const run = await ann.begin("camera", {
      username: "Eve",
      participantUsername: "Eve",
      type: "audio",
      room: "x",
      startTime: 1,
    });
    await ann.part(run, 0, webm(10));
    await ann.end(run._id);
    await listed(room, 1);
    expect((await recorded(room))[0]).toMatchObject({ type: "video", participantUsername: "Guest", room: room.id });
  });

  test("while the meeting is not being recorded", async () => {
    const room = await newRoom(await newApplication(server), { enableRecording: true });
    const ann = await Page.open(room);
    expect(await codeOf(ann.send("POST", { source: "camera" }))).toEqual([409, "not_recording"]);
    await must(room.act(ann.person.token, { do: "record" }));
    const run = await ann.begin();
    await ann.part(run, 0, webm(100));
    await must(room.act(ann.person.token, { do: "stopRecord" }));
    expect(await codeOf(ann.send("POST", { source: "screen" }))).toEqual([409, "not_recording"]);
    // What was begun goes on to its end.
    await ann.part(run, 100, webm(50));
    await ann.end(run._id);
    await listed(room, 1);
  });

  test("of what a participant may not share", async () => {
    const room = await recordedRoom({ ownerOnlyBroadcast: true });
    const host = await Page.open(room, { token: await room.accessToken({ isAdmin: true, disableVideo: true }) });
    const ann = await Page.open(room);
    for (const source of ["camera", "microphone", "screen"])
      expect(await codeOf(ann.send("POST", { source }))).toEqual([403, "action_not_permitted"]);
    expect(await codeOf(host.send("POST", { source: "camera" }))).toEqual([403, "action_not_permitted"]);
    await host.begin("microphone");
  });
});

test("calls of one stay are limited", async () => {
  const ann = await Page.open(await recordedRoom());
  const same = { "X-Forwarded-For": "10.8.0.1" };
  const path = `/room/${ann.room.name}/recording`;
  const ask = async (): Promise<number> =>
    (await ann.room.app.call("POST", path, {}, { bearer: ann.person.token, headers: same })).status;
  const beganMs = performance.now();
  const answers = await Promise.all(Array.from({ length: 60 + 60 * WORKERS }, ask));
  const refilled = Math.ceil((performance.now() - beganMs) / 1000);
  const accepted = answers.filter((status) => status === 400).length;
  expect(accepted).toBeWithin(60, 60 * WORKERS + refilled + 1);
  expect(answers.filter((status) => status === 429)).toHaveLength(answers.length - accepted);
});

test("the calls of a page of an allowed origin are answered for it", async () => {
  const room = await recordedRoom();
  await server.admin.call("PATCH", `/apps/${room.app.id}`, { allowedFrameOrigins: ["https://shop.example"] });
  const preflight = await fetch(`${server.url}/api/v1/room/${room.name}/recording`, {
    method: "OPTIONS",
    headers: {
      Host: room.app.host,
      Origin: "https://shop.example",
      "Access-Control-Request-Method": "DELETE",
    },
  });
  expect(preflight.headers.get("access-control-allow-origin")).toBe("https://shop.example");
  expect(preflight.headers.get("access-control-allow-methods")).toContain("DELETE");
});
