/** How many rows of the audit a list reads. What lists return otherwise is in testing/suite-operators.ts. */
import { expect, test } from "bun:test";
import type { SQL } from "bun";
import { anAppId } from "../../base/testing/ids.ts";
import type { AuditQuery, AuditRow } from "../contract/operators.ts";
import type { Store } from "../contract/store.ts";
import type { Database, Work } from "../engines/database.ts";
import { longReads } from "../engines/long-reads.ts";
import { sqlitePlaces, withApps } from "../testing/places.ts";
import { databaseOf } from "../testing/recordings.ts";
import { SqlAudit } from "./audit.ts";

const newPlace = sqlitePlaces();
const ROWS = 600;

const row = (i: number): AuditRow => ({
  id: i.toString(16).padStart(24, "0"),
  at: i,
  who: i % 5 === 0 ? "ann" : "application secret",
  what: i === 7 ? "app created" : "room created",
  on: "x",
  app: i % 50 === 0 ? null : anAppId(`app-${i % 2}`),
  address: null,
  before: null,
  after: null,
  byApp: i % 5 !== 0,
});

const ALL = Array.from({ length: ROWS }, (_, i) => row(i));

/** The texts of the statements that `work` makes. */
async function statementsOf(store: Store, work: (audit: SqlAudit) => Promise<unknown>): Promise<string[]> {
  const texts: string[] = [];
  const real = databaseOf(store);
  const run = <T>(statement: Work<T>): Promise<T> =>
    real.run((sql) => {
      const unsafe = (text: string, values: unknown[]) => {
        texts.push(text);
        return sql.unsafe(text, values);
      };
      return statement({ unsafe } as unknown as SQL);
    });
  await work(new SqlAudit({ ...real, run } as Database, longReads({ isShared: false }), 50));
  return texts;
}

const QUERIES: Partial<AuditQuery>[] = [
  {},
  { who: "ann" },
  { what: "app created" },
  { app: anAppId("app-1") },
  { who: "ann", what: "room created" },
  { who: "application secret", what: "app created" },
  { app: anAppId("app-1"), what: "app created" },
  { app: anAppId("app-0"), who: "application secret", what: "room created" },
  { app: anAppId("none"), who: "application secret", what: "room created" },
];

test("lists with any filters are exact, in pages of any size", async () => {
  const store = await withApps(await newPlace());
  await store.audit.add(ALL);
  const audit = new SqlAudit(databaseOf(store), longReads(databaseOf(store)), 7);
  for (const query of QUERIES)
    for (const limit of [3, 40, 1000])
      for (const after of [undefined, row(300).id]) {
        const expected = ALL.filter(
          ({ id, app, who, what }) =>
            (after === undefined || id < after) &&
            (query.app === undefined || app === query.app) &&
            (query.who === undefined || who === query.who) &&
            (query.what === undefined || what === query.what),
        );
        const ids = (await audit.list({ ...query, limit, after })).map(({ id }) => id);
        expect({ query, limit, ids }).toEqual({
          query,
          limit,
          ids: expected
            .toReversed()
            .slice(0, limit)
            .map(({ id }) => id),
        });
      }
  await store.close();
});

test("a list with several filters is read in windows, each by an index in the order of the list", async () => {
  const store = await withApps(await newPlace());
  await store.audit.add(ALL);
  for (const query of QUERIES) {
    const texts = await statementsOf(store, (audit) => audit.list({ limit: 5, ...query }));
    for (const text of texts) {
      const plan = await databaseOf(store).run((sql) => sql.unsafe(`EXPLAIN QUERY PLAN ${text}`, []));
      expect([query, JSON.stringify(plan)]).toEqual([query, expect.not.stringContaining("TEMP B-TREE")]);
    }
  }
  // 480 rows of the application secret, of which one matches: ten windows of 50, with two statements each.
  const texts = await statementsOf(store, (audit) =>
    audit.list({ limit: 5, who: "application secret", what: "app created" }),
  );
  expect(texts).toHaveLength(20);
  expect(texts.filter((text) => text.includes("what") && !text.includes("id >="))).toHaveLength(1);
  await store.close();
});
