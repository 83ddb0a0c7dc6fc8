/** No call of meetings reads a whole table of SQLite: its statements run on the event loop, however many meetings are kept. */
import { expect, test } from "bun:test";
import type { SQL } from "bun";
import { anAppId } from "../../../base/testing/ids.ts";
import type { MeetingStore } from "../../contract/meetings.ts";
import type { Database, Work } from "../../engines/database.ts";
import { OneConnection } from "../../engines/database.ts";
import { migrate } from "../../migrate.ts";
import { openSqlite, sqliteFile } from "../../open.ts";
import { entering, lobbyLimits, waitingRow } from "../../testing/meetings.ts";
import { newFolders } from "../../testing/places.ts";
import { SqlMeetings } from "./meetings.ts";

const A = anAppId("a");

const newFolder = newFolders();

/** Small tables: the nodes of the last day, the applications, and what a step of a total counts. */
const MAY_BE_SCANNED = /^SCAN (meeting_nodes|a|counted)$/;
const NO_PLAN = /^\s*(INSERT INTO (?!.*SELECT)|PRAGMA)/s;

interface Recorded {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** A database that notes each statement. */
function recording(database: Database, notes: Recorded[]): Database {
  const noting = (sql: SQL): SQL =>
    new Proxy(sql, {
      apply(target, self, args: [TemplateStringsArray | unknown[], ...unknown[]]) {
        const [first, ...values] = args;
        if ("raw" in first) notes.push(asText(first, values));
        return Reflect.apply(target, self, args);
      },
      get: (target, name) =>
        name === "unsafe"
          ? (text: string, values: unknown[]) => {
              notes.push({ text, values });
              return target.unsafe(text, values);
            }
          : Reflect.get(target, name),
    });
  const wrap =
    (run: Database["run"]) =>
    <T>(work: Work<T>): Promise<T> =>
      run((sql) => work(noting(sql)));
  return Object.assign(Object.create(database) as Database, {
    quickRun: wrap(database.quickRun),
    quickTransaction: <T>(work: Work<T>, committed?: (result: T) => void) =>
      database.quickTransaction((sql) => work(noting(sql)), committed),
  });
}

/** A list in a statement, as in `IN ${sql(ids)}`, is planned like a list of one. */
function asText(texts: readonly string[], parts: readonly unknown[]): Recorded {
  const values = parts.map((part) => (typeof part === "object" && part !== null ? "x" : part));
  const holes = parts.map((part, i) => (values[i] === part ? `$${i + 1}` : `($${i + 1})`));
  return { text: texts.map((text, i) => text + (holes[i] ?? "")).join(""), values };
}

const CALLS: Readonly<Record<string, (meetings: MeetingStore) => Promise<unknown>>> = {
  hold: (meetings) => meetings.reserve(A, "r", "p", 5, 9, 1),
  takenByOthers: (meetings) => meetings.takenByOthers(A, "r", "p", 1),
  enter: (meetings) =>
    meetings.enter(entering("p", "r", { accessToken: "t", externalUserId: "u", ejectAfterSec: 9 }), 5, 1),
  "enter again": (meetings) => meetings.enter(entering("p", "r", { accessToken: "t", ejectAfterSec: 9 }), 5, 1),
  "enter a meeting": (meetings) => meetings.enter(entering("q", "r", { accessToken: "t" }), 5, 1),
  lost: (meetings) => meetings.lost("p", "n1", 1),
  stay: (meetings) => meetings.stay("p"),
  openStays: (meetings) => meetings.openStays(A, "r"),
  inside: (meetings) => meetings.inside(A, "r"),
  current: (meetings) => meetings.current(A, "r"),
  meeting: (meetings) => meetings.meeting(A, "m-p"),
  participants: (meetings) => meetings.participants("m-p", 9),
  firstEntry: (meetings) => meetings.firstEntry("m-p", "t"),
  lock: (meetings) => meetings.lock("m-p", true),
  ban: (meetings) => meetings.ban("m-p", { accessToken: "t", externalUserId: "u" }),
  isBarred: (meetings) => meetings.isBarred("p"),
  isBanned: (meetings) => meetings.isBanned("m-p", "t", "u"),
  "all meetings": (meetings) => meetings.meetings(A, { limit: 9 }),
  "the next page": (meetings) => meetings.meetings(A, { limit: 9, endId: "m-p" }),
  "active meetings": (meetings) => meetings.meetings(A, { limit: 9, isActive: true }),
  "ended meetings": (meetings) => meetings.meetings(A, { limit: 9, isActive: false }),
  "meetings of a room": (meetings) => meetings.meetings(A, { limit: 9, room: "r", isActive: false }),
  "the active meeting of a room since then": (meetings) =>
    meetings.meetings(anAppId("a"), { limit: 9, room: "r", isActive: true, startedAfter: 1 }),
  "the active meeting of a room until then": (meetings) =>
    meetings.meetings(anAppId("a"), { limit: 9, room: "r", isActive: true, startedBefore: 9 }),
  "the next page of the active meeting of a room": (meetings) =>
    meetings.meetings(anAppId("a"), { limit: 9, room: "r", isActive: true, endId: "m-p" }),
  "ended meetings of a room and time": (meetings) =>
    meetings.meetings(anAppId("a"), { limit: 9, room: "r", isActive: false, startedAfter: 1, startedBefore: 9 }),
  "active meetings of a time": (meetings) =>
    meetings.meetings(anAppId("a"), { limit: 9, isActive: true, startedAfter: 1, startedBefore: 9 }),
  "meetings of a time": (meetings) => meetings.meetings(A, { limit: 9, startedAfter: 1, startedBefore: 9 }),
  overdue: (meetings) => meetings.overdue(5, 9),
  endOverdue: async (meetings) => meetings.endOverdue(5, await meetings.overdue(5, 9)),
  end: (meetings) => meetings.end("q", "left", 2),
  endEmpty: (meetings) => meetings.endEmpty(9, 9),
  endMeeting: (meetings) => meetings.endMeeting("m-p"),
  forgetOld: (meetings) => meetings.forgetOld(Number.MAX_SAFE_INTEGER, 9),
  beat: (meetings) => meetings.beat("n1", 9),
  wait: (meetings) => meetings.wait(waitingRow("w", "r"), lobbyLimits()),
  waiting: (meetings) => meetings.waiting(A, "r"),
  waitingOne: (meetings) => meetings.waitingOne("w"),
  setSeen: (meetings) => meetings.setSeen("w", 5),
  decide: (meetings) => meetings.decide("w", "declined", 5),
  forgetWaiting: (meetings) => meetings.forgetWaiting(9, 9, 9),
  unseen: (meetings) => meetings.unseen(9, 9),
  forgetUnseen: (meetings) => meetings.forgetUnseen(9, ["w", "v"]),
};

test("every statement of meetings uses an index, and lists are read in order", async () => {
  const sql = await openSqlite(sqliteFile(newFolder()));
  const database = new OneConnection(sql);
  await migrate(database);
  await sql`INSERT INTO apps (id, name, secret_sealed, secret_digest, plan_name, created) VALUES ('a', 'a', '', '', '', 1)`;
  const notes: Recorded[] = [];
  const meetings = new SqlMeetings(recording(database, notes));
  const wrong: string[] = [];
  let planned = 0;
  for (const [name, call] of Object.entries(CALLS)) {
    notes.length = 0;
    await call(meetings);
    for (const { text, values } of notes.filter((note) => !NO_PLAN.test(note.text))) {
      const plan: { detail: string }[] = await sql.unsafe(`EXPLAIN QUERY PLAN ${text}`, [...values]);
      planned++;
      for (const { detail } of plan)
        if ((/^SCAN/.test(detail) && !MAY_BE_SCANNED.test(detail)) || isSortedPage(detail, text))
          wrong.push(`${name}: ${detail}`);
      // All meetings of an application would be read to find the few that are active.
      if (/FROM meetings WHERE app.*ended IS NULL/s.test(text))
        for (const { detail } of plan) if (!/meetings_(open|active)/.test(detail)) wrong.push(`${name}: ${detail}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(planned).toBeGreaterThan(40);
  await database.close();
});

const isSortedPage = (detail: string, text: string): boolean =>
  detail.includes("TEMP B-TREE") && text.includes("LIMIT");
