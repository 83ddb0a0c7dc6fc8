/** Recordings over the control plane, in a folder. JSON responses are also checked against /openapi.json. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { newApplication } from "../support/application.ts";
import { INVALID, NOT_FOUND, refused } from "../support/checks.ts";
import { sessionAt, signOut } from "../support/dashboard.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { PausedDownload } from "../support/paused-download.ts";
import { Backend, type Recording, sha256, webm } from "../support/recordings.ts";
import { within } from "../support/wait.ts";

setDefaultTimeout(60_000);

interface List {
  readonly data: (Recording & { readonly roomName: string | null; readonly completed: number })[];
  readonly next: string | null;
  readonly total: number;
  readonly storage: { readonly recordings: number; readonly bytes: number; readonly uploading: number };
}

const server = await checkedServerForTests();
const { admin } = server;

async function newBackend(): Promise<{ backend: Backend; path: string }> {
  const backend = new Backend(await newApplication(server));
  return { backend, path: `/apps/${backend.app.name}/recordings` };
}

const idsOf = ({ data }: List): string[] => data.map(({ _id }) => _id);

describe("the list", () => {
  test("has the application's recordings in pages, with every filter, and what they take", async () => {
    const { backend, path } = await newBackend();
    expect(await admin.must<List>("GET", path)).toEqual({
      data: [],
      next: null,
      total: 0,
      storage: { recordings: 0, bytes: 0, uploading: 0 },
    });
    const room = await backend.room("standup");
    const made: Recording[] = [];
    for (let i = 0; i < 5; i++)
      made.push(
        await backend.record(
          { room, participantUsername: i % 2 ? "<b>eve</b>" : "ann", startTime: 100 + i },
          webm(10 + i),
        ),
      );
    const newestFirst = made.map(({ _id }) => _id).reverse();
    const first = await admin.must<List>("GET", `${path}?limit=3`);
    expect(first).toMatchObject({ total: 5, storage: { recordings: 5, bytes: 60 } });
    const completed = expect.closeTo(Date.now() / 1000, -2);
    expect(first.data[0]).toEqual({ ...(made[4] as Recording), roomName: "standup", completed });
    const second = await admin.must<List>("GET", `${path}?limit=3&after=${first.next}`);

    expect([...idsOf(first), ...idsOf(second), second.next]).toEqual([...newestFirst, null]);
    expect(idsOf(await admin.must<List>("GET", `${path}?limit=5&order=asc`))).toEqual(newestFirst.toReversed());
    expect((await admin.must<List>("GET", `${path}?limit=5`)).next).toBeNull();
    for (const [query, count] of [
      [`participantUsername=${encodeURIComponent("<b>eve</b>")}`, 2],
      ["room=standup&type=video", 5],
      [`meetingSession=${made[0]?.meetingSession}`, 1],
      [`participantSession=${made[0]?.participantSession}`, 1],
      ["startedAfter=101&startedBefore=104", 3],
      ["room=nothing", 0],
    ] as const)
      expect((await admin.must<List>("GET", `${path}?${query}`)).total).toBe(count);
    expect(await admin.must<Recording>("GET", `${path}/${made[1]?._id}`)).toMatchObject({
      participantUsername: "<b>eve</b>",
      roomName: "standup",
      roomArchived: false,
      meeting: null,
    });
    await admin.must("DELETE", `/apps/${backend.app.name}/rooms/standup`);
    const [afterwards] = (await admin.must<List>("GET", path)).data;
    expect(afterwards?.roomName).toBe("standup");
    expect(await admin.must<Recording>("GET", `${path}/${afterwards?._id}`)).toMatchObject({
      roomName: "standup",
      roomArchived: true,
    });
  });

  test("refuses cursors and filters that are none, and applications that are not there", async () => {
    const { backend, path } = await newBackend();
    for (const after of ["x", "0".repeat(24)])
      expect(await refused(admin, INVALID, "GET", `${path}?after=${after}`)).toBe(
        "after: is not the next of an earlier page",
      );
    expect(await refused(admin, INVALID, "GET", `${path}?type=film`)).toContain("type:");
    const { _id } = await backend.record();
    await admin.must("DELETE", `/apps/${backend.app.name}`);
    for (const app of [backend.app.name, backend.app.id, "nothing"])
      for (const [method, rest] of [
        ["GET", ""],
        ["DELETE", "?type=video"],
        ["GET", `/${_id}`],
        ["DELETE", `/${_id}`],
        ["GET", `/${_id}/file`],
      ] as const)
        expect(await refused(admin, NOT_FOUND, method, `/apps/${app}/recordings${rest}`)).toContain("application");
  });
});

describe("deleting", () => {
  test("one, some and all that match: rows, bytes and the storage used", async () => {
    const { backend, path } = await newBackend();
    const room = await backend.room();
    const made: Recording[] = [];
    for (const type of ["video", "video", "audio", "audio", "screen"])
      made.push(await backend.record({ room, type }, webm(10)));
    const [one, two, three, four, five] = made.map(({ _id }) => _id);
    expect(await admin.must("DELETE", `${path}/${one}`)).toEqual({ ...made[0], deleted: expect.any(Number) as number });
    await refused(admin, NOT_FOUND, "DELETE", `${path}/${one}`);
    const other = await newBackend();
    const foreign = await other.backend.record();
    expect(await admin.must("DELETE", `${path}?id=${two}&id=${three}&id=${two}&id=${foreign._id}`)).toEqual({
      deleted: 2,
    });
    expect((await admin.must<List>("GET", other.path)).total).toBe(1);
    expect(await admin.must("DELETE", `${path}?type=audio`)).toEqual({ deleted: 1 });
    const left = await admin.must<List>("GET", path);
    expect([idsOf(left), left.storage]).toEqual([[five ?? ""], { recordings: 1, bytes: 10, uploading: 0 }]);
    expect((await admin.call("GET", `${path}/${four}/file`)).status).toBe(404);
  });

  test("needs a filter or ids, and refuses what is unclear", async () => {
    const { backend, path } = await newBackend();
    const { _id } = await backend.record();
    expect(await refused(admin, INVALID, "DELETE", path)).toContain("At least one filter");
    for (const query of [
      "typ=video",
      "type=video&type=video",
      `id=${_id}&type=video`,
      "id=x",
      "id=",
      `${Array.from({ length: 101 }, (_, i) => `id=${i.toString(16).padStart(24, "0")}`).join("&")}`,
    ])
      expect(await refused(admin, INVALID, "DELETE", `${path}?${query}`)).toContain("nothing was deleted");
    expect((await admin.must<List>("GET", path)).total).toBe(1);
  });
});

describe("the bytes", () => {
  const ask = (path: string, headers: Record<string, string> = {}, token = admin.token): Promise<Response> =>
    fetch(`${server.url}/api/internal/v1${path}`, { headers: { Authorization: `Bearer ${token}`, ...headers } });

  test("come whole, in part, and as a download, with headers that keep them from being run", async () => {
    const { backend, path } = await newBackend();
    const bytes = webm(100_000);
    const { _id, downloadName } = await backend.record({}, bytes);
    const whole = await ask(`${path}/${_id}/file`);
    expect(whole.status).toBe(200);
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      "content-type": "video/webm",
      "content-length": "100000",
      "content-disposition": `inline; filename="${downloadName}"`,
      "content-security-policy": "sandbox",
      "x-content-type-options": "nosniff",
      "cache-control": "private, no-store",
    });
    expect(sha256(await whole.bytes())).toBe(sha256(bytes));
    const part = await ask(`${path}/${_id}/file`, { Range: "bytes=99990-" });
    expect([part.status, part.headers.get("content-range")]).toEqual([206, "bytes 99990-99999/100000"]);
    expect(await part.bytes()).toEqual(bytes.slice(99_990));
    const beyond = await ask(`${path}/${_id}/file`, { Range: "bytes=100000-" });
    expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, "bytes */100000"]);
    const download = await ask(`${path}/${_id}/file?download=1`);
    expect(download.headers.get("content-disposition")).toBe(`attachment; filename="${downloadName}"`);
    await download.body?.cancel();
    expect((await ask(`${path}/${_id}/file?download=yes`)).status).toBe(400);
    expect((await ask(`${path}/${_id}/file`, {}, "wrong")).status).toBe(401);
    const other = await newBackend();
    expect((await ask(`${other.path}/${_id}/file`)).status).toBe(404);
  });

  test("are cut when their operator is revoked, or signs out, while others go on", async () => {
    const { backend, path } = await newBackend();
    const bytes = webm(24 * 1024 * 1024);
    const { _id } = await backend.record({}, bytes);
    const file = `/api/internal/v1${path}/${_id}/file`;
    const operator = await admin.must<{ _id: string; token: string }>("POST", "/operators", {
      name: "cut",
      role: "admin",
    });
    const cookie = await sessionAt(server.url, admin.token);
    const begin = (headers: Record<string, string>) => PausedDownload.begin(server.url, file, headers);
    const revoked = await begin({ Authorization: `Bearer ${operator.token}` });
    const signedOut = await begin({ Cookie: cookie, "Sec-Fetch-Site": "same-origin" });
    const other = ask(`${path}/${_id}/file`).then(async (response) => sha256(await response.bytes()));
    for (const { head } of [revoked, signedOut]) expect(head).toStartWith("HTTP/1.1 200");
    await admin.must("DELETE", `/operators/${operator._id}`);
    await signOut(server.url, cookie);
    for (const one of [revoked, signedOut])
      expect(await within("it is cut", one.rest())).toBeLessThan(bytes.length * 0.9);
    expect(await other).toBe(sha256(bytes));
  });

  test("that are no video are an attachment", async () => {
    const { backend, path } = await newBackend();
    const { _id } = await backend.record({}, Buffer.from("<!doctype html><script>alert(1)</script>"));
    const { headers } = await ask(`${path}/${_id}/file`);
    expect(headers.get("content-type")).toBe("application/octet-stream");
    expect(headers.get("content-disposition")).toStartWith("attachment");
  });
});
