/** What is kept of rooms in memory is what the rows say, whichever statement fails: a transaction is rolled back, and memory is not. */
import { expect, test } from "bun:test";
import type { SQL } from "bun";
import { Chance } from "../../../../test/support/random.ts";
import { anAppId } from "../../../base/testing/ids.ts";
import { type Database, OneConnection, type Work } from "../../engines/database.ts";
import { migrate } from "../../migrate.ts";
import { openSqlite, sqliteFile } from "../../open.ts";
import { entering } from "../../testing/meetings.ts";
import { newFolders } from "../../testing/places.ts";
import { SqlMeetings } from "./meetings.ts";

const A = anAppId("a");

const newFolder = newFolders();

const ROOMS = ["r1", "r2"] as const;
const STEPS = 600;
const DAY_MS = 86_400_000;
const FULL = "database or disk is full";

class Probed extends SqlMeetings {
  /** What decides who may enter. No participant has the id "absent". */
  async decidedBy(room: string, nowMs: number): Promise<unknown> {
    const together = await this.database.quickRun(async (sql) => ({
      current: await this.places.current(sql, A, room),
      taken: await this.places.taken(sql, A, room, "absent", nowMs),
    }));
    return { ...together, latest: await this.latest(A, room) };
  }
}

/** A database of which a statement, or a commit, fails now and then. */
class Failing {
  /** Statements until the next failure. */
  private left = Number.POSITIVE_INFINITY;

  failAfter(statements: number): void {
    this.left = statements;
  }

  around(database: Database): Database {
    const failing = (sql: SQL): SQL =>
      new Proxy(sql, {
        apply: (target, self, args: [object, ...unknown[]]) => {
          if ("raw" in args[0] && this.isDue()) return Promise.reject(new Error(FULL));
          return Reflect.apply(target, self, args);
        },
      });
    return Object.assign(Object.create(database) as Database, {
      quickRun: <T>(work: Work<T>) => database.quickRun((sql) => work(failing(sql))),
      quickTransaction: <T>(work: Work<T>, committed?: (result: T) => void) =>
        database.quickTransaction(async (sql) => {
          const result = await work(failing(sql));
          if (this.isDue()) throw new Error(FULL);
          return result;
        }, committed),
    });
  }

  private isDue(): boolean {
    return this.left-- <= 0;
  }
}

test("memory and rows agree after any calls, also those that have failed", async () => {
  const chance = new Chance(7);
  const sql = await openSqlite(sqliteFile(newFolder()));
  const database = new OneConnection(sql);
  await migrate(database);
  await sql`INSERT INTO apps (id, name, secret_sealed, secret_digest, plan_name, created) VALUES ('a', 'a', '', '', '', 1)`;
  const failing = new Failing();
  const meetings = new Probed(failing.around(database));
  let now = 1_800_000_000_000;
  let people = 0;
  let meeting = 0;
  let failed = 0;
  const room = (): string => ROOMS[chance.below(ROOMS.length)] ?? "";
  const known = (): string => `p${Math.max(0, people - chance.below(10))}`;
  const oneOfThem = (): string => `m${meeting - chance.below(10)}`;
  const calls: readonly (() => Promise<unknown>)[] = [
    () => meetings.enter(entering(`p${++people}`, room(), { newMeeting: `m${++meeting}` }), 3, now),
    () => meetings.enter(entering(known(), room(), { newMeeting: `m${++meeting}` }), 3, now),
    () => meetings.end(known(), "left", now),
    () => meetings.lost(known(), "n1", now - 60_000),
    async () => meetings.endOverdue(now - 30_000, await meetings.overdue(now - 30_000, 9)),
    () => meetings.lock(oneOfThem(), chance.below(2) === 0),
    () => meetings.endMeeting(oneOfThem()),
    () => meetings.endEmpty(now, 9),
    () => meetings.forgetOld(chance.below(5) === 0 ? now + 365 * DAY_MS : now, 9),
  ];
  for (let step = 0; step < STEPS; step++) {
    now += chance.below(3) * 20_000;
    if (chance.below(3) === 0) failing.failAfter(chance.below(8));
    await calls[chance.below(calls.length)]?.().catch((error: Error) => {
      if (error.message !== FULL) throw error;
      failed++;
    });
    failing.failAfter(Number.POSITIVE_INFINITY);
    const fromRows = new Probed(database);
    for (const one of ROOMS)
      expect({ step, ...((await meetings.decidedBy(one, now)) as object) }).toEqual({
        step,
        ...((await fromRows.decidedBy(one, now)) as object),
      });
  }
  expect(failed).toBeGreaterThan(STEPS / 20);
  expect(people).toBeGreaterThan(STEPS / 20);
  await database.close();
});
