/** docs/recordings-performance.md: its query plans are those of SQLite. */
import { expect, test } from "bun:test";
import { anAppId } from "../../src/base/testing/ids.ts";
import type { RecordingFilter } from "../../src/store/contract/recordings.ts";
import type { Database, Work } from "../../src/store/engines/database.ts";
import { openStore } from "../../src/store/open.ts";
import { RecordingLists } from "../../src/store/sql/recordings/listing.ts";
import { withApps } from "../../src/store/testing/places.ts";
import { databaseOf, fill } from "../../src/store/testing/recordings.ts";
import { scratch } from "../support/temp.ts";
import { readPage } from "./support/page.ts";

const A = anAppId("a");

const PAGE = "docs/recordings-performance.md";
const ROWS = 50;

const VALUES: Readonly<Record<string, RecordingFilter>> = {
  room: { room: "r1" },
  meetingSession: { meetingSession: "m1" },
  participantSession: { participantSession: "p1" },
  participantUsername: { participantUsername: "u1" },
  type: { type: "video" },
  "narrow time span": { startedAfter: 1, startedBefore: 9 },
  "wide time span": { startedAfter: 1, startedBefore: 9 },
};

interface Statement {
  readonly text: string;
  readonly values: unknown[];
}

/** A database that also notes the statements it runs. */
function noting(database: Database, statements: Statement[]): Database {
  const run = <T>(work: Work<T>): Promise<T> =>
    database.run((sql) => {
      const unsafe = (text: string, values: unknown[]) => {
        statements.push({ text, values });
        return sql.unsafe(text, values);
      };
      return work(new Proxy(sql, { get: (target, name) => (name === "unsafe" ? unsafe : Reflect.get(target, name)) }));
    });
  return { ...database, run } as Database;
}

test("its query plans are the plans", async () => {
  using folder = scratch();
  const store = await withApps(() => openStore(folder.path));
  await fill(store, ROWS);
  const statements: Statement[] = [];
  const database = noting(databaseOf(store), statements);
  /** The access to recordings that the last statement begins with. */
  const plan = async (): Promise<string> => {
    const { text, values } = statements.at(-1) ?? { text: "", values: [] };
    const rows: { detail: string }[] = await databaseOf(store).run((sql) =>
      sql.unsafe(`EXPLAIN QUERY PLAN ${text}`, values),
    );
    const steps = rows
      .map(({ detail }) => detail)
      .filter((step) => !step.includes("recordings_order (app=? AND seq=?)"));
    const access = steps.find((step) => step.startsWith("SEARCH recordings")) ?? "";
    return steps.some((step) => step.includes("TEMP B-TREE")) ? `${access}, sorted` : access;
  };
  const rows = [
    ...readPage(PAGE).matchAll(/^\| ([a-zA-Z`, ]+) \| `(SEARCH [^`]+)`(, sorted)? \| (?:`(SEARCH [^`]+)`|.*) \|$/gm),
  ];
  expect(rows.length).toBe(14);
  for (const [, names = "", wantedPage = "", sorted = "", wantedTotal] of rows) {
    const parts = names.split(", ").map((name) => name.replaceAll("`", ""));
    const filter: RecordingFilter = Object.assign({}, ...parts.map((name) => VALUES[name]));
    const narrowRows = parts.includes("wide time span") ? 0 : ROWS;
    const lists = new RecordingLists(database, { narrowRows, windowRows: ROWS });
    await lists.page(A, { filter, order: "desc", limit: 5 });
    expect([names, await plan()]).toEqual([names, wantedPage + sorted]);
    if (wantedTotal === undefined) continue;
    await lists.totalOf(A, filter);
    expect([names, await plan()]).toEqual([names, wantedTotal]);
  }
  await store.close();
});
