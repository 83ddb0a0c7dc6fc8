/** A follower of a store that other nodes write to, with a fake clock and a fake store. */
import { describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { FollowerFixture, key } from "../testing/store-follower.ts";

const A = anAppId("a");

/** A follower of a store that announces its changes. */
async function announced(): Promise<{ it: FollowerFixture; announce: () => void }> {
  const it = new FollowerFixture();
  let listener = (): void => undefined;
  it.store.onChange = (given) => {
    listener = given;
  };
  await it.started();
  return { it, announce: () => listener() };
}

describe("changes of other nodes", () => {
  test("take effect within a second, each changed key is reported once, and unchanged state is not read", async () => {
    const it = await new FollowerFixture().started();
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
    const it = await new FollowerFixture().started();
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
    const it = await new FollowerFixture().started();
    // The other node has made revision 2, this one revision 3.
    it.store.put(key("k"), key("theirs"));
    it.store.put(key("k"), key("theirs"), key("ours"));
    it.keyring.apply({ keys: [{ row: key("ours"), secrets: [] }] }, 3);
    expect(it.keyring.isBehind).toBe(true);
    await it.pass(1000);
    expect([it.keyring.key("theirs")?.id, it.keyring.isBehind]).toEqual(["theirs", false]);
  });

  test("do not undo a change that this node makes meanwhile, nor does a late change of this node undo newer ones", async () => {
    const it = await new FollowerFixture().started();
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
    const it = new FollowerFixture();
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
    const it = await new FollowerFixture().started();
    it.store.block({ app: A, peerId: "eve", untilMs: 1e9 });
    await it.pass(1000);
    expect([it.events, it.blocks.isBlocked(A, "eve", 5), it.store.snapshots]).toEqual([["a eve blocked"], true, 1]);
    it.store.block({ app: A, peerId: "bob", untilMs: 1e9 });
    await it.pass(1000);
    expect(it.events).toEqual(["a eve blocked", "a bob blocked"]);
  });

  test("of blocks end those that the store has no more, but not one that began while it was read", async () => {
    const it = await new FollowerFixture().started();
    it.store.block({ app: A, peerId: "eve", untilMs: 1e9 });
    await it.pass(1000);
    it.store.unblock("eve");
    const { promise, resolve } = Promise.withResolvers<void>();
    it.store.blocksRead = promise;
    await it.pass(600);
    // Another node has announced this one meanwhile; the rows that are on their way are older.
    it.blocks.add({ app: A, peerId: "bob", untilMs: 1e9 });
    resolve();
    await it.pass(200);
    const isBlocked = (peerId: string): boolean => it.blocks.isBlocked(A, peerId, 5);
    expect(["eve", "bob"].map(isBlocked)).toEqual([false, true]);
    expect(it.events).toEqual(["a eve blocked"]);
  });
});

describe("before a credential is refused", () => {
  test("everything that the store held at that moment is loaded, by a refresh that starts afterwards", async () => {
    const it = await new FollowerFixture().started();
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
    const it = await new FollowerFixture().started();
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
    const it = await new FollowerFixture().started();
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
    const it = await new FollowerFixture().started();
    await it.follower.stop();
    const before = it.store.requests;
    await it.pass(2000);
    expect(it.store.requests).toBe(before);
  });
});
