/** A follower of a store that other nodes write to, with a fake clock and a fake store. */
import { describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { BlockRow, KeyRow, Revisions, Snapshot } from "../../store/contract/store.ts";
import { StoreUnreachable } from "../../store/contract/store.ts";
import { keyRow } from "../../store/testing/rows.ts";
import { Keyring } from "../keys/keyring.ts";
import { Vault } from "../keys/vault.ts";
import { Blocks } from "./blocks.ts";
import { StoreFollower } from "./store-follower.ts";

const A = anAppId("a");

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const key = (id: string, fields: Partial<KeyRow> = {}): KeyRow =>
  keyRow(id, { type: "publishable", actions: ["publish"], ...fields });

/** A store that the test changes as another node would, and whose answers it can delay. */
class SharedStore {
  rows: KeyRow[] = [key("k")];
  blockRows: BlockRow[] = [];
  at: Revisions = { keys: 1, blocks: 0 };
  isUnreachable = false;
  requests = 0;
  onChange?: (listener: () => void) => void;
  snapshots = 0;
  /** Answers wait for this, if it is set. */
  blocked: Promise<void> | undefined;

  put(...rows: KeyRow[]): void {
    this.rows = rows;
    this.at = { ...this.at, keys: this.at.keys + 1 };
  }

  block(row: BlockRow): void {
    this.blockRows.push(row);
    this.at = { ...this.at, blocks: this.at.blocks + 1 };
  }

  revisions = async (): Promise<Revisions> => {
    this.requests++;
    const { at } = this;
    await this.blocked;
    if (this.isUnreachable) throw new StoreUnreachable("gone");
    return at;
  };

  snapshot = async (): Promise<Snapshot> => {
    this.snapshots++;
    const { rows, at } = this;
    await this.blocked;
    return { revision: at.keys, apps: [], keys: rows, secrets: [], operators: [], sessions: [], meta: new Map() };
  };

  blocks = async (): Promise<BlockRow[]> => this.blockRows;
}

class Fixture {
  readonly store = new SharedStore();
  readonly keyring = new Keyring(new Vault(Buffer.alloc(32)));
  readonly blocks = new Blocks();
  readonly events: string[] = [];
  readonly withdrawn: string[] = [];
  readonly follower: StoreFollower;
  private nowMs = 1000;
  private timers: { dueMs: number; callback: () => void }[] = [];

  constructor() {
    this.keyring.onChange((id) => this.events.push(id));
    this.follower = new StoreFollower({
      store: this.store,
      keyring: this.keyring,
      blocks: this.blocks,
      clock: {
        wallMs: () => this.nowMs,
        monotonicMs: () => this.nowMs,
        after: (ms, callback) => void this.timers.push({ dueMs: this.nowMs + ms, callback }),
      },
      withdrawn: ({ kind }) => this.withdrawn.push(kind),
      blocked: (app, peerId) => this.events.push(`${app} ${peerId} blocked`),
      unreachable: () => this.events.push("unreachable"),
      reachable: () => this.events.push("reachable"),
    });
  }

  async started(): Promise<this> {
    await this.follower.start();
    this.events.length = 0;
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

/** A follower of a store that announces its changes. */
async function announced(): Promise<{ it: Fixture; announce: () => void }> {
  const it = new Fixture();
  let listener = (): void => undefined;
  it.store.onChange = (given) => {
    listener = given;
  };
  await it.started();
  return { it, announce: () => listener() };
}

describe("changes of other nodes", () => {
  test("take effect within a second, each changed key is reported once, and unchanged state is not read", async () => {
    const it = await new Fixture().started();
    expect([it.keyring.revision, it.keyring.key("k")?.type]).toEqual([1, "publishable"]);
    const kept = it.keyring.key("k");
    await it.pass(3000);
    expect([it.store.snapshots, it.events]).toEqual([1, []]);
    it.store.put(key("k"), key("new"));
    await it.pass(1000);
    expect([it.events, it.keyring.key("new")?.id]).toEqual([["new"], "new"]);
    expect(it.keyring.key("k")).toBe(kept);
    it.store.put(key("k", { actions: [] }));
    await it.pass(1000);
    expect(it.events).toEqual(["new", "k", "new"]);
    expect(it.keyring.key("new")).toBeUndefined();
  });

  test("are loaded at once when they are announced", async () => {
    const it = await new Fixture().started();
    await it.pass(100);
    it.store.put();
    it.follower.readNow();
    await it.pass(20);
    expect(it.events).toEqual(["k"]);
  });

  test("of a store that announces them are loaded at once, and its revisions are read rarely while it answers", async () => {
    const { it, announce } = await announced();
    const { requests } = it.store;
    await it.pass(10_100);
    expect(it.store.requests - requests).toBe(2);
    it.store.put();
    announce();
    await it.pass(20);
    expect(it.events).toEqual(["k"]);
    it.store.isUnreachable = true;
    announce();
    await it.pass(5000);
    it.store.isUnreachable = false;
    await it.pass(600);
    expect(it.events).toEqual(["k", "unreachable", "reachable"]);
  });

  test("that were announced while the store did not answer are loaded soon after it does", async () => {
    const { it, announce } = await announced();
    it.store.put();
    it.store.isUnreachable = true;
    announce();
    await it.pass(20);
    it.store.isUnreachable = false;
    await it.pass(600);
    expect(it.events).toEqual(["unreachable", "k", "reachable"]);
  });

  test("are not skipped if this node makes the next change", async () => {
    const it = await new Fixture().started();
    // The other node has made revision 2, this one revision 3.
    it.store.put(key("k"), key("theirs"));
    it.store.put(key("k"), key("theirs"), key("ours"));
    it.keyring.apply({ keys: [{ row: key("ours"), secrets: [] }] }, 3);
    expect(it.keyring.isBehind).toBe(true);
    await it.pass(1000);
    expect([it.keyring.key("theirs")?.id, it.keyring.isBehind]).toEqual(["theirs", false]);
  });

  test("do not undo a change that this node makes meanwhile, nor does a late change of this node undo newer ones", async () => {
    const it = await new Fixture().started();
    it.store.put(key("k"), key("theirs"));
    const { promise, resolve } = Promise.withResolvers<void>();
    it.store.blocked = promise;
    await it.pass(600);
    it.store.put(key("k"), key("theirs"), key("ours"));
    it.keyring.apply({ keys: [{ row: key("ours"), secrets: [] }] }, 3);
    it.store.blocked = undefined;
    resolve();
    await it.pass(1000);
    expect([it.keyring.key("theirs")?.id, it.keyring.key("ours")?.id]).toEqual(["theirs", "ours"]);
    it.store.put(key("k"));
    await it.pass(1000);
    it.keyring.apply({ keys: [{ row: key("ours"), secrets: [] }] }, 3);
    expect(it.keyring.key("ours")).toBeUndefined();
  });

  test("of another server are loaded, also if it has given the same revisions to them", async () => {
    const it = new Fixture();
    it.store.at = { keys: 7, blocks: 3, server: "primary" };
    await it.started();
    // What the primary had answered for last was lost, and something else was changed instead.
    it.store.rows = [key("other")];
    it.store.blockRows = [{ app: A, peerId: "eve", untilMs: 1e9 }];
    it.store.at = { keys: 7, blocks: 3, server: "standby" };
    await it.pass(1000);
    expect(it.events).toEqual(["k", "other", "a eve blocked"]);
    const { snapshots } = it.store;
    await it.pass(2000);
    expect(it.store.snapshots).toBe(snapshots);
  });

  test("include blocks, and blocked peers are reported", async () => {
    const it = await new Fixture().started();
    it.store.block({ app: A, peerId: "eve", untilMs: 1e9 });
    await it.pass(1000);
    expect([it.events, it.blocks.isBlocked(A, "eve", 5), it.store.snapshots]).toEqual([["a eve blocked"], true, 1]);
    it.store.block({ app: A, peerId: "bob", untilMs: 1e9 });
    await it.pass(1000);
    expect(it.events).toEqual(["a eve blocked", "a bob blocked"]);
  });
});

describe("before a credential is refused", () => {
  test("everything that the store held at that moment is loaded, by a refresh that starts afterwards", async () => {
    const it = await new Fixture().started();
    const { promise, resolve } = Promise.withResolvers<void>();
    it.store.blocked = promise;
    await it.pass(600);
    expect(it.store.requests).toBe(2);
    it.store.put(key("k"), key("young"));
    const known = it.follower.catchUp();
    it.store.blocked = undefined;
    resolve();
    await it.pass(200);
    expect([await known, it.keyring.key("young")?.id]).toEqual([true, "young"]);
  });

  test("concurrent callers share one refresh, and refreshes have a minimum gap", async () => {
    const it = await new Fixture().started();
    const before = it.store.requests;
    const answers: Promise<boolean>[] = [];
    for (let i = 0; i < 100; i++) {
      for (let j = 0; j < 10; j++) answers.push(it.follower.catchUp());
      await it.pass(10);
    }
    await it.pass(100);
    expect(new Set(await Promise.all(answers))).toEqual(new Set([true]));
    expect(it.store.requests - before).toBeLessThanOrEqual(24);
  });
});

describe("an unreachable store", () => {
  test("is reported once, no caller waits for it, the known state stays, and later changes are loaded", async () => {
    const it = await new Fixture().started();
    it.store.isUnreachable = true;
    await it.pass(3000);
    expect(it.events).toEqual(["unreachable"]);
    const before = it.store.requests;
    expect([await it.follower.catchUp(), it.store.requests]).toEqual([false, before]);
    expect(it.keyring.key("k")?.id).toBe("k");
    it.store.put();
    it.store.isUnreachable = false;
    await it.pass(1000);
    expect(it.events).toEqual(["unreachable", "k", "reachable"]);
    expect(await Promise.race([it.follower.catchUp(), it.pass(200).then(() => undefined)])).toBe(true);
  });

  test("gets no requests after the stop", async () => {
    const it = await new Fixture().started();
    await it.follower.stop();
    const before = it.store.requests;
    await it.pass(2000);
    expect(it.store.requests).toBe(before);
  });
});

describe("what another node takes away", () => {
  const REVOKED = { kind: "key", id: "k" } as const;
  const NARROWED = { kind: "narrowed key", id: "k" } as const;

  test("is refused before the store is read, which then decides", async () => {
    const it = await new Fixture().started();
    const invalidated = it.follower.readNow(REVOKED);
    expect([it.keyring.key("k"), it.withdrawn]).toEqual([undefined, ["key"]]);
    // The store says that the key is live, as after a failover that has lost the change.
    await it.pass(20);
    expect([await invalidated, it.keyring.key("k")?.id, it.events]).toEqual([true, "k", ["k", "k"]]);
  });

  test("does not keep new state from being loaded, also if there is more of it during each read", async () => {
    const it = await new Fixture().started();
    const read = it.store.snapshot;
    it.store.snapshot = async () => {
      const snapshot = await read();
      void it.follower.readNow({ kind: "session", id: String(it.store.snapshots) });
      await turn();
      return snapshot;
    };
    it.store.put(key("k"), key("new"));
    it.follower.readNow();
    await it.pass(50);
    expect([it.keyring.key("new")?.id, it.store.snapshots > 2]).toEqual(["new", true]);
    await it.follower.stop();
  });

  test("of a narrowed key is read from the store, and nothing else happens, if that answers soon", async () => {
    const it = await new Fixture().started();
    it.store.put(key("k", { actions: [] }));
    const invalidated = it.follower.readNow(NARROWED);
    expect([it.keyring.key("k")?.id, it.withdrawn]).toEqual(["k", []]);
    await it.pass(1000);
    expect([await invalidated, it.keyring.isWithheld("k"), it.events, it.withdrawn]).toEqual([true, false, ["k"], []]);
  });

  test("of a narrowed key withholds the key if the store does not answer soon, until it has", async () => {
    const it = await new Fixture().started();
    const { promise, resolve } = Promise.withResolvers<void>();
    it.store.put(key("k", { actions: [] }));
    it.store.blocked = promise;
    const { snapshots } = it.store;
    const invalidated = it.follower.readNow(NARROWED);
    await it.pass(450);
    expect(it.keyring.isWithheld("k")).toBe(false);
    await it.pass(100);
    expect([it.keyring.key("k"), it.keyring.isWithheld("k")]).toEqual([undefined, true]);
    it.store.blocked = undefined;
    resolve();
    await it.pass(20);
    // One read, which began after the key was narrowed, is enough.
    expect([await invalidated, it.keyring.key("k")?.id, it.store.snapshots - snapshots]).toEqual([true, "k", 1]);
  });

  test("is refused at once while the store is unreachable, until it was read", async () => {
    const it = await new Fixture().started();
    it.store.isUnreachable = true;
    await it.pass(1000);
    it.events.length = 0;
    const invalidated = it.follower.readNow(REVOKED);
    expect(it.keyring.key("k")).toBeUndefined();
    await it.pass(20);
    expect([await invalidated, it.events]).toEqual([false, ["k"]]);
    // The same revision as before, as after a failover that has lost the change.
    it.store.isUnreachable = false;
    await it.pass(1000);
    expect([it.keyring.key("k")?.id, it.events]).toEqual(["k", ["k", "k", "reachable"]]);
  });

  test("is refused when the read that follows the announcement fails", async () => {
    const it = await new Fixture().started();
    it.store.isUnreachable = true;
    const invalidated = it.follower.readNow(REVOKED);
    await it.pass(20);
    expect([await invalidated, it.keyring.key("k"), it.events]).toEqual([false, undefined, ["k", "unreachable"]]);
  });

  test("does not come back with a snapshot that was read before, and not while the next one is read", async () => {
    const it = await new Fixture().started();
    const [early, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const read = it.store.snapshot;
    it.store.snapshot = async () => {
      const snapshot = await read();
      await (it.store.snapshots === 2 ? early : late).promise;
      return snapshot;
    };
    it.store.put(key("k"), key("new"));
    await it.pass(600);
    it.store.put(key("new"));
    const invalidated = it.follower.readNow(REVOKED);
    early.resolve();
    await it.pass(100);
    expect([it.store.snapshots, it.keyring.key("new")?.id, it.keyring.key("k")]).toEqual([3, "new", undefined]);
    late.resolve();
    await it.pass(100);
    expect([await invalidated, it.keyring.key("k")]).toEqual([true, undefined]);
  });
});
