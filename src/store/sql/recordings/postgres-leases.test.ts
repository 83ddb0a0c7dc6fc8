/** Leases of several processes on one PostgreSQL: what happens when a holder freezes, dies, or cannot reach the database. */
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, spyOn, test } from "bun:test";
import { SQL } from "bun";
import { until } from "../../../../test/support/wait.ts";
import { LEASE_MS, LeaseLost } from "../../contract/leases.ts";
import type { Store } from "../../contract/store.ts";
import { openStore } from "../../open.ts";
import { withApps } from "../../testing/places.ts";
import { PostgresServer } from "../../testing/postgres.ts";
import { uploadRow } from "../../testing/rows.ts";

setDefaultTimeout(60_000);

let server: PostgresServer;
let url: string;
let stores: Store[] = [];
beforeAll(async () => {
  server = await PostgresServer.start();
});
beforeEach(async () => {
  url = await server.newDatabase();
  const one = await withApps(() => openStore("", url));
  await one.recordings.addUpload(uploadRow("u"), 5);
  stores = [one, await openStore("", url)];
});
afterAll(() => server.stop());

const pair = (): [Store, Store] => stores as [Store, Store];
const closeAll = (): Promise<unknown> => Promise.all(stores.map((store) => store.close()));

/** Makes the lease expire, as if it had not been renewed. */
async function lapse(): Promise<void> {
  await using sql = new SQL({ url, max: 1 });
  await sql`UPDATE uploads SET lease_until = 1`;
}

async function lease(store: Store) {
  const given = await store.leases.take("u");
  if (!given) throw new Error("the upload is busy");
  return given;
}

test("an expired lease goes to another node, and its first holder can change nothing any more", async () => {
  const [one, other] = pair();
  const first = await lease(one);
  await first.keep?.(123);
  expect(await other.leases.take("u")).toBeUndefined();
  await lapse();
  const second = await lease(other);
  expect(second).toMatchObject({ isTakeover: true, kept: 123, generation: first.generation + 1 });
  await expect(first.confirm(true)).rejects.toBeInstanceOf(LeaseLost);
  await expect(first.confirm()).rejects.toBeInstanceOf(LeaseLost);
  await expect(first.keep?.(999)).rejects.toBeInstanceOf(LeaseLost);
  expect(await one.recordings.touchUpload("u", first.generation, 5, 1)).toBeUndefined();
  expect(await first.release(true)).toBe(false);
  await second.confirm(true);
  expect(await second.release(true)).toBe(true);
  expect(await lease(one)).toMatchObject({ isTakeover: false, kept: 123 });
  await closeAll();
});

test("bytes of a holder that has not released are reported as far as they are flushed, from any node", async () => {
  const [one, other] = pair();
  const look = (): Promise<unknown> => other.leases.look?.("u") ?? Promise.reject();
  const { locator } = uploadRow("u");
  expect(await look()).toEqual({ locator, flushed: undefined });
  const first = await lease(one);
  expect(await look()).toEqual({ locator, flushed: 0 });
  await first.keep?.(123);
  await lapse();
  expect(await look()).toEqual({ locator, flushed: 123 });
  const second = await lease(other);
  await other.recordings.moveUpload("u", second.generation, "elsewhere");
  expect(await look()).toEqual({ locator: "elsewhere", flushed: 123 });
  await second.release(true);
  expect(await look()).toEqual({ locator: "elsewhere", flushed: undefined });
  await other.recordings.discardUpload("u", 1);
  expect(await look()).toBeUndefined();
  await closeAll();
});

test("after a takeover that failed, the next holder takes over as well", async () => {
  const [one, other] = pair();
  await lease(one);
  await lapse();
  await (await lease(other)).release(false);
  const third = await lease(one);
  expect(third.isTakeover).toBe(true);
  await third.release(true);
  expect((await lease(other)).isTakeover).toBe(false);
  await closeAll();
});

test("a holder that has lost its lease does not renew the lease of the next holder", async () => {
  const [one, other] = pair();
  const first = await lease(one);
  await lapse();
  await lease(other);
  await lapse();
  await expect(first.confirm(true)).rejects.toBeInstanceOf(LeaseLost);
  expect((await lease(one)).isTakeover).toBe(true);
  await closeAll();
});

test("a holder that was frozen for longer than its lease asks the database before it continues", async () => {
  const [one, other] = pair();
  const first = await lease(one);
  await first.confirm();
  await lapse();
  await lease(other);
  const now = performance.now();
  const frozen = spyOn(performance, "now").mockImplementation(() => now + LEASE_MS + 1000);
  try {
    await expect(first.confirm()).rejects.toBeInstanceOf(LeaseLost);
  } finally {
    frozen.mockRestore();
  }
  await closeAll();
});

test("a holder whose lease expired continues if no other node took over", async () => {
  const [one, other] = pair();
  const first = await lease(one);
  await lapse();
  await first.confirm(true);
  expect(await other.leases.take("u")).toBeUndefined();
  await closeAll();
});

test("a lease is renewed while it is held, and lost when the upload ends", async () => {
  const [one, other] = pair();
  const first = await lease(one);
  await lapse();
  // Longer than the interval of renewals.
  const isRenewed = async (): Promise<boolean> => {
    await using sql = new SQL({ url, max: 1 });
    const [row] = await sql`SELECT lease_until FROM uploads`;
    return Number(row.lease_until) > 1;
  };
  await until("the lease is renewed", isRenewed, 20_000);
  expect(await other.leases.take("u")).toBeUndefined();
  expect(await other.recordings.discardUpload("u", 1)).toBe(true);
  await expect(first.confirm(true)).rejects.toBeInstanceOf(LeaseLost);
  await closeAll();
});
