/** Thumbnails of recordings and when people spoke: what an upload takes, who can read it, and that it goes with its recording. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { frame, JPEG, made, segment } from "../../src/recordings/testing/jpeg.ts";
import { newRoom } from "../conformance/raw/support/rooms.ts";
import { newApplication } from "../support/application.ts";
import { sessionAt } from "../support/dashboard.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import type { Answer, Json } from "../support/http.ts";
import { Backend, type Begun, type Recording, webm } from "../support/recordings.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(60_000);

const server = await checkedServerForTests();
const { admin } = server;
const IMAGE = { "Content-Type": "image/jpeg" };

const beside = ({ uploadUrl }: Begun, what: "thumbnail" | "speech"): string => uploadUrl.replace("?", `/${what}?`);

/** The status, and the code of a refusal. */
async function outcome(call: Promise<Answer<unknown>>): Promise<unknown> {
  const { status, body } = await call;
  return status === 200 ? 200 : [status, (body as { error: { code: string } }).error.code];
}

class Sender extends Backend {
  thumbnail(run: Begun, bytes: Uint8Array, headers = IMAGE): Promise<unknown> {
    return outcome(this.put(beside(run, "thumbnail"), bytes, headers));
  }

  speech(run: Begun, intervals: unknown): Promise<unknown> {
    return outcome(this.put(beside(run, "speech"), { intervals }, { "Content-Type": "application/json" }));
  }

  async finish(run: Begun): Promise<Recording & Json> {
    await this.mustPut(run.uploadUrl, webm(100));
    return this.app.must("POST", `/recording/${run._id}/complete`);
  }
}

const sender = async (): Promise<Sender> => new Sender(await newApplication(server));
const read = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${server.url}/api/internal/v1${path}`, {
    headers: { Authorization: `Bearer ${admin.token}`, ...headers },
  });

test("what was sent with an upload is read with its recording, counted with it, and goes with it", async () => {
  const backend = await sender();
  const path = `/apps/${backend.app.name}/recordings`;
  const run = await backend.begin({ meetingSession: "m1", participantSession: "p1" });
  expect(await backend.thumbnail(run, JPEG)).toBe(200);
  expect(await backend.speech(run, [[0, 400]])).toBe(200);
  expect(
    await backend.speech(run, [
      [1200, 3400],
      [9000, 12_540],
    ]),
  ).toBe(200);
  for (const what of ["thumbnail", "speech"])
    expect((await backend.app.call("GET", `/recording/${run._id}/${what}`)).status).toBe(404);
  const other = await backend.begin({ meetingSession: "m1", participantUsername: "ben" });
  expect(await backend.finish(run)).toMatchObject({ hasThumbnail: true, speechMs: 5700 });
  expect(await backend.finish(other)).not.toHaveProperty("speechMs");
  expect(await backend.thumbnail(run, JPEG)).toEqual([409, "upload_complete"]);
  expect(await backend.speech(run, [])).toEqual([409, "upload_complete"]);

  const spoken = [
    [1200, 3400],
    [9000, 12_500],
  ];
  expect(await backend.app.must("GET", `/recording/${run._id}/speech`)).toMatchObject({ intervals: spoken });
  expect(await backend.app.must("GET", `/recording/${other._id}/speech`)).toMatchObject({ intervals: null });
  const list = (after = ""): Promise<{ data: Json[]; next: string | null }> =>
    admin.must("GET", `/apps/${backend.app.name}/speech?meetingSession=m1&limit=1${after && `&after=${after}`}`);
  const first = await list();
  expect(first).toMatchObject({ data: [{ _id: run._id, participantSession: "p1", intervals: spoken }] });
  expect(await list(String(first.next))).toMatchObject({
    data: [{ _id: other._id, participantUsername: "ben", intervals: null }],
    next: null,
  });

  const file = await read(`${path}/${run._id}/thumbnail`);
  const bytes = await file.bytes();
  expect([...bytes.subarray(0, 3)]).toEqual([0xff, 0xd8, 0xff]);
  expect(Buffer.from(bytes).includes("Lavc")).toBe(false);
  for (const [name, value] of [
    ["content-type", "image/jpeg"],
    ["x-content-type-options", "nosniff"],
    ["content-security-policy", "default-src 'none'; sandbox"],
    ["cross-origin-resource-policy", "same-origin"],
    ["cache-control", "private, no-store"],
  ] as const)
    expect(file.headers.get(name)).toBe(value);
  const { storage } = await admin.must<{ storage: { bytes: number } }>("GET", path);
  expect(storage.bytes).toBeGreaterThanOrEqual(200 + bytes.length);
  expect((await read(`${path}/${other._id}/thumbnail`)).status).toBe(404);
  await admin.must("DELETE", `${path}/${run._id}`);
  expect((await read(`${path}/${run._id}/thumbnail`)).status).toBe(404);
  expect((await admin.must<{ storage: object }>("GET", path)).storage).toMatchObject({ recordings: 1, bytes: 100 });
});

test("a thumbnail is for the role admin and for the page itself; who spoke when is for every operator", async () => {
  const backend = await sender();
  const run = await backend.begin({ meetingSession: "m2" });
  await backend.thumbnail(run, JPEG);
  await backend.finish(run);
  const thumbnail = `/apps/${backend.app.name}/recordings/${run._id}/thumbnail`;
  const { token } = await admin.must<{ token: string }>("POST", "/operators", { name: "thumb", role: "read" });
  const asReader = { Authorization: `Bearer ${token}` };
  expect((await read(thumbnail, asReader)).status).toBe(403);
  expect((await read(`/apps/${backend.app.name}/speech?meetingSession=m2`, asReader)).status).toBe(200);
  const cookie = await sessionAt(server.url, admin.token);
  const ask = async (site: string): Promise<number> =>
    (await read(thumbnail, { Authorization: "", Cookie: cookie, "Sec-Fetch-Site": site })).status;
  expect(await Promise.all(["same-origin", "same-site", "cross-site"].map(ask))).toEqual([200, 403, 403]);
  const foreign = await sender();
  expect((await foreign.app.call("GET", `/recording/${run._id}/thumbnail`)).status).toBe(404);
  expect((await foreign.app.call("GET", `/recording/${run._id}/speech`)).status).toBe(404);
});

test("what is no small JPEG is refused, whatever it says that it is, and nothing of it is kept", async () => {
  const backend = await sender();
  const run = await backend.begin();
  const bytes = (text: string): Uint8Array => Buffer.from(text);
  expect(await backend.thumbnail(run, new Uint8Array(21 * 1024))).toEqual([413, "body_too_large"]);
  const refused = [400, "invalid_request"];
  for (const body of [
    new Uint8Array(),
    bytes("<!doctype html><script>alert(1)</script>"),
    bytes("GIF89a\x01\0\x01\0"),
    // A page behind an image, an image that ends too early, one of 65,535 pixels a side, a table with a page in it.
    Buffer.concat([JPEG, bytes("<html><script>alert(1)</script>")]),
    JPEG.subarray(0, JPEG.length - 10),
    made(frame(65_535, 65_535)),
    made(undefined, segment(0xdb, 0, ...Array<number>(64).fill(1), ...bytes("<script>"))),
  ])
    expect(await backend.thumbnail(run, body)).toEqual(refused);
  for (const intervals of [
    undefined,
    "x",
    [[1, 1]],
    [[5, 1]],
    [
      [0, 5],
      [4, 9],
    ],
    [[-1, 5]],
    [[0, 1e12]],
    [[0, 1, 2]],
    Array.from({ length: 2001 }, (_, n) => [n * 10, n * 10 + 5]),
  ])
    expect(await backend.speech(run, intervals)).toEqual(refused);
  expect(await backend.finish(run)).not.toHaveProperty("hasThumbnail");
  // A comment with a script is no part of the image.
  const next = await backend.begin();
  expect(await backend.thumbnail(next, made(undefined, segment(0xfe, ...bytes("<script>alert(1)"))))).toBe(200);
  await backend.finish(next);
  const kept = await read(`/apps/${backend.app.name}/recordings/${next._id}/thumbnail`);
  expect(Buffer.from(await kept.bytes()).includes("script")).toBe(false);
});

test("only the address of an upload writes to it, and only while it is open", async () => {
  const [backend, foreign] = [await sender(), await sender()];
  const [run, mine] = [await backend.begin(), await backend.begin()];
  const withProofOf = (one: Begun, of: Begun): Begun => ({
    ...one,
    uploadUrl: one.uploadUrl.replace(/\?.*/, new URL(of.uploadUrl).search),
  });
  const forged = [403, "link_not_valid"];
  for (const other of [withProofOf(run, mine), { ...run, uploadUrl: run.uploadUrl.replace(/proof=./, "proof=_") }]) {
    expect(await backend.thumbnail(other, JPEG)).toEqual(forged);
    expect(await backend.speech(other, [])).toEqual(forged);
  }
  expect(await foreign.thumbnail(run, JPEG)).toEqual(forged);
  const gone = [404, "recording_not_found"];
  await backend.app.must("DELETE", `/recording/${mine._id}`);
  expect([await backend.thumbnail(mine, JPEG), await backend.speech(mine, [])]).toEqual([gone, gone]);
});

test("a person who was removed from the meeting sends neither", async () => {
  const room = await newRoom(server, { recordRoom: true });
  const backend = new Sender(room.app);
  const [eve, ann] = [await room.inside(), await room.inside()];
  const begin = async ({ token }: { token: string }): Promise<Begun> => {
    const answer = await room.app.call<Begun & Json>(
      "POST",
      `/room/${room.name}/recording`,
      { source: "camera" },
      { bearer: token },
    );
    return answer.body;
  };
  const [hers, his] = [await begin(eve), await begin(ann)];
  for (const run of [hers, his]) {
    expect(await backend.thumbnail(run, JPEG)).toBe(200);
    await backend.put(run.uploadUrl, webm(100), { "Content-Range": "bytes 0-99/*" });
  }
  await room.app.must("DELETE", `/room/${room.name}/participant/${eve.id}`);
  const [status] = (await backend.thumbnail(hers, JPEG)) as [number];
  expect([403, 409]).toContain(status);
  expect(await backend.speech(his, [[0, 1000]])).toBe(200);
  // What came before is kept, with the moment at which the recorder was started.
  let removed: (Recording & Json) | undefined;
  await until(
    "the recording",
    async () => {
      [removed] = (await backend.list({ participantSession: eve.id })).data as (Recording & Json)[];
      return removed !== undefined;
    },
    50_000,
  );
  expect(removed).toMatchObject({ hasThumbnail: true });
  expect(Number(removed?.startTimeMs) / 1000 - Number(removed?.startTime)).toBeWithin(0, 1);
});
