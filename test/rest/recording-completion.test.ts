/** Uploads begin and complete: POST /recording and POST /recording/:id/complete, row by row. */
import { beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { expectAppRefusal, newApplication } from "../support/application.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { nowSeconds } from "../support/jwt.ts";
import { startParley } from "../support/parley.ts";
import { Backend, isRefusal, webm } from "../support/recordings.ts";

setDefaultTimeout(60_000);

const server = await checkedServerForTests();
let backend: Backend;
beforeEach(async () => {
  backend = new Backend(await newApplication(server));
});

const HEX24 = /^[0-9a-f]{24}$/;

const range = (first: number, last: number, total: number | string) => ({
  "Content-Range": `bytes ${first}-${last}/${total}`,
});

describe("POST /recording", () => {
  test("returns _id and uploadUrl; absent sessions are fresh 24-hex ids, absent startTime is now", async () => {
    const before = nowSeconds();
    const begun = await backend.begin();
    expect(begun).toEqual({
      _id: expect.stringMatching(HEX24) as unknown as string,
      uploadUrl: expect.stringMatching(
        new RegExp(`^http://${backend.app.host}/api/v1/upload/[0-9a-f]{24}\\?proof=[\\w-]{43}$`),
      ) as unknown as string,
    });
    await backend.mustPut(begun.uploadUrl, webm(10));
    const one = await backend.complete(begun._id);
    const other = await backend.record();
    expect([one.meetingSession, one.participantSession].every((id) => HEX24.test(id))).toBe(true);
    expect(new Set([one, other].flatMap((row) => [row.meetingSession, row.participantSession])).size).toBe(4);
    expect(one.startTime).toBeWithin(before, nowSeconds() + 1);
  });

  test("room must name an existing room, by id or name", async () => {
    const id = await backend.room("here");
    expect((await backend.record({ room: "here" })).room).toBe(id);
    expect((await backend.record({ room: id })).room).toBe(id);
    await backend.app.must("DELETE", "/room/here");
    const foreign = await new Backend(await newApplication(server)).room("theirs");
    for (const room of ["here", id, "nowhere", "f".repeat(24), foreign, "theirs"]) {
      const answer = await backend.app.call("POST", "/recording", { room, participantUsername: "a", type: "video" });
      expectAppRefusal(answer, 404, "room_not_found");
    }
  });

  test("null means absent, and a fraction of a second is cut off", async () => {
    const absent = await backend.record({ startTime: null, meetingSession: null, participantSession: null });
    expect([absent.meetingSession, absent.participantSession].every((id) => HEX24.test(id))).toBe(true);
    expect((await backend.record({ startTime: 1000.9 })).startTime).toBe(1000);
  });

  const WRONG: Readonly<Record<string, readonly unknown[]>> = {
    room: [undefined, null, 1, true, {}, [], "", "a b", "../x", "x".repeat(129), "x".repeat(1e5)],
    participantUsername: [undefined, null, 1, {}, [], "", "a\nb", "\u0000", "\ud800", "x".repeat(257), "x".repeat(1e5)],
    type: [undefined, null, 1, "", "film", "VIDEO", {}, "x".repeat(1e5)],
    startTime: ["1000", -1, 1e15, true, {}],
    meetingSession: [1, "", "a\u0007", {}, "x".repeat(129)],
    participantSession: [1, "", "\t", [], "x".repeat(129)],
  };
  test.each(Object.entries(WRONG).flatMap(([field, values]) => values.map((value) => [field, value] as const)))(
    "%s: %p is 400 and names the field",
    async (field, value) => {
      const good = { room: await backend.room(), participantUsername: "ann", type: "video" };
      const answer = await backend.app.call("POST", "/recording", { ...good, [field]: value });
      const { error } = expectAppRefusal(answer, 400, "invalid_request");
      expect(error.details?.map((one) => one.field)).toContain(field);
    },
  );

  test("a text of 1 MB is 413", async () => {
    const body = { room: "x", participantUsername: "x".repeat(1e6), type: "video" };
    expect((await backend.app.call("POST", "/recording", body)).status).toBe(413);
  });

  test("an application has at most 20 open uploads, also with requests at the same time; completing or deleting frees one", async () => {
    const room = await backend.room();
    const body = { room, participantUsername: "ann", type: "video" };
    const answers = await Promise.all(Array.from({ length: 25 }, () => backend.app.call("POST", "/recording", body)));
    const good = answers.filter(({ status }) => status === 200);
    expect(good).toHaveLength(20);
    for (const answer of answers.filter(({ status }) => status !== 200))
      expectAppRefusal(answer, 409, "too_many_uploads");
    await backend.app.must("DELETE", `/recording/${good[0]?.body._id}`);
    await backend.mustPut(String(good[1]?.body.uploadUrl), webm(1));
    await backend.complete(String(good[1]?.body._id));
    await backend.begin({ room });
    await backend.begin({ room });
    expectAppRefusal(await backend.app.call("POST", "/recording", body), 409, "too_many_uploads");
    await new Backend(await newApplication(server)).begin();
  });

  test("a form is accepted too, and unknown fields are named", async () => {
    const room = await backend.room();
    const { status, headers } = await backend.app.call(
      "POST",
      "/recording",
      `room=${room}&participantUsername=ann&type=audio&startTime=1000&colour=red`,
      { headers: { "Content-Type": "application/x-www-form-urlencoded" } },
    );
    expect([status, headers.get("x-parley-ignored")]).toEqual([200, "colour"]);
  });
});

describe("POST /recording/:id/complete", () => {
  test("is 409 with the offset while bytes are missing; the recording is not listed before", async () => {
    const { _id, uploadUrl } = await backend.begin();
    const complete = () => backend.app.call<{ offset: number }>("POST", `/recording/${_id}/complete`);
    const missing = (offset: number) => ({ status: 409, code: "upload_incomplete", offset });
    expect(isRefusal(await complete())).toEqual(missing(0));
    await backend.mustPut(uploadUrl, webm(10), range(0, 9, 20));
    expect(isRefusal(await complete())).toEqual(missing(10));
    expect((await backend.list()).data).toEqual([]);
    await backend.mustPut(uploadUrl, webm(10), range(10, 19, 20));
    expect((await backend.list()).data).toEqual([]);
    expect((await complete()).status).toBe(200);
    expect((await backend.list()).data.map((one) => one._id)).toEqual([_id]);
  });

  test("a repeated call responds the same, also with several at once", async () => {
    const { _id, uploadUrl } = await backend.begin();
    await backend.mustPut(uploadUrl, webm(10));
    const path = `/recording/${_id}/complete`;
    const answers = await Promise.all(Array.from({ length: 6 }, () => backend.app.call("POST", path)));
    for (const { status, body } of answers) expect([status, body]).toEqual([200, answers[0]!.body]);
    expect(await backend.app.must("POST", path, { endTime: 5 })).toEqual(answers[0]!.body);
    expect((await backend.list()).total).toBe(1);
  });

  test("is 404 for another application's upload and for an unknown one", async () => {
    const { _id } = await backend.begin();
    const other = await newApplication(server);
    expectAppRefusal(await other.call("POST", `/recording/${_id}/complete`), 404, "recording_not_found");
    expectAppRefusal(await other.call("POST", "/recording/x/complete"), 404, "recording_not_found");
  });

  test("sets the ending of fileName by the file's signature: .webm, .ogg, .mp4", async () => {
    const heads = { ogg: "OggS\0\x02", mp4: "\0\0\0\x20ftypisom", webm: "<!doctype html><script>alert(1)</script>" };
    for (const [extension, head] of Object.entries(heads)) {
      const { fileName } = await backend.record({}, Buffer.from(head, "latin1"));
      expect(fileName).toMatch(new RegExp(`^[0-9a-f-]{36}\\.${extension}$`));
    }
    expect((await backend.record({}, webm(100))).fileName).toEndWith(".webm");
  });
});

test("with too little free disk space: 507, at the start and during an upload; nothing is listed or lost", async () => {
  await using full = await startParley({ env: { PARLEY_MIN_FREE_DISK_BYTES: String(2 ** 52) } });
  const poor = new Backend(await newApplication(full));
  const body = { room: await poor.room(), participantUsername: "ann", type: "video" };
  expectAppRefusal(await poor.app.call("POST", "/recording", body), 507, "insufficient_storage");
  expect((await poor.list()).total).toBe(0);
});
