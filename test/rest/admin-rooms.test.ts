/** Rooms over the control plane. Every response is also checked against /openapi.json. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { CONFLICT, INVALID, NOT_FOUND, refused } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { call, type Json } from "../support/http.ts";

setDefaultTimeout(60_000);

type Room = Json & { readonly _id: string; readonly roomName: string };
interface List {
  readonly data: Room[];
  readonly next: string | null;
  readonly total: number;
}

const server = await checkedServerForTests();
const { admin } = server;

/** The same room over the application API. */
const overApplication = async (app: { name: string; secretKey: string }, roomName: string): Promise<unknown> =>
  (
    await call(`${server.url}/api/v1/room/${roomName}`, {
      bearer: app.secretKey,
      headers: { Host: `${app.name}.localhost` },
    })
  ).body;

test("a room is created, read, changed, renamed and archived, as over the application API", async () => {
  const app = await admin.createApp();
  const path = `/apps/${app.name}/rooms`;
  const made = await admin.must<Room>("POST", path, { roomName: "standup", privacy: "private", maxParticipants: 12 });
  expect(made).toMatchObject({
    roomName: "standup",
    app: app._id,
    privacy: "private",
    maxParticipants: 12,
    lang: "en",
  });
  expect(await admin.must<Room>("GET", `/apps/${app._id}/rooms/standup`)).toEqual({ ...made, waiting: [] });
  expect(await overApplication(app, "standup")).toEqual(made);
  const edit = { roomName: "retro", maxParticipants: null, meetingEndedWebhook: "https://hooks.example/<b>?a=1" };
  const changed = await admin.must<Room>("PUT", `${path}/standup`, edit);
  expect(changed).toMatchObject({ _id: made._id, roomName: "retro", meetingEndedWebhook: edit.meetingEndedWebhook });
  expect(changed).not.toHaveProperty("maxParticipants");
  expect(await overApplication(app, "retro")).toEqual(changed);
  expect(await admin.must<Room>("DELETE", `${path}/retro`)).toEqual({ ...changed, archived: true });
  await refused(admin, NOT_FOUND, "GET", `${path}/retro`);
  expect((await admin.must<Room>("POST", path, {})).roomName).toMatch(/^[a-z]{10}$/);
});

test("the list has pages, and is searched by a part of the name", async () => {
  const app = await admin.createApp();
  const path = `/apps/${app.name}/rooms`;
  expect(await admin.must<List>("GET", path)).toEqual({ data: [], next: null, total: 0 });
  for (let i = 0; i < 7; i++) await admin.must("POST", path, { roomName: i % 2 ? `Odd-${i}` : `even_${i}` });
  const seen: string[] = [];
  let after = "";
  for (let pages = 0; pages < 9; pages++) {
    const page = await admin.must<List>("GET", `${path}?limit=3${after}`);
    expect(page.total).toBe(7);
    seen.push(...page.data.map(({ roomName }) => roomName));
    if (page.next === null) break;
    after = `&after=${page.next}`;
  }
  expect(seen).toEqual(["even_6", "Odd-5", "even_4", "Odd-3", "even_2", "Odd-1", "even_0"]);
  const found = await admin.must<List>("GET", `${path}?search=oDD-&limit=2`);
  expect(found.data.map(({ roomName }) => roomName)).toEqual(["Odd-5", "Odd-3"]);
  const rest = await admin.must<List>("GET", `${path}?search=oDD-&limit=2&after=${found.next}`);
  expect([rest.data.map(({ roomName }) => roomName), rest.next]).toEqual([["Odd-1"], null]);
  expect((await admin.must<List>("GET", `${path}?search=%25`)).data).toEqual([]);
  expect(await refused(admin, INVALID, "GET", `${path}?after=elsewhere`)).toContain("after: is not the next");
  expect(await refused(admin, INVALID, "GET", `${path}?limit=0`)).toContain("limit:");
});

test("problems have the codes of the control plane, and say what to do", async () => {
  const app = await admin.createApp();
  const path = `/apps/${app.name}/rooms`;
  await admin.must("POST", path, { roomName: "a" });
  await admin.must("POST", path, { roomName: "b" });
  await refused(admin, CONFLICT, "POST", path, { roomName: "a" });
  await refused(admin, CONFLICT, "PUT", `${path}/a`, { roomName: "b" });
  expect(await refused(admin, INVALID, "POST", path, { privcy: "private" })).toContain("privacy");
  expect(await refused(admin, INVALID, "POST", path, { roomName: "<b>" })).toContain("roomName:");
  expect(await refused(admin, INVALID, "PUT", `${path}/a`, { lang: "<script>" })).toContain("lang:");
  for (const method of ["GET", "DELETE"])
    expect(await refused(admin, NOT_FOUND, method, `${path}/${encodeURIComponent("<b>/ü")}`)).toContain("room");
  for (const [method, rest, body] of [
    ["GET", ""],
    ["POST", "", {}],
    ["GET", "/a"],
    ["PUT", "/a", {}],
    ["DELETE", "/a"],
  ] as const) {
    const gone = await admin.createApp();
    await admin.must("DELETE", `/apps/${gone.name}`);
    for (const name of ["no-such-app", gone.name, gone._id])
      expect(await refused(admin, NOT_FOUND, method, `/apps/${name}/rooms${rest}`, body)).toContain("application");
  }
});
