/** Cases that are hard to cause over a socket; test/rest/recording-uploads.test.ts has the others. */
import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { type Lease, LeaseLost, type Leases } from "../../store/contract/leases.ts";
import { LocalLeases } from "../../store/sql/recordings/local-leases.ts";
import { type Storage, StorageFull } from "../storage/storage.ts";
import { type Kit, type KitOptions, makeKit } from "../testing/kit.ts";

/** As of a store that one process uses. */
const local = new LocalLeases();
const LOCAL: Leases = { take: (id) => local.take(id), close: () => local.close() };

const kits: Kit[] = [];
afterEach(async () => {
  for (const kit of kits.splice(0)) await kit.close();
});
async function newKit(options?: KitOptions): Promise<Kit> {
  const kit = await makeKit(options);
  kits.push(kit);
  return kit;
}

test("a client that sends nothing for too long is cut off, its bytes are kept, and another can continue", async () => {
  const kit = await newKit({ silenceMaxMs: 50 });
  const id = await kit.begin();
  const silent = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array(7)) });
  const writing = kit.uploads.write(kit.app, id, { range: undefined, length: 20, body: silent });
  await expect(writing).rejects.toMatchObject({ code: "upload_stalled" });
  const rest = { kind: "bytes", span: { first: 7, last: 19 }, total: 20 } as const;
  const body = new Blob([new Uint8Array(13)]).stream();
  expect(await kit.uploads.write(kit.app, id, { range: rest, length: 13, body })).toBe(20);
});

test("a broken connection is not logged as a fault, and the received bytes are kept", async () => {
  const kit = await newKit();
  const id = await kit.begin();
  let at = 0;
  const broken = new ReadableStream<Uint8Array>({
    pull: (controller) => (at++ < 3 ? controller.enqueue(new Uint8Array(5)) : controller.error(new Error("gone"))),
  });
  const writing = kit.uploads.write(kit.app, id, { range: undefined, length: 100, body: broken });
  await expect(writing).rejects.toMatchObject({ code: "upload_stalled", message: "The connection was cut." });
  const query = { range: { kind: "query", total: 100 }, length: 0, body: null } as const;
  expect(await kit.uploads.write(kit.app, id, query)).toBe(15);
  expect(kit.metrics.text()).toContain("parley_upload_bytes_total 15");
});

test("a full storage is answered with 507 at any point, and nothing is lost or listed early", async () => {
  const calls = ["checkSpace", "append", "finish"] as const;
  let full: (typeof calls)[number] | undefined;
  const wrap = (storage: Storage): Storage =>
    Object.assign(
      Object.create(storage) as Storage,
      Object.fromEntries(
        calls.map((call) => [
          call,
          (...args: never[]) =>
            full === call
              ? Promise.reject(new StorageFull("full"))
              : (storage[call] as (...args: never[]) => Promise<void>).apply(storage, args),
        ]),
      ),
    );
  const kit = await newKit({ wrap });
  const id = await kit.begin();
  const send = (): Promise<number> =>
    kit.uploads.write(kit.app, id, { range: undefined, length: 10, body: new Blob(["0123456789"]).stream() });
  const refusal = { code: "insufficient_storage" };
  for (full of ["checkSpace", "append"] as const) await expect(send()).rejects.toMatchObject(refusal);
  await expect(kit.begin()).resolves.toBeString();
  full = "checkSpace";
  await expect(kit.begin()).rejects.toMatchObject(refusal);
  full = undefined;
  expect(await send()).toBe(10);
  full = "finish";
  await expect(kit.recordings.complete(kit.app, id)).rejects.toMatchObject(refusal);
  expect(await kit.store.recordings.totalOf(kit.app, {})).toBe(0);
  full = undefined;
  expect((await kit.recordings.complete(kit.app, id)).sizeInBytes).toBe(10);
});

test("after a crash between file and row, repeating the completion makes the recording", async () => {
  const kit = await newKit();
  const id = await kit.begin();
  await kit.uploads.write(kit.app, id, { range: undefined, length: 10, body: new Blob(["0123456789"]).stream() });
  const row = await kit.store.recordings.upload(kit.app, id);
  await kit.storage.finish({ app: kit.app, id, locator: row?.locator ?? "" }, 10);
  expect((await kit.recordings.complete(kit.app, id)).sizeInBytes).toBe(10);
});

test("a long write marks its upload as active from time to time", async () => {
  const kit = await newKit();
  const id = await kit.begin();
  const touched = async (): Promise<number> => (await kit.store.recordings.upload(kit.app, id))?.touched ?? 0;
  const before = await touched();
  let at = 0;
  let during = 0;
  const slow = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        kit.aheadMs += 400_000;
        if (at++ === 4) during = await touched();
        if (at < 6) controller.enqueue(new Uint8Array(1));
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  await kit.uploads.write(kit.app, id, { range: undefined, length: 5, body: slow });
  expect(during - before).toBeGreaterThan(600_000);
});

test("a recording is listed only after its file is in place, and not any more when the file is removed", async () => {
  const seen: [string, number][] = [];
  const look = (storage: Storage, call: "finish" | "remove") => ({
    [call]: async (...args: never[]) => {
      seen.push([call, await kit.store.recordings.totalOf(kit.app, {})]);
      return (storage[call] as (...args: never[]) => Promise<void>).apply(storage, args);
    },
  });
  const kit: Kit = await newKit({
    wrap: (storage) =>
      Object.assign(Object.create(storage) as Storage, look(storage, "finish"), look(storage, "remove")),
  });
  const { id } = await kit.record();
  await kit.recordings.delete(kit.app, id);
  expect(seen).toEqual([
    ["finish", 0],
    ["remove", 0],
  ]);
});

test("a writer that was overtaken does not end the upload of its successor", async () => {
  // Another node has taken over: the row has a later generation than this writer's lease.
  const overtaken: Lease = {
    generation: 1,
    isTakeover: false,
    kept: undefined,
    confirm: async (isFresh) => {
      if (isFresh) throw new LeaseLost();
    },
    release: async () => false,
  };
  const leases: Leases = { take: async () => overtaken, close: () => undefined };
  const kit = await newKit({ maxBytes: 10, leases });
  const id = await kit.begin();
  const { touchUpload, upload } = kit.store.recordings;
  // The lease was still valid when the write began.
  kit.store.recordings.touchUpload = () => upload.call(kit.store.recordings, kit.app, id);
  const body = new Blob([new Uint8Array(20)]).stream();
  const writing = kit.uploads.write(kit.app, id, { range: undefined, length: undefined, body });
  await expect(writing).rejects.toMatchObject({ code: "upload_busy" });
  kit.store.recordings.touchUpload = touchUpload;
  expect(await kit.store.recordings.upload(kit.app, id)).toMatchObject({ id });
  await expect(kit.uploads.cancel(kit.app, id)).rejects.toMatchObject({ code: "upload_busy" });
  expect(await kit.store.recordings.upload(kit.app, id)).toMatchObject({ id });
});

test("a deletion that meets an upload which is being finished deletes it, and says so", async () => {
  const kit = await newKit();
  const id = await kit.beginOfStay("f".repeat(24));
  await kit.part(id, 0, new Uint8Array(10));
  const { upload } = kit.store.recordings;
  // It is finished after the deletion has read its row, and before it has the lease.
  kit.store.recordings.upload = async (app, wanted) => {
    kit.store.recordings.upload = upload;
    const row = await kit.store.recordings.upload(app, wanted);
    expect(await kit.uploads.finish(app, wanted)).toBe("finished");
    return row;
  };
  await kit.recordings.delete(kit.app, id);
  expect(await kit.store.recordings.finishedUploads(9)).toEqual([]);
  await expect(kit.recordings.delete(kit.app, id)).rejects.toMatchObject({ code: "recording_not_found" });
});

test("a query reports no byte that a takeover would not keep, and follows the bytes to another place", async () => {
  let looks: { locator: string; flushed: number | undefined }[] = [];
  const leases: Leases = { ...LOCAL, look: async () => looks.shift() };
  const kit = await newKit({ leases });
  const id = await kit.begin();
  await kit.part(id, 0, new Uint8Array(10));
  const query = { range: { kind: "query", total: null }, length: undefined, body: null } as const;
  const held = (): Promise<number> => kit.uploads.write(kit.app, id, query);
  looks = [{ locator: "", flushed: 4 }];
  expect(await held()).toBe(4);
  looks = [{ locator: "", flushed: undefined }];
  expect(await held()).toBe(10);
  // A takeover has moved them, after the row was read.
  await Bun.write(join(kit.folder, "uploads", `${id}.g7`), new Uint8Array(8));
  looks = [
    { locator: "g7", flushed: 9 },
    { locator: "g7", flushed: 6 },
  ];
  expect(await held()).toBe(6);
});
