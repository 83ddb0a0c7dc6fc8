import { beforeEach, expect, test } from "bun:test";
import { nextTurn } from "../../test/support/wait.ts";
import type { AppId } from "../base/ids.ts";
import { anAppId } from "../base/testing/ids.ts";
import { type ChannelRule, ChannelRules, type Retention } from "../protocol/patterns/channel-rules.ts";
import { RuleChanges } from "./rule-changes.ts";

const A = anAppId("a");

const KEEP: Retention = { messages: 10, seconds: 60 };
const CHAT: ChannelRule = { pattern: "chat/*", history: KEEP, graceSec: 0 };
const GRACE: ChannelRule = { pattern: "chat/*", graceSec: 5 };

/** A clock that stands still until the test moves it. */
class Clock {
  nowMs = 0;
  private timers: { readonly atMs: number; readonly callback: () => void }[] = [];

  after(ms: number, callback: () => void): void {
    this.timers.push({ atMs: this.nowMs + ms, callback });
  }

  async advance(ms: number): Promise<void> {
    this.nowMs += ms;
    for (let due = this.due(); due.length > 0; due = this.due()) {
      for (const { callback } of due) callback();
      await nextTurn();
    }
  }

  private due(): { readonly callback: () => void }[] {
    const due = this.timers.filter(({ atMs }) => atMs <= this.nowMs);
    this.timers = this.timers.filter(({ atMs }) => atMs > this.nowMs);
    return due;
  }
}

let clock: Clock;
let done: string[];
/** Calls for created streams. */
let streams: string[];
let failures: number;
let live: Set<string>;
let changes: RuleChanges;
let listeners: ((app: AppId) => void)[];
let deleted: (app: AppId) => void;
const rules = new Map<string, ChannelRules>();
beforeEach(() => {
  clock = new Clock();
  done = [];
  streams = [];
  failures = 0;
  live = new Set(["a", "b"]);
  listeners = [];
  rules.clear();
  const attempt = async (text: string): Promise<void> => {
    if (failures-- > 0) throw new Error("the store is unavailable");
    done.push(text);
  };
  changes = new RuleChanges({
    history: {
      applyRules: (spaceId, keep) => attempt(`${spaceId}: ${keep("chat/1")?.messages ?? "none"}`),
      removeSpace: (spaceId) => attempt(`${spaceId}: removed`),
      created: {
        applyRules: async (spaceId, isStream) => {
          streams.push(`${spaceId}: ${isStream("chat/1")}`);
        },
      },
    },
    keyring: {
      rulesOf: (spaceId) => rules.get(spaceId) ?? ChannelRules.NONE,
      onRulesChange: (listener) => void listeners.push(listener),
      onDeletion: (listener) => {
        deleted = listener;
      },
      app: (app) => (live.has(app) ? {} : undefined),
    },
    clock,
    failed: (_error, app) => done.push(`${app}: failed`),
  });
});

function change(app: AppId, list: readonly ChannelRule[]): void {
  rules.set(app, new ChannelRules(list));
  for (const listener of listeners) listener(app);
}

/** Whether a promise has resolved by now, and to what. */
const now = <T>(promise: Promise<T>): Promise<T | "waits"> =>
  Promise.race([promise, nextTurn().then(() => "waits" as const)]);

test("a change is applied at once, and again two seconds later", async () => {
  change(A, [CHAT]);
  await clock.advance(0);
  expect(done).toEqual(["a: 10"]);
  await clock.advance(1999);
  expect(done).toHaveLength(1);
  await clock.advance(1);
  expect(done).toEqual(["a: 10", "a: 10"]);
  await clock.advance(60_000);
  expect(done).toHaveLength(2);
});

test("the rules of every application are applied once at the start", async () => {
  rules.set("a", new ChannelRules([CHAT]));
  changes.start([A, anAppId("b")]);
  await clock.advance(60_000);
  expect(done).toEqual(["a: 10", "b: none"]);
});

test("streams are deleted where no rule has them any more, and cannot be had again before that", async () => {
  change(A, [{ pattern: "chat/*", graceSec: 0, stream: { seconds: 60, bytes: 65_536 } }]);
  await clock.advance(0);
  await clock.advance(2000);
  expect(streams).toEqual(["a#streams: true", "a#streams: true"]);
  change(A, [CHAT]);
  const settled = changes.settled(A);
  await clock.advance(0);
  expect([streams.at(-1), done.at(-1), await now(settled)]).toEqual(["a#streams: false", "a: 10", "waits"]);
  await clock.advance(2000);
  expect(await now(settled)).toBeTrue();
});

test("the history of an application that is deleted is removed, and that of its rooms, even without rules", async () => {
  live.delete("a");
  deleted(A);
  await clock.advance(0);
  await clock.advance(2000);
  expect(done).toEqual(["a#rooms: removed", "a: removed", "a#rooms: removed", "a: removed"]);
  expect(streams).toEqual(["a#streams: false", "a#streams: false"]);
});

test("what fails is reported and tried again, ever less often", async () => {
  failures = 3;
  change(A, [CHAT]);
  await clock.advance(0);
  expect(done).toEqual(["a: failed"]);
  await clock.advance(1000);
  await clock.advance(2000);
  expect(done).toEqual(["a: failed", "a: failed", "a: failed"]);
  await clock.advance(3999);
  expect(done).toHaveLength(3);
  await clock.advance(1);
  expect(done.slice(3)).toEqual(["a: 10"]);
  await clock.advance(2000);
  expect(done.slice(3)).toEqual(["a: 10", "a: 10"]);
});

test("history cannot be switched on again before what was switched off is gone on all nodes", async () => {
  rules.set("a", new ChannelRules([CHAT]));
  changes.start([A]);
  await clock.advance(0);
  expect(await now(changes.settled(A))).toBeTrue();
  change(A, []);
  const settled = changes.settled(A);
  await clock.advance(0);
  expect([done.at(-1), await now(settled)]).toEqual(["a: none", "waits"]);
  await clock.advance(2000);
  expect(await now(settled)).toBeTrue();
});

test("rules without history before need no waiting", async () => {
  change(A, [GRACE]);
  expect(await now(changes.settled(A))).toBeTrue();
  change(A, [CHAT]);
  expect(await now(changes.settled(A))).toBeTrue();
  change(A, [CHAT, GRACE]);
  expect(await now(changes.settled(A))).toBe("waits");
});

test("a change waits no longer than ten seconds for a store that is unavailable", async () => {
  failures = 1000;
  changes.start([A]);
  const settled = changes.settled(A);
  await clock.advance(9999);
  expect(await now(settled)).toBe("waits");
  await clock.advance(1);
  expect(await now(settled)).toBeFalse();
  failures = 0;
  await clock.advance(30_000);
  expect(await now(changes.settled(A))).toBeTrue();
});

test("nothing is done after the stop", async () => {
  change(A, [CHAT]);
  await clock.advance(0);
  await changes.stop();
  await clock.advance(60_000);
  expect(done).toHaveLength(1);
});
