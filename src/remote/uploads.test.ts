/** Uploads whose parts reach several workers, which write to one folder. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { retried, until } from "../../test/support/wait.ts";
import { type Kit, makeKit } from "../recordings/testing/kit.ts";
import { newFolders } from "../store/testing/places.ts";
import { Served } from "./testing/served.ts";

const newFolder = newFolders();
let served: Served;
let one: Kit;
let other: Kit;

beforeEach(async () => {
  served = await Served.open(newFolder());
  one = await makeKit({ store: (await served.worker()).store });
  other = await makeKit({ store: (await served.worker()).store, folder: one.folder, app: one.app });
});
afterEach(async () => {
  await one.close();
  await other.close();
  await served.close();
});

const bytes = (count: number, value: number): Uint8Array<ArrayBuffer> => new Uint8Array(count).fill(value);

/** How many bytes the upload has, as a client that asks for its offset sees it. */
const offsetOf = async ({ locks, app }: Kit, id: string): Promise<number> =>
  locks.storedBytes(await locks.open(app, id));

test("parts that reach different workers make one recording", async () => {
  const id = await one.begin();
  for (let at = 0; at < 10; at++) {
    const kit = at % 2 ? one : other;
    expect(await kit.part(id, at * 100, bytes(100, at))).toBe((at + 1) * 100);
    expect(await offsetOf(at % 2 ? other : one, id)).toBe((at + 1) * 100);
  }
  const made = await other.recordings.complete(other.app, id, { total: 1000 });
  const file = await one.recordings.file(made);
  expect(new Uint8Array((await file?.arrayBuffer()) ?? [])).toEqual(
    new Uint8Array(Array.from({ length: 1000 }, (_, i) => Math.floor(i / 100))),
  );
});

test("a worker that has lost its connection acknowledges nothing, and another continues with what is there", async () => {
  const id = await one.begin();
  await one.part(id, 0, bytes(100, 1));
  const sent = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    start: async (controller) => {
      controller.enqueue(bytes(50, 2));
      await sent.promise;
      controller.enqueue(bytes(50, 3));
      controller.close();
    },
  });
  const range = { kind: "bytes", span: { first: 100, last: 199 }, total: null } as const;
  const writing = one.uploads.write(one.app, id, { range, length: 100, body }).then(
    () => "acknowledged",
    (error: { code?: string }) => error.code ?? String(error),
  );
  // The second lease of this upload.
  await until("the lease is held", () => served.store.workerLeases.isHeld(id, 2));
  await expect(other.part(id, 100, bytes(1, 9))).rejects.toMatchObject({ code: "upload_busy" });
  // Cuts all connections; the workers connect again.
  await served.stopServing();
  await served.serve();
  await connected(other);
  const offset = await offsetOf(other, id);
  expect(await other.part(id, offset, bytes(200, 4))).toBe(offset + 200);
  sent.resolve();
  expect(await writing).not.toBe("acknowledged");
  const made = await other.recordings.complete(other.app, id, { total: offset + 200 });
  const content = new Uint8Array((await (await other.recordings.file(made))?.arrayBuffer()) ?? []);
  expect([...content.subarray(offset)]).toEqual([...bytes(200, 4)]);
  expect([...content.subarray(0, 100)]).toEqual([...bytes(100, 1)]);
});

async function connected({ store }: Kit): Promise<void> {
  await retried("the store answers again", () => store.revisions());
}
