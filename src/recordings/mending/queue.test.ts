import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Storage } from "../storage/storage.ts";
import { StorageFull, StorageUnavailable } from "../storage/storage.ts";
import { type Kit, makeKit } from "../testing/kit.ts";
import type { Mender } from "./mender.ts";
import { MEND_COMMAND, ProcessMender } from "./process-mender.ts";
import { liveWebm } from "./testing/live-webm.ts";
import { bytesOf, finishedUpload, makeMending } from "./testing/mending-kit.ts";
import { readBack } from "./testing/read-back.ts";

const RECORDED = join(import.meta.dir, "../../../test/fixtures/recorded");
const BYTES = liveWebm({ seconds: 3 });

let kit: Kit;
beforeEach(async () => {
  kit = await makeKit();
});
afterEach(() => kit.close());

/** Mends by writing one text. */
const saying = (mend: Mender["mend"]): Mender => ({ mend, stop: async () => undefined });
const mending: Mender = saying(async (_input, output) => {
  writeFileSync(output, "mended");
  return { outcome: "mended", durationMs: 2600, size: 6 };
});

/** All files below the storage's folder and that of mending. */
const filesLeft = (): string[] =>
  ["recordings", "mending"]
    .map((name) => join(kit.folder, "..", name))
    .filter(existsSync)
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name !== "parley-storage.json")
    .map(({ name }) => name)
    .sort();

test("what Chromium recorded is listed as a file with its duration, and nothing else is left", async () => {
  const id = await finishedUpload(kit, new Uint8Array(readFileSync(join(RECORDED, "camera.webm"))), 1000);
  const { queue, errors } = makeMending(kit, new ProcessMender({ command: MEND_COMMAND }));
  expect(await kit.store.recordings.recording(kit.app, id)).toBeUndefined();
  queue.wake();
  await queue.idle();
  const row = await kit.recordings.get(kit.app, id);
  expect(row).toMatchObject({ mended: true, format: "webm", startTime: 1000, endTime: 1008 });
  expect(row.file).not.toBe(id);
  const bytes = await bytesOf(kit, row);
  expect(bytes).toHaveLength(row.sizeInBytes);
  writeFileSync(join(kit.folder, "../read"), bytes);
  expect((await readBack(join(kit.folder, "../read"))).duration).toBeCloseTo(7.996, 2);
  expect(filesLeft()).toEqual([row.file ?? ""]);
  expect(errors).toEqual([]);
});

test("a file that is none is listed as it came, and ends with its last part", async () => {
  const id = await finishedUpload(kit, new TextEncoder().encode("<!doctype html>"));
  const { queue, warnings } = makeMending(kit, new ProcessMender({ command: ["/does/not/exist"] }));
  queue.wake();
  await queue.idle();
  const row = await kit.recordings.get(kit.app, id);
  expect(row).toMatchObject({ mended: false, file: null, format: "other", sizeInBytes: 15 });
  expect(Math.abs(row.endTime - Date.now() / 1000)).toBeLessThan(10);
  expect(warnings).toEqual([
    "a recording could not be mended and is listed unchanged: its first bytes are not those of a WebM, MP4 or Ogg file",
  ]);
  expect(filesLeft()).toEqual([id]);
});

test("a file that cannot be mended is tried once, and listed as it came", async () => {
  const id = await finishedUpload(kit, BYTES);
  let calls = 0;
  const mender = saying(async (_input, output) => {
    calls++;
    writeFileSync(output, "half");
    return { outcome: "as_it_came", why: "it took longer than 60 s" };
  });
  const { queue, warnings } = makeMending(kit, mender);
  queue.wake();
  await queue.idle();
  const row = await kit.recordings.get(kit.app, id);
  expect(row).toMatchObject({ mended: false, file: null, format: "webm", sizeInBytes: BYTES.length });
  expect(await bytesOf(kit, row)).toEqual(BYTES);
  expect([calls, warnings.length]).toEqual([1, 1]);
  expect(filesLeft()).toEqual([id]);
});

test("three recordings in a row that cannot be mended are a sign that mending fails, until one can be", async () => {
  let outcome: "mended" | "as_it_came" = "as_it_came";
  const mender = saying((input, output) =>
    outcome === "mended" ? mending.mend(input, output) : Promise.resolve({ outcome, why: "it cannot start" }),
  );
  const { queue, recent } = makeMending(kit, mender);
  const list = async (bytes: Uint8Array<ArrayBuffer> = BYTES): Promise<boolean> => {
    await finishedUpload(kit, bytes);
    queue.wake();
    await queue.idle();
    return recent.areFailing;
  };
  const page = new TextEncoder().encode("<!doctype html>");
  // A file of another format says nothing about mending.
  expect([await list(page), await list(), await list(), await list(page), await list()]).toEqual([
    false,
    false,
    false,
    false,
    true,
  ]);
  outcome = "mended";
  expect(await list()).toBe(false);
});

test("files that cannot be mended for what is in them are no sign of that, however many there are", async () => {
  const mender = saying(async () => ({ outcome: "as_it_came", why: "its times go back", isOfFile: true }));
  const { queue, recent, warnings } = makeMending(kit, mender);
  for (let i = 0; i < 4; i++) {
    await finishedUpload(kit, BYTES);
    queue.wake();
    await queue.idle();
  }
  expect([warnings.length, recent.areFailing]).toEqual([4, false]);
});

test("several are listed one after the other, also those that are finished meanwhile", async () => {
  const ids: string[] = [];
  let running = 0;
  const mender = saying(async (input, output) => {
    expect(++running).toBe(1);
    if (ids.length < 6) ids.push(await finishedUpload(kit, BYTES));
    running--;
    return mending.mend(input, output);
  });
  for (let i = 0; i < 3; i++) ids.push(await finishedUpload(kit, BYTES));
  const { queue } = makeMending(kit, mender);
  for (let i = 0; i < 5; i++) queue.wake();
  await queue.idle();
  for (const id of ids) expect((await kit.recordings.get(kit.app, id)).mended).toBe(true);
  expect(ids).toHaveLength(6);
  expect(filesLeft()).toHaveLength(6);
});

test("a deleted recording leaves no file, mended or not", async () => {
  const ids = [await finishedUpload(kit, BYTES), await finishedUpload(kit, new Uint8Array(10))];
  const { queue } = makeMending(kit, mending);
  queue.wake();
  await queue.idle();
  for (const id of ids) await kit.recordings.delete(kit.app, id);
  expect(filesLeft()).toEqual([]);
});

test("an upload that is ended while it is mended leaves no file", async () => {
  const id = await finishedUpload(kit, BYTES);
  const mender = saying(async (input, output) => {
    await kit.store.recordings.discardUpload(id, Date.now());
    await kit.sweep();
    return mending.mend(input, output);
  });
  const { queue, errors } = makeMending(kit, mender);
  queue.wake();
  await queue.idle();
  await kit.sweep();
  expect(errors).toEqual([]);
  expect(await kit.store.recordings.recording(kit.app, id)).toBeUndefined();
  expect(filesLeft()).toEqual([]);
});

describe("a storage", () => {
  const wrapped = (changed: Partial<Storage>): Storage =>
    new Proxy(kit.storage, {
      get: (target, name) => {
        const value = Reflect.get(changed, name) ?? Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });

  test("without space for the mended file: it is listed as it came", async () => {
    const id = await finishedUpload(kit, BYTES);
    const full = async (): Promise<never> => {
      throw new StorageFull("full");
    };
    const { queue } = makeMending(kit, mending, { storage: wrapped({ finish: full }) });
    queue.wake();
    await queue.idle();
    expect((await kit.recordings.get(kit.app, id)).mended).toBe(false);
    expect(filesLeft()).toEqual([id]);
  });

  test("that does not answer: the file waits, and counts as waiting", async () => {
    const id = await finishedUpload(kit, BYTES);
    const gone = async (): Promise<never> => {
      throw new StorageUnavailable("gone");
    };
    const { queue, errors } = makeMending(kit, mending, { storage: wrapped({ append: gone }) });
    queue.wake();
    await queue.idle();
    queue.wake();
    await queue.idle();
    expect(errors).toEqual(["a finished upload could not be listed; the next attempt is in 30 s: gone"]);
    expect([filesLeft(), queue.waiting]).toEqual([[id], 1]);
    const later = makeMending(kit, mending);
    later.queue.wake();
    await later.queue.idle();
    expect((await kit.recordings.get(kit.app, id)).mended).toBe(true);
    expect([filesLeft().length, later.queue.waiting]).toEqual([1, 0]);
  });

  test("of another machine: the bytes are copied to a temporary folder first", async () => {
    const id = await finishedUpload(kit, BYTES);
    const inputs: string[] = [];
    const mender = saying(async (input, output) => {
      inputs.push(input.path);
      expect(new Uint8Array(readFileSync(input.path))).toEqual(BYTES);
      return mending.mend(input, output);
    });
    const { queue, folder } = makeMending(kit, mender, { storage: wrapped({ path: () => undefined }) });
    queue.wake();
    await queue.idle();
    expect((await kit.recordings.get(kit.app, id)).mended).toBe(true);
    expect(inputs).toEqual([join(folder, `${id}.0`, "recorded")]);
    expect(filesLeft()).toHaveLength(1);
  });
});

test("leftovers of a crash are removed at the start", async () => {
  const folder = join(kit.folder, "../mending", "a".repeat(24));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "mended"), "half");
  const { queue } = makeMending(kit, mending);
  queue.start();
  await queue.idle();
  await queue.stop();
  expect(filesLeft()).toEqual([]);
});

test("what is under way when the service stops is mended after the next start", async () => {
  const id = await finishedUpload(kit, BYTES);
  const begun = Promise.withResolvers<void>();
  const command = [process.execPath, "-e", "setInterval(() => {}, 1000)"];
  const slow = new ProcessMender({ command });
  const { queue } = makeMending(kit, {
    mend: (input, output) => {
      begun.resolve();
      return slow.mend(input, output);
    },
    stop: () => slow.stop(),
  });
  queue.start();
  await begun.promise;
  await queue.stop();
  expect(await kit.store.recordings.recording(kit.app, id)).toBeUndefined();
  const next = makeMending(kit, mending);
  next.queue.wake();
  await next.queue.idle();
  expect((await kit.recordings.get(kit.app, id)).mended).toBe(true);
});
