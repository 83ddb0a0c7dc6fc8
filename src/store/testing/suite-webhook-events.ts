/** Part of the suite of every store: which changes write which events for webhooks. */
import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { Store } from "../contract/store.ts";
import type { WebhookEventRow } from "../contract/webhooks.ts";
import { entering, inside, lobbyLimits, waitingRow } from "./meetings.ts";
import { type NewPlace, withApps } from "./places.ts";
import { record } from "./recordings.ts";
import { COMPLETION, keyRow, roomRow } from "./rows.ts";
import { quotaEvent, typesOf, withWebhooks } from "./webhooks.ts";

const A = anAppId("a");
const B = anAppId("b");
const NO_LIMIT = 99;

export function webhookEventsSuite(newPlace: NewPlace): void {
  const opened = async (): Promise<Store> => {
    const store = await withApps(await newPlace());
    await withWebhooks(store, "w1");
    return store;
  };

  /** Events since the last call. */
  const newEventsOf = (store: Store) => {
    let seen = 0;
    return async (): Promise<readonly WebhookEventRow[]> => {
      const events = await store.webhooks.events(1000);
      const added = events.slice(seen);
      seen = events.length;
      return added;
    };
  };

  test("are read up to a number, and up to a number of bytes", async () => {
    const store = await opened();
    await store.webhooks.addEvents(["a", "b", "c"].map((subject) => quotaEvent(subject)));
    const subjects = async (limit: number, maxBytes?: number): Promise<string[]> =>
      (await store.webhooks.events(limit, maxBytes)).map(({ subject }) => subject);
    const { length } = JSON.stringify(quotaEvent("a").fact);
    expect([await subjects(2), await subjects(9, 2 * length), await subjects(9, 3 * length)]).toEqual([
      ["a", "b"],
      ["a", "b"],
      ["a", "b", "c"],
    ]);
    expect([await subjects(1, 9 * length), await subjects(9, 1)]).toEqual([["a"], ["a"]]);
    await store.close();
  });

  test("rooms that are added, changed and archived", async () => {
    const store = await opened();
    const { rooms } = store;
    const added = newEventsOf(store);
    await rooms.addRoom(roomRow("r1", { fields: { lang: "de" } }));
    expect(await added()).toMatchObject([
      { app: A, subject: "r1", happened: roomRow("r1").created, fact: { type: "room.created", room: { id: "r1" } } },
    ]);
    expect(await rooms.addRoom(roomRow("r2", { name: "name-r1" }))).toBe("taken");
    expect(await rooms.replaceRoom(roomRow("r1", { name: "other" }), 50)).toBe("replaced");
    expect(await rooms.replaceRoom(roomRow("r1"), 51)).toBe("changed");
    const updated = await added();
    expect(updated).toMatchObject([
      { subject: "r1", happened: 50, fact: { type: "room.updated", room: { name: "other", version: 2, fields: {} } } },
    ]);
    expect(await rooms.archiveRoom(A, "nothing", 60)).toBe(false);
    expect(await rooms.archiveRoom(A, "other", 60)).toBe(true);
    for (const id of ["due1", "due2", "late"])
      await rooms.addRoom(roomRow(id, { archiveAt: id === "late" ? 900 : 100 }));
    await added();
    expect(await rooms.archiveDue(100, 10)).toBe(2);
    const archived = await added();
    expect(archived.map(({ subject, happened, fact }) => [fact.type, subject, happened]).sort()).toEqual([
      ["room.archived", "due1", 100],
      ["room.archived", "due2", 100],
    ]);
    await store.close();
  });

  test("meetings and participants that begin and end, in their order", async () => {
    const store = await opened();
    const { meetings } = store;
    const added = newEventsOf(store);
    const one = inside(await meetings.enter(entering("p1", "r1", { isAdmin: true }), NO_LIMIT, 100));
    await meetings.enter(entering("p2", "r1"), NO_LIMIT, 200);
    // Back on another connection.
    await meetings.enter(entering("p1", "r1", { node: "n2" }), NO_LIMIT, 250);
    const begun = await added();
    expect(begun.map(({ subject, happened, fact }) => [fact.type, subject, happened])).toEqual([
      ["meeting.started", "r1", 100],
      ["participant.joined", "r1", 100],
      ["participant.joined", "r1", 200],
    ]);
    expect(begun[0]?.fact).toEqual({ type: "meeting.started", meeting: one.meeting });
    expect(begun[1]?.fact).toEqual({ type: "participant.joined", stay: one.stay, roomName: "name-r1" });
    await meetings.end("p1", "left", 300);
    await meetings.end("p1", "removed", 310);
    await meetings.lost("p2", "n1", 320);
    expect(await meetings.endOverdue(400, await meetings.overdue(400, 10))).toHaveLength(1);
    expect((await meetings.endMeeting(one.meeting.id))?.id).toBe(one.meeting.id);
    expect(await meetings.endMeeting(one.meeting.id)).toBeUndefined();
    const ended = await added();
    expect(ended.map(({ subject, happened, fact }) => [fact.type, subject, happened])).toEqual([
      ["participant.left", "r1", 300],
      ["participant.left", "r1", 320],
      ["meeting.ended", "r1", 320],
    ]);
    expect(ended[0]?.fact).toMatchObject({ stay: { id: "p1", why: "left", ended: 300 }, roomName: "name-r1" });
    expect(ended[2]?.fact).toMatchObject({ meeting: { id: one.meeting.id, ended: 320 } });
    const { meeting } = inside(await meetings.enter(entering("p3", "r2"), NO_LIMIT, 500));
    await meetings.end("p3", "left", 510);
    await added();
    expect(await meetings.endEmpty(600, 10)).toHaveLength(1);
    expect(await added()).toMatchObject([{ subject: "r2", happened: 510, fact: { meeting: { id: meeting.id } } }]);
    await store.close();
  });

  test("who waits in a lobby, without what others must not see, and once", async () => {
    const store = await opened();
    await store.rooms.addRoom(roomRow("r1"));
    const added = newEventsOf(store);
    await added();
    for (let times = 0; times < 2; times++) await store.meetings.wait(waitingRow("t1", "r1"), lobbyLimits());
    expect(await store.meetings.wait(waitingRow("t2", "r1"), lobbyLimits(1))).toBe("full");
    const { room, name, since } = waitingRow("t1", "r1");
    const fact = { type: "participant.waiting", waiting: { room, name, since }, roomName: "name-r1" };
    expect((await added()).map((event) => event.fact as unknown)).toEqual([fact]);
    await store.close();
  });

  test("recordings that are ready and deleted", async () => {
    const store = await opened();
    const added = newEventsOf(store);
    const ready = await record(store.recordings, "x");
    expect(await store.recordings.complete("x", 0, COMPLETION)).toBeUndefined();
    expect(await store.recordings.deleteRecordings(A, ["x", "nothing"], 700)).toEqual(["x"]);
    expect(await store.recordings.deleteRecordings(A, ["x"], 800)).toEqual([]);
    expect((await added()).map(({ subject, happened, fact }): unknown => [subject, happened, fact])).toEqual([
      ["x", ready.completed, { type: "recording.ready", recording: ready }],
      ["x", 700, { type: "recording.deleted", recording: ready }],
    ]);
    await store.close();
  });

  test("nothing, if the application has no endpoint or the change is not made", async () => {
    const store = await opened();
    const { rooms, meetings, recordings, webhooks } = store;
    await rooms.addRoom(roomRow("r1", { app: B, archiveAt: 100 }));
    await rooms.addRoom(roomRow("r2", { app: B }));
    await rooms.replaceRoom(roomRow("r2", { app: B, name: "n" }), 2);
    await rooms.archiveDue(200, 10);
    await rooms.archiveRoom(B, "n", 3);
    const { meeting } = inside(await meetings.enter(entering("p", "r2", { app: B }), NO_LIMIT, 100));
    await meetings.wait(waitingRow("t", "r2", { app: B }), lobbyLimits());
    await meetings.end("p", "left", 200);
    await meetings.endMeeting(meeting.id);
    await record(recordings, "x", { app: B });
    await recordings.deleteRecordings(B, ["x"]);
    await webhooks.addEvents([quotaEvent("q", { app: B })]);
    await store.change((change) => change.addWebhookEvent(quotaEvent("q", { app: B })));
    // All rooms of an application are archived when it is deleted.
    await rooms.addRoom(roomRow("r3"));
    await store.change((change) => change.archiveRooms(A, 5));
    expect(typesOf(await webhooks.events(99))).toEqual(["room.created"]);
    // A member that cannot be written: neither the stay nor its events are there.
    const broken = entering("p2", "r9", { name: null as unknown as string });
    await expect(meetings.enter(broken, NO_LIMIT, 300)).rejects.toBeInstanceOf(Error);
    expect([(await webhooks.events(99)).length, await meetings.current(A, "r9")]).toEqual([1, undefined]);
    await store.close();
  });

  test("an application has events from its first room with an address on", async () => {
    const store = await opened();
    const { rooms, webhooks } = store;
    const meetingEndedWebhook = "https://example.com/ended";
    await rooms.addRoom(roomRow("r1", { app: B }));
    await rooms.replaceRoom(roomRow("r1", { app: B, fields: { meetingEndedWebhook: "", lang: "de" } }), 1);
    expect(await webhooks.events(9)).toEqual([]);
    await rooms.replaceRoom(roomRow("r1", { app: B, version: 2, fields: { meetingEndedWebhook } }), 2);
    await rooms.addRoom(roomRow("r2", { app: B }));
    expect(typesOf(await webhooks.events(9))).toEqual(["room.updated", "room.created"]);
    await store.close();
    const other = await opened();
    await other.rooms.addRoom(roomRow("r1", { app: B, fields: { meetingEndedWebhook } }));
    expect(typesOf(await other.webhooks.events(9))).toEqual(["room.created"]);
    await other.close();
  });

  test("of keys, in the transaction of the change", async () => {
    const store = await opened();
    const event = quotaEvent("k");
    await store.change(async (change) => {
      await change.putKey(keyRow("k"));
      await change.addWebhookEvent(event);
    });
    expect(await store.webhooks.events(9)).toMatchObject([event]);
    await store.close();
  });

  test("listeners learn of each event that this process writes", async () => {
    const store = await opened();
    let times = 0;
    store.webhooks.onEvent?.(() => times++);
    await store.rooms.addRoom(roomRow("r1"));
    await store.rooms.addRoom(roomRow("r1", { app: B, id: "r2" }));
    expect(times).toBe(store.webhooks.onEvent ? 1 : 0);
    await store.close();
  });
}
