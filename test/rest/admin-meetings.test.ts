/** Meetings over the control plane, with people who really enter. Every response is also checked against /openapi.json. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { newRoom, ROOMS_ENV, type Room } from "../conformance/raw/support/rooms.ts";
import { Admin } from "../support/admin.ts";
import { CONFLICT, INVALID, NOT_FOUND, refused } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import type { Json } from "../support/http.ts";
import { Backend } from "../support/recordings.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(60_000);

interface Participant extends Json {
  readonly _id: string;
  readonly name: string;
  readonly endReason?: string;
}
interface Meeting extends Json {
  readonly _id: string;
  readonly active: boolean;
  readonly inside?: number;
  readonly participants?: Participant[];
}
interface List {
  readonly data: Meeting[];
  readonly next: string | null;
  readonly total: number;
}
interface Link {
  readonly url: string;
  readonly expiresAt: number;
}

const server = await checkedServerForTests({ env: ROOMS_ENV });
const { admin } = server;

const pathOf = ({ app, name }: Room): string => `/apps/${app.name}/rooms/${name}`;
const meetings = (room: Room, query = ""): Promise<List> =>
  admin.must<List>("GET", `/apps/${room.app.name}/meetings${query}`);
const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** The audit of this application, newest first, without who and when. */
async function audited(room: Room): Promise<Json[]> {
  const { data } = await admin.must<{ data: Json[] }>("GET", `/audit?app=${room.app.name}`);
  return data.map(({ what, on, after }) => ({ what, on, after }));
}

test("who waits in the lobby of a room is in the answer about the room, until they are let in or leave", async () => {
  const room = await newRoom(server, { privacy: "private" });
  const waiting = async (): Promise<Json[]> => (await admin.must<{ waiting: Json[] }>("GET", pathOf(room))).waiting;
  expect(await waiting()).toEqual([]);
  const [ann, bob] = [await room.enter({ name: "Ann" }), await room.enter({ name: "<b>Bob</b>" })];
  const since = expect.any(Number) as number;
  expect(await waiting()).toEqual([
    { name: "Ann", since },
    { name: "<b>Bob</b>", since },
  ]);
  const host = await room.inside({ token: await room.accessToken({ name: "Host", isAdmin: true }) });
  await room.act(host.token, { do: "admit", waitId: ann.id });
  expect(await waiting()).toEqual([{ name: "<b>Bob</b>", since }]);
  bob.wire.drop();
});

test("a meeting is listed while it goes on, with its people, and one of them is put out", async () => {
  const room = await newRoom(server);
  expect(await meetings(room)).toEqual({ data: [], next: null, total: 0 });
  const token = await room.accessToken({ name: "Ann", externalUserId: "u-1", isAdmin: true });
  const ann = await room.inside({ token });
  const bob = await room.inside({ name: "Bob" });
  const list = await meetings(room, "?active=true");
  expect(list).toMatchObject({
    data: [{ _id: ann.join.meetingSession, roomName: room.name, active: true, inside: 2, people: 2, recorded: false }],
    next: null,
    total: 1,
  });
  expect((await meetings(room, "?active=false")).data).toEqual([]);
  const one = `/apps/${room.app.id}/meetings/${ann.join.meetingSession}`;
  const { participants } = await admin.must<Meeting>("GET", one);
  expect(participants).toMatchObject([
    { _id: ann.id, name: "Ann", externalUserId: "u-1", isAdmin: true, isGuest: false },
    { _id: bob.id, name: "Bob", isAdmin: false, isGuest: true },
  ]);
  expect(participants?.[1]).not.toHaveProperty("endTime");
  await admin.must("DELETE", `${pathOf(room)}/participants/${bob.id}`);
  expect(await bob.wire.closed()).toMatchObject({ code: 4021, reason: "removed" });
  const after = await admin.must<Meeting>("GET", one);
  expect(after.participants?.[1]).toMatchObject({ endTime: expect.any(Number) as number, endReason: "removed" });
  expect(await refused(admin, NOT_FOUND, "DELETE", `${pathOf(room)}/participants/${bob.id}`)).toContain(
    "participantSession",
  );
  expect((await audited(room))[0]).toEqual({
    what: "participant removed",
    on: room.name,
    after: { participantSession: bob.id },
  });
});

test("a meeting is ended for all participants, once", async () => {
  const room = await newRoom(server);
  const [ann, bob] = [await room.inside({ name: "Ann" }), await room.inside({ name: "Bob" })];
  // By the room's id: it may have been renamed meanwhile.
  await admin.must("PUT", pathOf(room), { roomName: `${room.name}-new` });
  expect(await admin.must<Json>("POST", `/apps/${room.app.name}/rooms/${room.id}/end`, {})).toEqual({ ended: 2 });
  await admin.must("PUT", `${pathOf(room)}-new`, { roomName: room.name });
  for (const { wire } of [ann, bob]) expect(await wire.closed()).toMatchObject({ code: 4021, reason: "ended" });
  expect(await admin.must<Json>("POST", `${pathOf(room)}/end`, {})).toEqual({ ended: 0 });
  const [over] = (await meetings(room, "?active=false")).data;
  expect(over).toMatchObject({ active: false, people: 2, endTime: expect.any(Number) as number });
  expect(over).not.toHaveProperty("inside");
  const whole = await admin.must<Meeting>("GET", `/apps/${room.app.name}/meetings/${over?._id}`);
  expect(whole.participants?.map(({ endReason }) => endReason)).toEqual(["ended", "ended"]);
  expect((await audited(room)).filter(({ what }) => what === "meeting ended")).toEqual([
    { what: "meeting ended", on: `${room.name}-new`, after: { participants: 2 } },
  ]);
});

test("recording is started and stopped, by the room's name or id; each change is audited once", async () => {
  const room = await newRoom(server);
  const post = (what: string, of = room.name): Promise<Json> =>
    admin.must<Json>("POST", `/apps/${room.app.name}/rooms/${of}/recording/${what}`, {});
  for (const what of ["start", "stop"]) {
    const path = `${pathOf(room)}/recording/${what}`;
    expect(await refused(admin, NOT_FOUND, "POST", path, {})).toContain("room");
    expect(await refused(admin, NOT_FOUND, "POST", path.replace(room.name, "nothing"), {})).toContain("room");
  }
  const { join } = await room.inside({ name: "Ann" });
  const recording = async (): Promise<unknown> =>
    (await admin.must<Meeting>("GET", `/apps/${room.app.name}/meetings/${join.meetingSession}`)).recording;
  expect([await post("start"), await post("start", room.id)]).toEqual([{ recording: true }, { recording: true }]);
  expect(await recording()).toEqual({ by: "", since: expect.closeTo(nowSeconds(), -1) as number });
  expect((await meetings(room)).data[0]?.recording).toEqual(await recording());
  expect([await post("stop", room.id), await post("stop")]).toEqual([{ recording: false }, { recording: false }]);
  expect(await recording()).toBeUndefined();
  expect((await audited(room)).filter(({ what }) => String(what).startsWith("recording"))).toEqual([
    { what: "recording stopped", on: room.name },
    { what: "recording started", on: room.name },
  ]);
  const reader = await admin.must<{ token: string }>("POST", "/operators", { name: "watcher", role: "read" });
  const { status } = await new Admin(server.url, reader.token).call("POST", `${pathOf(room)}/recording/start`, {});
  expect([status, await recording()]).toEqual([403, undefined]);
});

test("a recording says which meeting it is of, and when that began", async () => {
  const room = await newRoom(server);
  const { join } = await room.inside({ name: "Ann" });
  const session = { meetingSession: join.meetingSession, participantSession: join.participantSession };
  const { _id } = await new Backend(room.app).record({ room: room.name, ...session });
  const one = `/apps/${room.app.name}/recordings/${_id}`;
  const meeting = { _id: join.meetingSession, active: true, startTime: expect.closeTo(nowSeconds(), -1) as number };
  expect(await admin.must<Json>("GET", one)).toMatchObject({ ...session, meeting });
  await admin.must("POST", `${pathOf(room)}/end`, {});
  expect(await admin.must<Json>("GET", one)).toMatchObject({ meeting: { ...meeting, active: false } });
});

test("the list has pages and filters, and a meeting of another application is not found", async () => {
  const room = await newRoom(server);
  const other = await newRoom(server, {}, room.app);
  const begun = nowSeconds();
  for (const of of [room, room, other]) {
    await of.inside({ name: "Ann" });
    await admin.must("POST", `${pathOf(of)}/end`, {});
  }
  const first = await meetings(room, "?limit=2");
  expect([first.data.map(({ roomName }) => roomName), first.total]).toEqual([[other.name, room.name], 3]);
  const rest = await meetings(room, `?limit=2&after=${first.next}`);
  expect([rest.data.map(({ roomName }) => roomName), rest.next]).toEqual([[room.name], null]);
  expect((await meetings(room, `?room=${other.id}`)).total).toBe(1);
  expect((await meetings(room, `?room=${room.name}&startedAfter=${begun}`)).total).toBe(2);
  expect((await meetings(room, `?startedBefore=${begun}`)).total).toBe(0);
  expect(await refused(admin, INVALID, "GET", `/apps/${room.app.name}/meetings?after=elsewhere`)).toContain("after:");
  const unknown = "0".repeat(24);
  expect(await refused(admin, INVALID, "GET", `/apps/${room.app.name}/meetings?after=${unknown}`)).toContain("after:");
  const stranger = await newRoom(server);
  for (const id of [first.data[0]?._id, unknown])
    expect(await refused(admin, NOT_FOUND, "GET", `/apps/${stranger.app.name}/meetings/${id}`)).toContain("meeting");
});

test("a link for a host lets its holder into a private room as an admin, and is audited without its token", async () => {
  const room = await newRoom(server, { privacy: "private", enableRequestToJoin: false });
  const { url, expiresAt } = await admin.must<Link>("POST", `${pathOf(room)}/host-link`, { name: "Ann" });
  const { port } = new URL(server.url);
  const [page, token = ""] = url.split("#token=");
  expect(page).toBe(`http://${room.app.name}.localhost:${port}/${room.name}`);
  expect(expiresAt - nowSeconds()).toBeWithin(14 * 60, 15 * 60 + 1);
  const host = await room.inside({ token });
  expect(host.join).toMatchObject({ isAdmin: true, isGuest: false, name: "Ann" });
  expect((await room.tryJoin({})).status).toBe(403);
  const entries = await audited(room);
  expect(entries[0]).toEqual({ what: "host link made", on: room.name, after: { expiresAt, name: "Ann" } });
  expect(JSON.stringify(entries)).not.toContain(token.slice(0, 20));
  expect(server.output).not.toContain(token.slice(-40));
});

test("a link for a host is valid for as long as asked, but not after the room closes, and for 90 days at most", async () => {
  const day = 86_400;
  const room = await newRoom(server);
  const link = `${pathOf(room)}/host-link`;
  for (const validSec of [60, 7 * day, 90 * day]) {
    const { expiresAt } = await admin.must<Link>("POST", link, { validSec });
    expect(expiresAt - nowSeconds()).toBeWithin(validSec - 60, validSec + 1);
  }
  for (const validSec of [0, 90 * day + 1, 1.5, "60"])
    expect(await refused(admin, INVALID, "POST", link, { validSec })).toContain("validSec:");
  const closes = nowSeconds() + 8 * day;
  await admin.must("PUT", pathOf(room), { notBeforeUnixSec: closes - 3600, expireUnixSec: closes });
  const { url, expiresAt } = await admin.must<Link>("POST", link, { validSec: 30 * day });
  expect(expiresAt).toBe(closes);
  expect((await audited(room))[0]).toEqual({ what: "host link made", on: room.name, after: { expiresAt } });
  expect((await room.inside({ token: url.split("#token=")[1] ?? "", name: "Ann" })).join.isAdmin).toBe(true);
});

test("a link for a host works before the room opens, and for no one else", async () => {
  const opensAt = nowSeconds() + 3600;
  const room = await newRoom(server, { notBeforeUnixSec: opensAt });
  const { url } = await admin.must<Link>("POST", `${pathOf(room)}/host-link`, { name: "Ann" });
  const host = await room.inside({ token: url.split("#token=")[1] ?? "" });
  expect(host.join).toMatchObject({ isAdmin: true, name: "Ann" });
  const token = await room.accessToken({ isAdmin: true });
  for (const who of [{}, { token }])
    expect(await room.tryJoin(who)).toMatchObject({ status: 403, body: { error: { code: "room_not_open" }, opensAt } });
});

test("a link is refused where it could not work: no such room, over", async () => {
  const room = await newRoom(server, { expireUnixSec: nowSeconds() + 60 });
  const link = `${pathOf(room)}/host-link`;
  const made = await admin.must<Link>("POST", link, {});
  expect(made.expiresAt).toBeLessThanOrEqual(nowSeconds() + 60);
  await admin.must("PUT", pathOf(room), { expireUnixSec: nowSeconds() + 1 });
  await until("the room is over", async () => (await admin.call("POST", link, {})).status === 409);
  expect(await refused(admin, CONFLICT, "POST", link, {})).toContain("no one can enter it");
  expect(await refused(admin, INVALID, "POST", link, { nmae: "Ann" })).toContain("name");
  expect(await refused(admin, INVALID, "POST", link, { name: "x".repeat(65) })).toContain("name:");
  for (const rest of ["host-link", "end"])
    expect(await refused(admin, NOT_FOUND, "POST", `/apps/${room.app.name}/rooms/none/${rest}`, {})).toContain("room");
});

test("an operator of role read sees meetings, and changes nothing", async () => {
  const room = await newRoom(server);
  const ann = await room.inside({ name: "Ann" });
  const { token } = await admin.must<{ token: string }>("POST", "/operators", { name: "reader", role: "read" });
  const reader = new Admin(server.url, token);
  expect((await reader.must<List>("GET", `/apps/${room.app.name}/meetings`)).total).toBe(1);
  for (const [method, rest] of [
    ["POST", "host-link"],
    ["POST", "end"],
    ["DELETE", `participants/${ann.id}`],
  ] as const)
    await refused(reader, [403, "forbidden"], method, `${pathOf(room)}/${rest}`);
  expect((await meetings(room, "?active=true")).data[0]?.inside).toBe(1);
});
