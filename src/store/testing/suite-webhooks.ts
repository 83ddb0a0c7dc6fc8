/** Part of the suite of every store: endpoints, the lease, and the queue of webhooks. */
import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { Store } from "../contract/store.ts";
import type { WebhookLease } from "../contract/webhooks.ts";
import { type NewPlace, withApps } from "./places.ts";
import { databaseOf } from "./recordings.ts";
import { aFailure, aMessage, anOutcome, leaseOf, quotaEvent, webhookRow, withWebhooks } from "./webhooks.ts";

const A = anAppId("a");
const BOUNDS = { backlogMax: 100 };

export function webhooksSuite(newPlace: NewPlace): void {
  const opened = async (): Promise<{ store: Store; lease: WebhookLease }> => {
    const store = await withApps(await newPlace());
    await withWebhooks(store, "w1", "w2");
    return { store, lease: await leaseOf(store) };
  };

  const dueOf = async (store: Store, nowMs: number, except: readonly number[] = []): Promise<number[]> =>
    (await store.webhooks.due("w1", nowMs, 10, except)).map(({ seq }) => seq);

  const stateOf = async (store: Store) => (await store.webhooks.states(["w1"]))[0];

  const enter = (store: Store, lease: WebhookLease, ...subjects: readonly string[]) =>
    store.webhooks.enter(
      lease,
      subjects.map((subject) => aMessage(subject)),
      [],
      BOUNDS,
    );

  test("endpoints and their secrets are read as they were written, also in the snapshot", async () => {
    const { store } = await opened();
    const row = webhookRow("w1", {
      url: "https://example.com/ü?a='b'",
      events: ["channel.*", "recording.ready"],
      channelPatterns: ["chat/*"],
      description: "ü'\"\\",
      headerNames: ["x-a"],
      headersSealed: "sealed",
      disabled: 1_800_000_000_456,
      disabledWhy: "gone",
    });
    const secret = (seq: number, ends: number | null) => ({ webhook: "w1", seq, sealed: `s${seq}`, created: 5, ends });
    const before = (await store.revisions()).keys;
    await store.change(async (change) => {
      await change.putWebhook(row);
      await change.putWebhookSecret(secret(1, 9));
      await change.putWebhookSecret(secret(2, null));
      expect(await change.webhook("w1")).toEqual(row);
    });
    expect((await store.revisions()).keys).toBe(before + 1);
    expect(await store.webhook("w1")).toEqual(row);
    expect((await store.webhooksOf(A)).map(({ id }) => id)).toEqual(["w1", "w2"]);
    expect(await store.webhooksOf(anAppId("b"))).toEqual([]);
    expect(await store.webhookSecrets("w1")).toEqual([secret(2, null), secret(1, 9)]);
    const snapshot = await store.snapshot();
    expect(snapshot.webhooks.find(({ id }) => id === "w1")).toEqual(row);
    expect(snapshot.webhookSecrets).toEqual([secret(2, null), secret(1, 9)]);
    await store.change(async (change) => {
      await change.removeWebhookSecret("w1", 1);
      await change.removeWebhook("w2");
    });
    expect((await store.webhookSecrets("w1")).map(({ seq }) => seq)).toEqual([2]);
    const room = webhookRow("w3", { kind: "room" });
    await store.change((change) => change.putWebhook(room));
    expect(await store.webhook("w3")).toEqual(room);
    await store.change((change) => change.removeWebhooksOfApp(A));
    const { webhooks, webhookSecrets } = await store.snapshot();
    expect([webhooks, webhookSecrets]).toEqual([[], []]);
    await store.close();
  });

  test("one process has the lease; one that lost it changes nothing", async () => {
    const { store, lease } = await opened();
    const { webhooks } = store;
    expect(await webhooks.takeLease("other")).toBeUndefined();
    expect(await webhooks.renewLease(lease)).toBe(true);
    await enter(store, lease, "s");
    await webhooks.addEvents([quotaEvent("q")]);
    const [event] = await webhooks.events(10);
    // As if it had not been renewed for long.
    await databaseOf(store).run((sql) => sql`UPDATE webhook_lease SET until = 1`);
    const next = await leaseOf(store, "other");
    expect(next.number).toBeGreaterThan(lease.number);
    const state = await stateOf(store);
    expect([
      await webhooks.renewLease(lease),
      await webhooks.enter(lease, [aMessage("s")], [event?.id ?? ""], BOUNDS),
      await webhooks.settle(lease, [anOutcome(1, "s")]),
      await webhooks.advance(lease, [], [quotaEvent("q")], 10),
    ]).toEqual([false, "lost", "lost", "lost"]);
    await webhooks.releaseLease(lease);
    expect([await stateOf(store), (await webhooks.events(10)).length]).toEqual([state, 1]);
    expect(await webhooks.takeLease("third")).toBeUndefined();
    await webhooks.releaseLease(next);
    expect((await leaseOf(store, "third")).number).toBe(next.number + 1);
    // A clock that was ahead has written it.
    await databaseOf(store).run((sql) => sql`UPDATE webhook_lease SET until = ${Number.MAX_SAFE_INTEGER}`);
    expect((await leaseOf(store, "fourth")).number).toBe(next.number + 2);
    await store.close();
  });

  test("every message gets the next number of its endpoint, and its events are removed with it", async () => {
    const { store, lease } = await opened();
    const { webhooks } = store;
    await webhooks.addEvents([quotaEvent("q1"), quotaEvent("q2"), quotaEvent("q3")]);
    const events = await webhooks.events(10);
    expect(events.map(({ subject }) => subject)).toEqual(["q1", "q2", "q3"]);
    expect(events[0]).toMatchObject(quotaEvent("q1"));
    const done = events.slice(0, 2).map(({ id }) => id);
    const messages = [
      aMessage("q1"),
      aMessage("q1", { webhook: "w2" }),
      aMessage("q2"),
      aMessage("q", { webhook: "x" }),
    ];
    expect(await webhooks.enter(lease, messages, done, BOUNDS)).toEqual(new Map());
    expect((await webhooks.events(10)).map(({ subject }) => subject)).toEqual(["q3"]);
    // The outcome of the first call was unknown.
    expect(await webhooks.enter(lease, messages, done, BOUNDS)).toEqual(new Map());
    await enter(store, lease, "q3");
    const states = await webhooks.states(["w1", "w2", "x"]);
    expect(states.map(({ webhook, lastSeq, backlog }) => [webhook, lastSeq, backlog]).sort()).toEqual([
      ["w1", 3, 3],
      ["w2", 1, 1],
    ]);
    expect(await webhooks.message("w1", 2)).toEqual({ ...rowOf("q2"), seq: 2 });
    expect(await webhooks.message("w1", 4)).toBeUndefined();
    await store.close();
  });

  test("what fails in the middle changes nothing", async () => {
    const { store, lease } = await opened();
    const { webhooks } = store;
    await webhooks.addEvents([quotaEvent("q")]);
    const done = (await webhooks.events(10)).map(({ id }) => id);
    const wrong = aMessage("t", { data: null as unknown as string });
    await expect(webhooks.enter(lease, [aMessage("s"), wrong], done, BOUNDS)).rejects.toBeInstanceOf(Error);
    expect([await stateOf(store), (await webhooks.events(10)).length]).toEqual([undefined, 1]);
    await enter(store, lease, "s", "t");
    const before = await stateOf(store);
    const broken = aFailure(2, "t", { at: null as unknown as number });
    await expect(webhooks.settle(lease, [anOutcome(1, "s"), broken])).rejects.toBeInstanceOf(Error);
    expect([await stateOf(store), await webhooks.attempts("w1", { limit: 5 })]).toEqual([before, []]);
    expect(await dueOf(store, 0)).toEqual([1, 2]);
    const failing = store.change(async (change) => {
      await change.addWebhookEvent(quotaEvent("r"));
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect((await webhooks.events(10)).map(({ subject }) => subject)).toEqual(["q"]);
    await store.close();
  });

  test("messages of a subject go one after the other until one has failed too often", async () => {
    const { store, lease } = await opened();
    const { webhooks } = store;
    await enter(store, lease, "s", "t", "s");
    await enter(store, lease, "s", "t");
    expect(await dueOf(store, 0)).toEqual([1, 2]);
    expect(await dueOf(store, 0, [1])).toEqual([2]);
    await webhooks.settle(lease, [aFailure(1, "s"), anOutcome(2, "t")]);
    expect(await dueOf(store, 6999)).toEqual([5]);
    expect(await webhooks.waiting()).toEqual([{ webhook: "w1", due: 0 }]);
    await webhooks.settle(lease, [anOutcome(5, "t")]);
    expect(await webhooks.waiting()).toEqual([{ webhook: "w1", due: 7000 }]);
    expect(await dueOf(store, 7000)).toEqual([1]);
    // The third attempt: the subject goes on beside it.
    await webhooks.settle(lease, [aFailure(1, "s", { attempt: 3, next: 9000, isBlocking: false })]);
    expect(await dueOf(store, 8999)).toEqual([3]);
    await enter(store, lease, "s");
    await webhooks.settle(lease, [
      aFailure(3, "s", { next: 9500 }),
      aFailure(1, "s", { attempt: 4, isBlocking: false }),
    ]);
    expect(await dueOf(store, 9499)).toEqual([1]);
    // The last attempt of one that is before others.
    await webhooks.settle(lease, [
      aFailure(3, "s", { next: null, isBlocking: false }),
      anOutcome(1, "s", { attempt: 5 }),
    ]);
    expect(await dueOf(store, 0)).toEqual([4]);
    await webhooks.settle(lease, [anOutcome(4, "s")]);
    expect(await dueOf(store, 0)).toEqual([6]);
    await store.close();
  });

  test("first attempts and later ones take turns", async () => {
    const { store, lease } = await opened();
    await enter(store, lease, "a", "b", "c", "d");
    await store.webhooks.settle(lease, [aFailure(3, "c", { next: 500 }), aFailure(1, "a", { next: 600 })]);
    expect(await dueOf(store, 600)).toEqual([3, 2, 1, 4]);
    expect((await store.webhooks.due("w1", 600, 2, [3])).map(({ seq }) => seq)).toEqual([1, 2]);
    await store.close();
  });

  test("the health of an endpoint is that of its last attempts", async () => {
    const { store, lease } = await opened();
    await enter(store, lease, "a", "b", "c", "d", "e");
    await store.webhooks.settle(lease, [
      anOutcome(1, "a", { at: 10 }),
      aFailure(2, "b", { at: 11, slowUntil: 99 }),
      aFailure(3, "c", { at: 12, next: null, status: null, error: "timed out\0" }),
    ]);
    const failing = { attemptedAt: 12, succeededAt: 10, failingSince: 11, lastStatus: null, slowUntil: 99 };
    const counts = { lastSeq: 5, backlog: 3, dropped: 0, delivered: 1, failed: 1 };
    expect(await stateOf(store)).toEqual({
      webhook: "w1",
      app: A,
      ...failing,
      ...counts,
      lastError: "timed out\uFFFD",
    });
    await store.webhooks.settle(lease, [aFailure(4, "d", { at: 13 })]);
    expect(await stateOf(store)).toMatchObject({ failingSince: 11, attemptedAt: 13, succeededAt: 10 });
    await store.webhooks.recover("w1");
    expect(await stateOf(store)).toMatchObject({ failingSince: null, slowUntil: null, attemptedAt: 13 });
    await store.webhooks.settle(lease, [anOutcome(5, "e", { at: 14 })]);
    expect(await stateOf(store)).toMatchObject({
      failingSince: null,
      succeededAt: 14,
      lastStatus: 204,
      lastError: null,
    });
    await store.close();
  });

  test("the oldest that may be lost go first when too many wait, then the oldest; all are counted", async () => {
    const { store, lease } = await opened();
    const { webhooks } = store;
    const lossy = (subject: string) => aMessage(subject, { isLossy: true });
    const bounds = { backlogMax: 4 };
    await webhooks.enter(lease, [aMessage("s"), lossy("s"), lossy("t"), aMessage("t")], [], bounds);
    expect(await webhooks.enter(lease, [lossy("u")], [], bounds)).toEqual(new Map([["w1", 1]]));
    expect(await seqsOf(store)).toEqual([1, 3, 4, 5]);
    expect(await webhooks.enter(lease, [aMessage("v"), aMessage("v"), aMessage("v")], [], bounds)).toEqual(
      new Map([["w1", 3]]),
    );
    // 4 was behind 3, which may be lost; 1 is the oldest of the others.
    expect(await seqsOf(store)).toEqual([4, 6, 7, 8]);
    expect(await dueOf(store, 0)).toEqual([4, 6]);
    expect(await stateOf(store)).toMatchObject({ lastSeq: 8, backlog: 4, dropped: 4 });
    // It was under way when it was dropped.
    await webhooks.settle(lease, [anOutcome(1, "s"), anOutcome(4, "t")]);
    expect(await stateOf(store)).toMatchObject({ backlog: 3, delivered: 1 });
    await store.close();
  });

  test("a message is sent again with its number, and everything since a time that has not succeeded", async () => {
    const { store, lease } = await opened();
    const { webhooks } = store;
    const messages = [1000, 2000, 3000, 4000].map((happened) => aMessage("s", { happened }));
    await webhooks.enter(lease, messages, [], BOUNDS);
    await webhooks.settle(lease, [anOutcome(1, "s")]);
    await webhooks.settle(lease, [aFailure(2, "s", { next: null, isBlocking: false })]);
    expect([
      await webhooks.resend("w1", 1, 50),
      await webhooks.resend("w1", 9, 50),
      await webhooks.resend("x", 1, 50),
    ]).toEqual([true, false, false]);
    // It waits for no one, and no one for it.
    expect(await dueOf(store, 50)).toEqual([1, 3]);
    expect(await stateOf(store)).toMatchObject({ backlog: 3, delivered: 1 });
    await webhooks.settle(lease, [aFailure(1, "s", { attempt: 2, next: 5000 })]);
    expect(await dueOf(store, 50)).toEqual([3]);
    // Behind another one.
    expect(await webhooks.resend("w1", 4, 60)).toBe(true);
    expect((await dueOf(store, 60)).sort()).toEqual([3, 4]);
    await webhooks.settle(lease, [anOutcome(4, "s"), aFailure(3, "s", { next: 9000 })]);
    expect(await webhooks.replay("w1", 2000, 70)).toBe(2);
    expect((await dueOf(store, 70)).sort()).toEqual([2, 3]);
    expect((await webhooks.message("w1", 2))?.attempts).toBe(0);
    expect(await stateOf(store)).toMatchObject({ backlog: 3 });
    expect(await webhooks.replay("w1", 0, 80)).toBe(3);
    expect((await dueOf(store, 80)).sort()).toEqual([1, 2, 3]);
    await store.close();
  });

  const seqsOf = async (store: Store): Promise<number[]> => {
    const found = await Promise.all(Array.from({ length: 9 }, (_, seq) => store.webhooks.message("w1", seq)));
    return found.flatMap((row) => (row ? [row.seq] : []));
  };
}

const rowOf = (subject: string) => {
  const { isLossy: _, ...message } = aMessage(subject);
  return { ...message, state: "waiting" as const, attempts: 0, due: 0 };
};
