/** Part of the suite of every store: operators, sessions of the dashboard and the audit, and pages of applications and keys. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { AuditRow, OperatorRow, SessionRow } from "../contract/operators.ts";
import type { Store } from "../contract/store.ts";
import type { NewPlace } from "./places.ts";
import { appRow, keyRow } from "./rows.ts";

const APP = anAppId("app");
const X = anAppId("x");
const P1 = anAppId("p1");
const P2 = anAppId("p2");

const operator = (id: string, fields: Partial<OperatorRow> = {}): OperatorRow => ({
  id,
  name: `name-${id}`,
  role: "read",
  digest: `digest-${id}`,
  created: 1_800_000_000_123,
  lastUsed: null,
  revoked: null,
  ...fields,
});

const session = (digest: string, fields: Partial<SessionRow> = {}): SessionRow => ({
  digest,
  operator: null,
  credential: "c",
  created: 1,
  ends: 1_800_000_000_123,
  ...fields,
});

/** Ids are ordered by time; `at` is its first part. */
const entry = (at: number, fields: Partial<AuditRow> = {}): AuditRow => ({
  id: at.toString(16).padStart(12, "0") + "0".repeat(12),
  at,
  who: "admin",
  what: "key created",
  on: "pk_live_x",
  app: null,
  address: "127.0.0.1",
  before: null,
  after: null,
  byApp: false,
  ...fields,
});

export function operatorsSuite(newPlace: NewPlace): void {
  describe("operators, sessions and the audit", () => {
    // One store for all tests: creating a PostgreSQL database for each would take long.
    let store: Store;
    beforeAll(async () => {
      store = await (await newPlace())();
    });
    afterAll(() => store.close());

    test("operators and sessions are in the snapshot until they are revoked and removed", async () => {
      const before = (await store.revisions()).keys;
      await store.change(async (change) => {
        await change.putOperator(operator("o1", { role: "admin" }));
        await change.putOperator(operator("o2"));
        await change.putSession(session("s1", { operator: "o1", created: 2 }));
        await change.putSession(session("s2"));
      });
      expect(await store.operators()).toEqual([operator("o1", { role: "admin" }), operator("o2")]);
      expect(await store.sessions()).toEqual([session("s2"), session("s1", { operator: "o1", created: 2 })]);
      await store.touchOperator("o2", 1_800_000_000_999);
      expect((await store.operator("o2"))?.lastUsed).toBe(1_800_000_000_999);
      expect((await store.revisions()).keys).toBe(before + 1);
      await store.change(async (change) => {
        await change.putOperator(operator("o1", { revoked: 5 }));
        await change.removeSession("s1");
      });
      const snapshot = await store.snapshot();
      expect(snapshot.operators.map(({ id }) => id)).toEqual(["o2"]);
      expect(snapshot.sessions).toEqual([session("s2")]);
      expect((await store.operator("o1"))?.revoked).toBe(5);
    });

    test("the name of a live operator is unique, that of a revoked one is free", async () => {
      await store.change((change) => change.putOperator(operator("o3", { name: "same" })));
      const twice = store.change((change) => change.putOperator(operator("o4", { name: "same" })));
      await expect(twice).rejects.toThrow();
      await store.change((change) => change.putOperator(operator("o3", { name: "same", revoked: 1 })));
      await store.change((change) => change.putOperator(operator("o4", { name: "same" })));
    });

    test("the audit is read newest first, in pages and by its filters", async () => {
      const rows = [
        entry(10, { before: { a: [1, "ü\0"] }, after: { b: null }, app: APP, address: null }),
        entry(11, { who: "ann", what: "key revoked", app: APP }),
        entry(12, { who: "ann" }),
      ];
      await store.audit.add(rows);
      const newest = rows.toReversed();
      expect(await store.audit.list({ limit: 10 })).toEqual(newest);
      expect(await store.audit.list({ limit: 2 })).toEqual(newest.slice(0, 2));
      expect(await store.audit.list({ limit: 2, after: newest[1]?.id })).toEqual(newest.slice(2));
      const found = async (filter: object): Promise<number[]> =>
        (await store.audit.list({ limit: 10, ...filter })).map(({ at }) => at);
      expect(await found({ who: "ann" })).toEqual([12, 11]);
      expect(await found({ what: "key created" })).toEqual([12, 10]);
      expect(await found({ app: APP, who: "ann", what: "key revoked" })).toEqual([11]);
      expect(await found({ who: "\0" })).toEqual([]);
    });

    test("the audit is cleared by age, and per application by number, in slices", async () => {
      await store.audit.removeBefore(1000, 1000);
      const own = Array.from({ length: 6 }, (_, i) => entry(2000 + i, { app: X, byApp: true }));
      await store.audit.add([...own, entry(1999, { app: X }), entry(1998, { app: anAppId("y"), byApp: true })]);
      const times = async (): Promise<number[]> => (await store.audit.list({ limit: 100 })).map(({ at }) => at);
      expect([await store.audit.trim(X, 3, 2), await store.audit.trim(X, 3, 2)]).toEqual([2, 1]);
      expect(await times()).toEqual([2005, 2004, 2003, 1999, 1998]);
      expect([await store.audit.removeBefore(2004, 2), await store.audit.removeBefore(2004, 2)]).toEqual([2, 1]);
      expect(await times()).toEqual([2005, 2004]);
    });

    test("applications and keys come in pages, each once", async () => {
      const ids = ["p1", "p2", "p3", "p4", "p5"];
      await store.change(async (change) => {
        for (const id of ids) await change.putApp(appRow(id, { consolePayloads: id === "p2" }));
        for (const id of ids) await change.putKey(keyRow(id, { app: P1, created: id < "p3" ? 1 : 2 }));
        await change.putKey(keyRow("other", { app: P2, created: 1 }));
      });
      expect((await store.appsPage(2, "p1")).map(({ id }) => id)).toEqual([P2, anAppId("p3")]);
      expect((await store.apps()).filter(({ consolePayloads }) => consolePayloads).map(({ id }) => id)).toEqual([P2]);
      expect((await store.keysPage(3, P1)).map(({ id }) => id)).toEqual(["p1", "p2", "p3"]);
      expect((await store.keysPage(3, P1, "p3")).map(({ id }) => id)).toEqual(["p4", "p5"]);
      expect((await store.keysPage(3, P1, undefined, false)).map(({ id }) => id)).toEqual(["p1", "p2", "p3"]);
      expect(await store.keysPage(3, P1, undefined, true)).toEqual([]);
      expect((await store.keysPage(3, undefined, "other")).map(({ id }) => id)).toEqual(["p1", "p2", "p3"]);
    });
  });
}
