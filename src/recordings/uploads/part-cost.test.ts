/** What a part of an upload costs: statements of the store, and flushes of files. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "../../store/engines/database.ts";
import { openStore } from "../../store/open.ts";
import type { SqlStore } from "../../store/sql/store.ts";
import { PostgresServer } from "../../store/testing/postgres.ts";
import { type Kit, makeKit } from "../testing/kit.ts";

setDefaultTimeout(60_000);

const PARTS = 20;

interface Counts {
  statements: number;
  flushes: number;
}

/** Counts what happens while `work` runs. */
async function counting(kit: Kit, work: () => Promise<void>): Promise<Counts> {
  const counts = { statements: 0, flushes: 0 };
  const { database } = kit.store as unknown as { readonly database: Database };
  const names = ["run", "transaction", "quickRun", "quickTransaction"] as const;
  const originals = names.map((name) => database[name] as (...args: unknown[]) => unknown);
  const counted =
    (original: (...args: unknown[]) => unknown) =>
    (...args: unknown[]) => {
      counts.statements++;
      return original(...args);
    };
  Object.assign(database, Object.fromEntries(names.map((name, i) => [name, counted(originals[i] as never)])));
  const handle = await open(join(kit.folder, "counted"), "w");
  const prototype = Object.getPrototypeOf(handle) as { sync: () => Promise<void> };
  await handle.close();
  const { sync } = prototype;
  prototype.sync = function counted(this: never) {
    counts.flushes++;
    return sync.call(this);
  };
  try {
    await work();
  } finally {
    prototype.sync = sync;
    Object.assign(database, Object.fromEntries(names.map((name, i) => [name, originals[i]])));
  }
  return counts;
}

const bytes = (count: number): Uint8Array<ArrayBuffer> => new Uint8Array(count).fill(3);

async function sendParts(kit: Kit, id: string, from: number): Promise<void> {
  for (let at = from; at < from + PARTS; at++) await kit.part(id, at * 100, bytes(100));
}

describe("a part", () => {
  test("costs one flush and no statement where one process uses the store; its row is written once a minute", async () => {
    const kit = await makeKit();
    const id = await kit.begin();
    await kit.part(id, 0, bytes(100));
    expect(await counting(kit, () => sendParts(kit, id, 1))).toEqual({ statements: 0, flushes: PARTS });
    expect(await kit.store.recordings.upload(kit.app, id)).toMatchObject({ bytes: 0 });
    kit.aheadMs = 61_000;
    const { statements } = await counting(kit, () => sendParts(kit, id, 1 + PARTS));
    // The row is noted and read again, and the budget is read.
    expect(statements).toBe(3);
    const noted = await kit.store.recordings.upload(kit.app, id);
    expect(noted?.bytes).toBe((1 + PARTS) * 100);
    expect((noted?.touched ?? 0) - Date.now()).toBeGreaterThan(30_000);
    await kit.close();
  });

  test("is refused when the upload was ended meanwhile, or its application was deleted", async () => {
    const kit = await makeKit();
    const [one, other] = [await kit.begin(), await kit.begin()];
    for (const id of [one, other]) await kit.part(id, 0, bytes(100));
    await kit.uploads.cancel(kit.app, one);
    await expect(kit.part(one, 100, bytes(100))).rejects.toMatchObject({ code: "recording_not_found" });
    await kit.store.change(async (change) => {
      const app = await change.app(kit.app);
      if (app) await change.putApp({ ...app, deleted: 1 });
    });
    await kit.sweep();
    await expect(kit.part(other, 100, bytes(100))).rejects.toMatchObject({ code: "recording_not_found" });
    await kit.close();
  });

  describe("where nodes share the store", () => {
    let server: PostgresServer;
    let store: SqlStore;
    let kit: Kit;
    beforeAll(async () => {
      server = await PostgresServer.start();
      store = await openStore("", await server.newDatabase());
      kit = await makeKit({ store });
    });
    afterAll(async () => {
      await kit.close();
      await server.stop();
    });

    test("costs one flush and two statements, and its row says what is held", async () => {
      const id = await kit.begin();
      await kit.part(id, 0, bytes(100));
      expect(await counting(kit, () => sendParts(kit, id, 1))).toEqual({ statements: 2 * PARTS, flushes: PARTS });
      expect(await store.recordings.upload(kit.app, id)).toMatchObject({ bytes: (1 + PARTS) * 100 });
      expect(await store.leases.take(id)).toMatchObject({ isTakeover: false, kept: (1 + PARTS) * 100 });
    });

    test("that is cut off is noted with what came of it", async () => {
      const id = await kit.begin();
      const cut = new ReadableStream<Uint8Array>({
        start: (controller) => {
          controller.enqueue(bytes(70));
          controller.error(new Error("gone"));
        },
      });
      const range = { kind: "bytes", span: { first: 0, last: 99 }, total: null } as const;
      const sent = kit.uploads.write(kit.app, id, { range, length: 100, body: cut });
      await expect(sent).rejects.toMatchObject({ code: "upload_stalled" });
      const lease = await store.leases.take(id);
      const stored = await kit.storage.storedBytes({ app: kit.app, id, locator: "" });
      expect(lease?.kept).toBe(stored);
    });
  });
});
