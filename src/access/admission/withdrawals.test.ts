/** What other nodes name as taken away, on a node whose store is slow or unreachable. */
import { describe, expect, test } from "bun:test";
import { FollowerFixture, key, turn } from "../testing/store-follower.ts";

describe("what another node takes away", () => {
  const REVOKED = { kind: "key", id: "k" } as const;
  const NARROWED = { kind: "narrowed key", id: "k" } as const;

  test("is refused before the store is read, which then decides", async () => {
    const it = await new FollowerFixture().started();
    const invalidated = it.follower.readNow(REVOKED);
    expect([it.keyring.key("k"), it.withdrawn]).toEqual([undefined, ["key"]]);
    // The store says that the key is live, as after a failover that has lost the change.
    await it.pass(20);
    expect([await invalidated, it.keyring.key("k")?.id, it.events]).toEqual([true, "k", ["k", "k"]]);
  });

  test("does not keep new state from being loaded, also if there is more of it during each read", async () => {
    const it = await new FollowerFixture().started();
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
    const it = await new FollowerFixture().started();
    it.store.put(key("k", { actions: [] }));
    const invalidated = it.follower.readNow(NARROWED);
    expect([it.keyring.key("k")?.id, it.withdrawn]).toEqual(["k", []]);
    await it.pass(1000);
    expect([await invalidated, it.keyring.isWithheld("k"), it.events, it.withdrawn]).toEqual([true, false, ["k"], []]);
  });

  test("of a narrowed key withholds the key if the store is not responding soon, until it has", async () => {
    const it = await new FollowerFixture().started();
    const { promise, resolve } = Promise.withResolvers<void>();
    it.store.put(key("k", { actions: [] }));
    it.store.blocked = promise;
    const { snapshots } = it.store;
    const invalidated = it.follower.readNow(NARROWED);
    await it.pass(750);
    expect(it.keyring.isWithheld("k")).toBe(false);
    await it.pass(100);
    expect([it.keyring.key("k"), it.keyring.isWithheld("k")]).toEqual([undefined, true]);
    it.store.blocked = undefined;
    resolve();
    await it.pass(20);
    // One read, which began after the key was narrowed, is enough.
    expect([await invalidated, it.keyring.key("k")?.id, it.store.snapshots - snapshots]).toEqual([true, "k", 1]);
  });

  test("of a narrowed key withholds nothing when it is repeated after it was read, and again for another edit", async () => {
    const it = await new FollowerFixture().started();
    it.store.put(key("k", { actions: [] }));
    expect(await it.follower.readNow({ ...NARROWED, edit: "first" })).toBe(true);
    it.store.blocked = new Promise(() => undefined);
    void it.follower.readNow({ ...NARROWED, edit: "first" });
    await it.pass(1000);
    expect([it.keyring.key("k")?.id, it.withdrawn]).toEqual(["k", []]);
    void it.follower.readNow({ ...NARROWED, edit: "second" });
    await it.pass(1000);
    expect(it.keyring.isWithheld("k")).toBe(true);
  });

  test("is refused at once while the store is unreachable, until it was read", async () => {
    const it = await new FollowerFixture().started();
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
    const it = await new FollowerFixture().started();
    it.store.isUnreachable = true;
    const invalidated = it.follower.readNow(REVOKED);
    await it.pass(20);
    expect([await invalidated, it.keyring.key("k"), it.events]).toEqual([false, undefined, ["k", "unreachable"]]);
  });

  test("does not come back with a snapshot that was read before, and not while the next one is read", async () => {
    const it = await new FollowerFixture().started();
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
