import { afterEach, describe, expect, test } from "bun:test";
import { newObjectId } from "../../access/keys/ids.ts";
import type { StayUploadRow } from "../../store/contract/recordings.ts";
import { GUEST_RECORDING_MIN_BYTES } from "../../store/contract/uploads.ts";
import { type Kit, type KitOptions, makeKit } from "../testing/kit.ts";
import { STAY_RECORDINGS_MAX, STAY_UPLOADS_PER_APP_MAX } from "./limits.ts";

const kits: Kit[] = [];
afterEach(async () => {
  for (const kit of kits.splice(0)) await kit.close();
});

async function newKit(options?: KitOptions): Promise<Kit> {
  const kit = await makeKit(options);
  kits.push(kit);
  return kit;
}

const limitTo = (kit: Kit, maxRecordingBytesTotal: number): Promise<void> =>
  kit.store.change(async (change) => {
    const app = await change.app(kit.app);
    if (app) await change.putApp({ ...app, maxRecordingBytesTotal });
  });

const over = (budget: string) => ({ code: "insufficient_storage", more: { fields: { budget } } });
const bytes = (count: number): Uint8Array<ArrayBuffer> => new Uint8Array(count);

describe("the budget of an application", () => {
  test("counts recordings and open uploads; what is held at its end can be completed", async () => {
    const kit = await newKit();
    await limitTo(kit, 1000);
    await kit.record(bytes(600));
    const id = await kit.begin();
    expect(await kit.part(id, 0, bytes(300))).toBe(300);
    await expect(kit.part(id, 300, bytes(101))).rejects.toMatchObject(over("application"));
    expect(await kit.part(id, 300, bytes(100))).toBe(400);
    await expect(kit.part(id, 400, bytes(1))).rejects.toThrow("are limited to 1000 bytes (maxRecordingBytesTotal)");
    expect((await kit.recordings.complete(kit.app, id, { total: 400 })).sizeInBytes).toBe(400);
    await expect(kit.begin()).rejects.toMatchObject(over("application"));
  });

  test("has room again when recordings are deleted, and when it is raised", async () => {
    const kit = await newKit();
    await limitTo(kit, 1000);
    const full = await kit.record(bytes(1000));
    await expect(kit.begin()).rejects.toMatchObject(over("application"));
    await limitTo(kit, 1001);
    const id = await kit.begin();
    await expect(kit.part(id, 0, bytes(2))).rejects.toMatchObject(over("application"));
    await kit.recordings.delete(kit.app, full.id);
    expect(await kit.part(id, 0, bytes(1001))).toBe(1001);
  });

  test("refuses an announced total before its bytes come, and keeps what fits of a body without a length", async () => {
    const kit = await newKit();
    await limitTo(kit, 1000);
    const id = await kit.begin();
    const announced = kit.uploads.write(kit.app, id, {
      range: { kind: "bytes", span: { first: 0, last: 9 }, total: 1001 },
      length: 10,
      body: new Blob([bytes(10)]).stream(),
    });
    await expect(announced).rejects.toMatchObject(over("application"));
    const endless = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(bytes(300)) });
    const sent = { range: undefined, length: undefined, body: endless };
    await expect(kit.uploads.write(kit.app, id, sent)).rejects.toMatchObject(over("application"));
    expect((await kit.recordings.complete(kit.app, id, { total: 1000 })).sizeInBytes).toBe(1000);
  });

  test("counts the bytes of uploads that another process has noted", async () => {
    const kit = await newKit();
    await limitTo(kit, 1000);
    const [one, other] = [await kit.begin(), await kit.begin()];
    await kit.store.recordings.noteBytes(other, 0, 900, Date.now());
    expect(await kit.recordings.stored(kit.app)).toMatchObject({ uploading: 900 });
    await expect(kit.part(one, 0, bytes(101))).rejects.toMatchObject(over("application"));
    expect(await kit.part(one, 0, bytes(100))).toBe(100);
  });
});

describe("the share of guests", () => {
  test("is half of the application's, for all of them, open and listed; others have the rest", async () => {
    const kit = await newKit();
    const unit = GUEST_RECORDING_MIN_BYTES;
    await limitTo(kit, 10 * unit);
    const [eve, mallory] = [await kit.beginOfStay("eve", true), await kit.beginOfStay("mallory", true)];
    expect(await kit.part(eve, 0, bytes(3 * unit))).toBe(3 * unit);
    const listed = await kit.recordings.complete(kit.app, eve, { total: 3 * unit });
    await expect(kit.part(mallory, 0, bytes(2 * unit + 1))).rejects.toMatchObject(over("guests"));
    expect(await kit.part(mallory, 0, bytes(2 * unit))).toBe(2 * unit);
    await expect(kit.beginOfStay("eve", true)).rejects.toThrow(
      "are limited to 327680 bytes, half of the application's limit",
    );
    await kit.record(bytes(2 * unit));
    const ann = await kit.beginOfStay("ann");
    expect(await kit.part(ann, 0, bytes(3 * unit))).toBe(3 * unit);
    await kit.recordings.complete(kit.app, ann, { total: 3 * unit });
    await expect(kit.beginOfStay("ann")).rejects.toMatchObject(over("application"));
    await kit.store.recordings.recount();
    await expect(kit.part(mallory, 2 * unit, bytes(1))).rejects.toMatchObject({ code: "insufficient_storage" });
    await kit.recordings.delete(kit.app, listed.id);
    expect(await kit.part(mallory, 2 * unit, bytes(3 * unit))).toBe(5 * unit);
    await expect(kit.part(mallory, 5 * unit, bytes(1))).rejects.toMatchObject({ code: "insufficient_storage" });
  });

  test("bounds how many recordings there are: each counts as 64 KiB, however small it is", async () => {
    const kit = await newKit();
    await limitTo(kit, 10 * GUEST_RECORDING_MIN_BYTES);
    const made: string[] = [];
    for (let n = 0; n < 5; n++) {
      const id = await kit.beginOfStay(`eve-${n}`, true);
      await kit.part(id, 0, bytes(1));
      made.push((await kit.recordings.complete(kit.app, id, { total: 1 })).id);
    }
    expect(await kit.recordings.stored(kit.app)).toEqual({ recordings: 5, bytes: 5, uploading: 0 });
    await expect(kit.beginOfStay("eve", true)).rejects.toMatchObject(over("guests"));
    const ann = await kit.beginOfStay("ann");
    expect(await kit.part(ann, 0, bytes(10 * GUEST_RECORDING_MIN_BYTES - 5))).toBe(10 * GUEST_RECORDING_MIN_BYTES - 5);
    await kit.uploads.cancel(kit.app, ann);
    await kit.recordings.delete(kit.app, made[0] ?? "");
    const open = await kit.beginOfStay("eve", true);
    // One without a byte counts too, and has room for what it counts as.
    await expect(kit.beginOfStay("mallory", true)).rejects.toMatchObject(over("guests"));
    expect(await kit.part(open, 0, bytes(GUEST_RECORDING_MIN_BYTES))).toBe(GUEST_RECORDING_MIN_BYTES);
    await expect(kit.part(open, GUEST_RECORDING_MIN_BYTES, bytes(1))).rejects.toMatchObject(over("guests"));
  });

  test("counts what comes at this moment, and the number of uploads too", async () => {
    const kit = await newKit();
    await limitTo(kit, 20_000_000);
    const [eve, mallory] = [await kit.beginOfStay("eve", true), await kit.beginOfStay("mallory", true)];
    const slow = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(bytes(1)),
      pull: async (controller) => {
        reached.resolve();
        await slow.promise;
        controller.close();
      },
    });
    const writing = kit.uploads
      .write(kit.app, eve, { range: undefined, length: undefined, body })
      .catch(() => undefined);
    await reached.promise;
    const all = bytes(10_000_000 - GUEST_RECORDING_MIN_BYTES);
    await expect(kit.part(mallory, 0, all)).rejects.toMatchObject(over("guests"));
    slow.resolve();
    await writing;
    expect(await kit.part(mallory, 0, all)).toBe(all.length);
    await limitTo(kit, 1e12);
    const row = await kit.store.recordings.upload(kit.app, mallory);
    for (let i = 2; i < STAY_UPLOADS_PER_APP_MAX / 2; i++)
      await kit.store.recordings.addStayUpload({ ...row, id: newObjectId(Date.now()) } as StayUploadRow, 10_000);
    await expect(kit.beginOfStay("trudy", true)).rejects.toMatchObject({ code: "too_many_uploads" });
    await kit.beginOfStay("ann");
  });
});

describe("the budget of a stay", () => {
  test("counts all its uploads, open, finished and listed, and nothing of another stay", async () => {
    const kit = await newKit({ stayBytesMax: 1000 });
    const first = await kit.beginOfStay("s1");
    await kit.part(first, 0, bytes(400));
    expect(await kit.uploads.finish(kit.app, first)).toBe("finished");
    const second = await kit.beginOfStay("s1");
    await kit.part(second, 0, bytes(300));
    expect((await kit.recordings.complete(kit.app, second, { total: 300 })).mended).toBe(false);
    const third = await kit.beginOfStay("s1");
    await expect(kit.part(third, 0, bytes(301))).rejects.toMatchObject(over("stay"));
    expect(await kit.part(third, 0, bytes(300))).toBe(300);
    await expect(kit.part(third, 300, bytes(1))).rejects.toThrow("are limited to 1000 bytes in a meeting");
    expect(await kit.uploads.finish(kit.app, third, 300)).toBe("finished");
    await expect(kit.beginOfStay("s1")).rejects.toMatchObject(over("stay"));
    expect(await kit.part(await kit.beginOfStay("s2"), 0, bytes(1000))).toBe(1000);
  });

  test("an upload that never ends is refused at the budget, and what has come of it is kept", async () => {
    const kit = await newKit({ stayBytesMax: 3_000_000, maxBytes: 2_000_000 });
    const id = await kit.beginOfStay("s1");
    for (let at = 0; at < 2_000_000; at += 500_000) await kit.part(id, at, bytes(500_000));
    await expect(kit.part(id, 2_000_000, bytes(1))).rejects.toMatchObject({ code: "recording_too_large" });
    expect(await kit.uploads.finish(kit.app, id)).toBe("finished");
    const endless = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(bytes(100_000)) });
    const other = await kit.beginOfStay("s1");
    const sent = { range: undefined, length: undefined, body: endless };
    await expect(kit.uploads.write(kit.app, other, sent)).rejects.toMatchObject(over("stay"));
    expect(await kit.uploads.finish(kit.app, other)).toBe("finished");
    const sizes = (await kit.store.recordings.finishedUploads(10)).map((row) => row.bytes);
    expect(sizes).toEqual([2_000_000, 1_000_000]);
  });

  test("is one of recordings too: a page that has made as many begins no other", async () => {
    const kit = await newKit();
    const first = await kit.beginOfStay("s1");
    const row = await kit.store.recordings.upload(kit.app, first);
    for (let i = 1; i < STAY_RECORDINGS_MAX; i++)
      await kit.store.recordings.addStayUpload(
        { ...row, id: newObjectId(Date.now()) } as StayUploadRow,
        STAY_RECORDINGS_MAX,
      );
    await expect(kit.beginOfStay("s1")).rejects.toMatchObject(over("stay"));
    await expect(kit.beginOfStay("s1")).rejects.toThrow("can make at most 200 recordings");
    await kit.beginOfStay("s2");
    await kit.uploads.cancel(kit.app, first);
    await expect(kit.beginOfStay("s1")).rejects.toMatchObject({ code: "too_many_uploads" });
  });
});

test("participants begin no upload while those of their application have very many; its server does", async () => {
  const kit = await newKit();
  const { recordings } = kit.store;
  const bytesUsed = recordings.bytesUsed.bind(recordings);
  let others = STAY_UPLOADS_PER_APP_MAX - 1;
  recordings.bytesUsed = async (...of) => {
    const used = await bytesUsed(...of);
    return { ...used, uploadsOfStays: used.uploadsOfStays + others };
  };
  const id = await kit.beginOfStay("s1");
  await expect(kit.beginOfStay("s2")).rejects.toMatchObject({ code: "too_many_uploads" });
  expect(await kit.part(id, 0, bytes(1000))).toBe(1000);
  await kit.begin();
  others--;
  await kit.beginOfStay("s2");
});
