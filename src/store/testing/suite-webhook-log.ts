/** Part of the suite of every store: the log of webhooks, cursors, and what is removed. */
import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { Store } from "../contract/store.ts";
import type { WebhookCursorRow, WebhookLease, WebhookOutcome } from "../contract/webhooks.ts";
import { type NewPlace, withApps } from "./places.ts";
import { databaseOf } from "./recordings.ts";
import { appRow } from "./rows.ts";
import { aFailure, aMessage, anOutcome, leaseOf, quotaEvent, webhookRow, withWebhooks } from "./webhooks.ts";

const A = anAppId("a");
const BOUNDS = { backlogMax: 1_000_000 };
const DAY_MS = 86_400_000;
const NOW = 1_800_000_000_000;

export function webhookLogSuite(newPlace: NewPlace): void {
  const opened = async (): Promise<{ store: Store; lease: WebhookLease }> => {
    const store = await withApps(await newPlace());
    await withWebhooks(store, "w1", "w2");
    return { store, lease: await leaseOf(store) };
  };

  /** Enters that many messages, each of a subject of its own, and settles each. */
  async function sent(
    store: Store,
    lease: WebhookLease,
    count: number,
    outcome: (seq: number, subject: string) => WebhookOutcome,
  ): Promise<void> {
    const from = (await store.webhooks.states(["w1"]))[0]?.lastSeq ?? 0;
    const subjects = Array.from({ length: count }, (_, at) => `s${at}`);
    await store.webhooks.enter(
      lease,
      subjects.map((subject) => aMessage(subject)),
      [],
      BOUNDS,
    );
    await store.webhooks.settle(
      lease,
      subjects.map((subject, at) => outcome(from + at + 1, subject)),
    );
  }

  const trimAll = async (store: Store, nowMs: number): Promise<void> => {
    while ((await store.webhooks.trim("w1", nowMs)) > 0);
  };

  const count = async (store: Store, table: string, where = "1 = 1"): Promise<number> => {
    const rows = await databaseOf(store).run((sql) => sql.unsafe(`SELECT COUNT(*) AS n FROM ${table} WHERE ${where}`));
    return Number((rows as { n: number }[])[0]?.n);
  };

  test("the log has what became of each attempt, newest first, with what was sent", async () => {
    const { store, lease } = await opened();
    const { webhooks } = store;
    await webhooks.enter(lease, [aMessage("s"), aMessage("t", { type: "room.created" })], [], BOUNDS);
    await webhooks.settle(lease, [aFailure(1, "s"), anOutcome(2, "t", { type: "room.created" })]);
    await webhooks.settle(lease, [anOutcome(1, "s", { attempt: 2, at: 7001 })]);
    const logged = async (search: Parameters<typeof webhooks.attempts>[1]): Promise<number[]> =>
      (await webhooks.attempts("w1", search)).map(({ nr }) => nr);
    expect(await logged({ limit: 9 })).toEqual([3, 2, 1]);
    expect(await logged({ limit: 1, after: 3 })).toEqual([2]);
    expect(await logged({ limit: 9, isSuccess: false })).toEqual([1]);
    expect(await logged({ limit: 9, isSuccess: true })).toEqual([3, 2]);
    expect(await logged({ limit: 9, type: "room.created" })).toEqual([2]);
    const { app: _a, subject: _s, next: _n, isBlocking: _b, slowUntil: _u, ...failure } = aFailure(1, "s");
    expect(await webhooks.attempt("w1", 1)).toEqual({ ...failure, nr: 1, data: aMessage("s").data });
    expect(await webhooks.attempt("w1", 4)).toBeUndefined();
    await store.close();
  });

  test("the newest 1,000 attempts stay, and failures of seven days; messages stay while the log names them", async () => {
    const { store, lease } = await opened();
    await sent(store, lease, 2, (seq, subject) => aFailure(seq, subject, { at: NOW - 8 * DAY_MS, next: NOW }));
    await sent(store, lease, 2, (seq, subject) => aFailure(seq, subject, { at: NOW - 6 * DAY_MS, next: null }));
    await sent(store, lease, 700, anOutcome);
    await sent(store, lease, 700, anOutcome);
    // 1 failed and succeeded then; 2 goes on waiting.
    await store.webhooks.settle(lease, [anOutcome(1, "s0", { attempt: 2 })]);
    await trimAll(store, NOW);
    expect(await count(store, "webhook_attempts", "is_success = 1")).toBe(1000);
    expect(await count(store, "webhook_attempts", "is_success = 0")).toBe(2);
    // 999 of the others have succeeded in the newest attempts, 1 and 2 are there, 3 and 4 have failed.
    expect(await count(store, "webhook_messages")).toBe(999 + 4);
    await sent(store, lease, 1000, anOutcome);
    await trimAll(store, NOW + 2 * DAY_MS);
    expect(await count(store, "webhook_attempts")).toBe(1000);
    expect(await count(store, "webhook_messages", "seq < 5")).toBe(1);
    expect(await count(store, "webhook_messages")).toBe(1001);
    await store.close();
  });

  test("of failures the newest 10,000 stay", async () => {
    const { store, lease } = await opened();
    for (let left = 11_200; left > 0; left -= 1400)
      await sent(store, lease, 1400, (seq, subject) => aFailure(seq, subject, { at: NOW, next: NOW + 1 }));
    await trimAll(store, NOW);
    expect(await count(store, "webhook_attempts")).toBe(10_000);
    expect(await count(store, "webhook_attempts", "nr <= 1200")).toBe(0);
    // They wait to be sent.
    expect(await count(store, "webhook_messages")).toBe(11_200);
    await store.close();
  });

  test("cursors move, and those that were used longest ago go when there are too many", async () => {
    const { store, lease } = await opened();
    const { webhooks } = store;
    const cursor = (channel: string, used: number, position = 5): WebhookCursorRow => ({
      webhook: "w1",
      app: A,
      channel,
      epoch: "e",
      position,
      used,
    });
    const first = [cursor("a", 3), cursor("b", 1), cursor("ü'\"", 2)];
    expect(await webhooks.advance(lease, first, [quotaEvent("q", { webhook: "w1" })], 3)).toBe("advanced");
    expect(await webhooks.cursors("w1")).toEqual(first);
    expect((await webhooks.events(9)).map(({ webhook }) => webhook)).toEqual(["w1"]);
    await webhooks.advance(lease, [cursor("b", 4, 9), cursor("c", 5), { ...cursor("c", 5), webhook: "x" }], [], 3);
    expect((await webhooks.cursors("w1")).map(({ channel, position }) => [channel, position])).toEqual([
      ["a", 5],
      ["b", 9],
      ["c", 5],
    ]);
    expect(await webhooks.cursors("x")).toEqual([]);
    await store.close();
  });

  test("of an endpoint that was removed nothing is returned, and what it has left is removed", async () => {
    const { store, lease } = await opened();
    const { webhooks } = store;
    await sent(store, lease, 3, anOutcome);
    await webhooks.enter(lease, [aMessage("s"), aMessage("s", { webhook: "w2" })], [], BOUNDS);
    await webhooks.advance(lease, [{ webhook: "w1", app: A, channel: "c", epoch: "e", position: 1, used: 1 }], [], 9);
    expect(await webhooks.forget(2)).toBe(0);
    await store.change((change) => change.removeWebhook("w1"));
    expect([
      await webhooks.states(["w1"]),
      await webhooks.waiting(),
      await webhooks.due("w1", 9, 9, []),
      await webhooks.message("w1", 4),
      await webhooks.attempts("w1", { limit: 9 }),
      await webhooks.cursors("w1"),
      await webhooks.resend("w1", 4, 1),
      await webhooks.replay("w1", 0, 1),
    ]).toEqual([[], [{ webhook: "w2", due: 0 }], [], undefined, [], [], false, 0]);
    // Messages that were made before, and attempts that were under way.
    await webhooks.enter(lease, [aMessage("s")], [], BOUNDS);
    await webhooks.settle(lease, [anOutcome(4, "s")]);
    while ((await webhooks.forget(2)) > 0);
    for (const table of ["webhook_messages", "webhook_attempts", "webhook_cursors", "webhook_states"])
      expect([table, await count(store, table, "webhook = 'w1'")]).toEqual([table, 0]);
    expect(await count(store, "webhook_messages", "webhook = 'w2'")).toBe(1);
    await store.close();
  });

  test("a URL of rooms that was forgotten and is made again gives no number, and so no webhook-id, a second time", async () => {
    const { store, lease } = await opened();
    const { webhooks } = store;
    const room = webhookRow("r", { kind: "room" });
    const enter = () => webhooks.enter(lease, [aMessage("s", { webhook: "r" })], [], BOUNDS);
    await store.change((change) => change.putWebhook(room));
    for (let at = 0; at < 3; at++) await enter();
    await store.change((change) => change.removeWebhook("r"));
    // Made again before all of it is forgotten: what is left is sent.
    expect(await webhooks.forget(1)).toBe(1);
    await store.change((change) => change.putWebhook(room));
    expect(await webhooks.states(["r"])).toMatchObject([{ lastSeq: 3, backlog: 2 }]);
    expect((await webhooks.due("r", 1, 9, [])).map(({ seq }) => seq)).toEqual([1]);
    await store.change((change) => change.removeWebhook("r"));
    while ((await webhooks.forget(9)) > 0);
    await store.change((change) => change.putWebhook(room));
    await enter();
    expect((await webhooks.due("r", 1, 9, [])).map(({ seq }) => seq)).toEqual([4]);
    // Ids of others are random: they begin with 1.
    await webhooks.enter(lease, [aMessage("s")], [], BOUNDS);
    expect((await webhooks.due("w1", 1, 9, [])).map(({ seq }) => seq)).toEqual([1]);
    await store.close();
  });

  test("a deleted application has no events, and nothing of it stays", async () => {
    const { store, lease } = await opened();
    const { webhooks, clearing } = store;
    await sent(store, lease, 3, anOutcome);
    await webhooks.advance(lease, [{ webhook: "w1", app: A, channel: "c", epoch: "e", position: 1, used: 1 }], [], 9);
    await webhooks.addEvents([quotaEvent("q")]);
    await store.change((change) => change.putApp(appRow("a", { deleted: 9 })));
    // A node of an earlier version has deleted it: its endpoints are still there.
    expect((await store.snapshot()).webhooks).toEqual([]);
    expect(await clearing.isClear(A)).toBe(false);
    while ((await clearing.clear(A, 2)) > 0);
    expect(await clearing.isClear(A)).toBe(true);
    for (const table of ["webhooks", "webhook_apps", "webhook_events", "webhook_messages", "webhook_attempts"])
      expect([table, await count(store, table)]).toEqual([table, 0]);
    await webhooks.addEvents([quotaEvent("q")]);
    expect(await webhooks.events(9)).toEqual([]);
    await store.close();
  });
}
