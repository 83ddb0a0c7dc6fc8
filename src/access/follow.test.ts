/** Following a store that others write to, with time and the store in the test's hands. */
import { describe, expect, test } from "bun:test";
import type { BlockRow, KeyRow, Revisions, Snapshot } from "../store/store.ts";
import { StoreAway } from "../store/store.ts";
import { keyRow } from "../store/testing/rows.ts";
import { Blocks } from "./blocks.ts";
import { Follow } from "./follow.ts";
import { Keyring } from "./keyring.ts";
import { Vault } from "./vault.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const key = (id: string, fields: Partial<KeyRow> = {}): KeyRow =>
  keyRow(id, { type: "publishable", actions: ["publish"], ...fields });

/** A store as another node would change it, each of whose answers can be held back. */
class SharedStore {
  rows: KeyRow[] = [key("k")];
  blockRows: BlockRow[] = [];
  at: Revisions = { keys: 1, blocks: 0 };
  isAway = false;
  asked = 0;
  snapshots = 0;
  /** Set: answers wait for it. */
  gate: Promise<void> | undefined;

  put(...rows: KeyRow[]): void {
    this.rows = rows;
    this.at = { ...this.at, keys: this.at.keys + 1 };
  }

  block(row: BlockRow): void {
    this.blockRows.push(row);
    this.at = { ...this.at, blocks: this.at.blocks + 1 };
  }

  revisions = async (): Promise<Revisions> => {
    this.asked++;
    const { at } = this;
    await this.gate;
    if (this.isAway) throw new StoreAway("gone");
    return at;
  };

  snapshot = async (): Promise<Snapshot> => {
    this.snapshots++;
    const { rows, at } = this;
    await this.gate;
    return { revision: at.keys, apps: [], keys: rows, secrets: [], meta: new Map() };
  };

  blocks = async (): Promise<BlockRow[]> => this.blockRows;
}

class Fixture {
  readonly store = new SharedStore();
  readonly keyring = new Keyring(new Vault(Buffer.alloc(32)));
  readonly blocks = new Blocks();
  readonly told: string[] = [];
  readonly follow: Follow;
  private nowMs = 1000;
  private timers: { dueMs: number; callback: () => void }[] = [];

  constructor() {
    this.keyring.onChange((id) => this.told.push(id));
    this.follow = new Follow({
      store: this.store,
      keyring: this.keyring,
      blocks: this.blocks,
      clock: {
        nowMs: () => this.nowMs,
        monotonicMs: () => this.nowMs,
        after: (ms, callback) => void this.timers.push({ dueMs: this.nowMs + ms, callback }),
      },
      blocked: (app, peerId) => this.told.push(`${app} ${peerId} blocked`),
      away: () => this.told.push("away"),
      back: () => this.told.push("back"),
    });
  }

  async started(): Promise<this> {
    await this.follow.start();
    this.told.length = 0;
    return this;
  }

  async pass(ms: number): Promise<void> {
    for (const until = this.nowMs + ms; this.nowMs < until; this.nowMs += 10) {
      const due = this.timers.filter(({ dueMs }) => dueMs <= this.nowMs);
      this.timers = this.timers.filter(({ dueMs }) => dueMs > this.nowMs);
      for (const { callback } of due) callback();
      await turn();
    }
  }
}

describe("changes of other nodes", () => {
  test("are shown within a second, each key that has changed is told of once, and nothing is read in vain", async () => {
    const it = await new Fixture().started();
    expect([it.keyring.revision, it.keyring.key("k")?.type]).toEqual([1, "publishable"]);
    const kept = it.keyring.key("k");
    await it.pass(3000);
    expect([it.store.snapshots, it.told]).toEqual([1, []]);
    it.store.put(key("k"), key("new"));
    await it.pass(1000);
    expect([it.told, it.keyring.key("new")?.id]).toEqual([["new"], "new"]);
    expect(it.keyring.key("k")).toBe(kept);
    it.store.put(key("k", { actions: [] }));
    await it.pass(1000);
    expect(it.told).toEqual(["new", "k", "new"]);
    expect(it.keyring.key("new")).toBeUndefined();
  });

  test("are looked for at once when told of", async () => {
    const it = await new Fixture().started();
    await it.pass(100);
    it.store.put();
    it.follow.nudge();
    await it.pass(20);
    expect(it.told).toEqual(["k"]);
  });

  test("before one of our own are not passed over", async () => {
    const it = await new Fixture().started();
    // The other node has made 2, this one 3 on top of it.
    it.store.put(key("k"), key("theirs"));
    it.store.put(key("k"), key("theirs"), key("ours"));
    it.keyring.apply({ keys: [{ row: key("ours"), secrets: [] }] }, 3);
    expect(it.keyring.isBehind).toBe(true);
    await it.pass(1000);
    expect([it.keyring.key("theirs")?.id, it.keyring.isBehind]).toEqual(["theirs", false]);
  });

  test("read while one of our own is shown do not take it back; one that is late does not undo what is newer", async () => {
    const it = await new Fixture().started();
    it.store.put(key("k"), key("theirs"));
    const { promise, resolve } = Promise.withResolvers<void>();
    it.store.gate = promise;
    await it.pass(600);
    it.store.put(key("k"), key("theirs"), key("ours"));
    it.keyring.apply({ keys: [{ row: key("ours"), secrets: [] }] }, 3);
    it.store.gate = undefined;
    resolve();
    await it.pass(1000);
    expect([it.keyring.key("theirs")?.id, it.keyring.key("ours")?.id]).toEqual(["theirs", "ours"]);
    it.store.put(key("k"));
    await it.pass(1000);
    it.keyring.apply({ keys: [{ row: key("ours"), secrets: [] }] }, 3);
    expect(it.keyring.key("ours")).toBeUndefined();
  });

  test("blocks come with them, and whoever is blocked is put out", async () => {
    const it = await new Fixture().started();
    it.store.block({ app: "a", peerId: "eve", untilMs: 1e9 });
    await it.pass(1000);
    expect([it.told, it.blocks.isBlocked("a", "eve", 5), it.store.snapshots]).toEqual([["a eve blocked"], true, 1]);
    it.store.block({ app: "a", peerId: "bob", untilMs: 1e9 });
    await it.pass(1000);
    expect(it.told).toEqual(["a eve blocked", "a bob blocked"]);
  });
});

describe("before somebody is refused", () => {
  test("what the store held at that moment is known: a look that had begun earlier does not count", async () => {
    const it = await new Fixture().started();
    const { promise, resolve } = Promise.withResolvers<void>();
    it.store.gate = promise;
    await it.pass(600);
    expect(it.store.asked).toBe(2);
    it.store.put(key("k"), key("young"));
    const known = it.follow.latest();
    it.store.gate = undefined;
    resolve();
    await it.pass(200);
    expect([await known, it.keyring.key("young")?.id]).toEqual([true, "young"]);
  });

  test("many who ask share one look, and looks keep a distance", async () => {
    const it = await new Fixture().started();
    const before = it.store.asked;
    const answers: Promise<boolean>[] = [];
    for (let i = 0; i < 100; i++) {
      for (let j = 0; j < 10; j++) answers.push(it.follow.latest());
      await it.pass(10);
    }
    await it.pass(100);
    expect(new Set(await Promise.all(answers))).toEqual(new Set([true]));
    expect(it.store.asked - before).toBeLessThanOrEqual(24);
  });
});

describe("a store that is away", () => {
  test("is told of once, nobody waits for it, what is known stays; and everything is caught up with", async () => {
    const it = await new Fixture().started();
    it.store.isAway = true;
    await it.pass(3000);
    expect(it.told).toEqual(["away"]);
    const before = it.store.asked;
    expect([await it.follow.latest(), it.store.asked]).toEqual([false, before]);
    expect(it.keyring.key("k")?.id).toBe("k");
    it.store.put();
    it.store.isAway = false;
    await it.pass(1000);
    expect(it.told).toEqual(["away", "k", "back"]);
    expect(await Promise.race([it.follow.latest(), it.pass(200).then(() => undefined)])).toBe(true);
  });

  test("nothing is asked any more after the stop", async () => {
    const it = await new Fixture().started();
    await it.follow.stop();
    const before = it.store.asked;
    await it.pass(2000);
    expect(it.store.asked).toBe(before);
  });
});
