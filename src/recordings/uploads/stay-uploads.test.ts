import { afterEach, beforeEach, expect, test } from "bun:test";
import type { StayRow } from "../../store/contract/meetings.ts";
import { entering, inside } from "../../store/testing/meetings.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { RecordingMetrics } from "../budgets/metrics.ts";
import { type Storage, StorageFull } from "../storage/storage.ts";
import { type Kit, makeKit } from "../testing/kit.ts";
import { StayUploads } from "./stay-uploads.ts";

const MINUTE_MS = 60_000;

let kit: Kit;
let metrics: Metrics;
let uploads: StayUploads;
let woken = 0;
let isFull = false;
beforeEach(async () => {
  woken = 0;
  isFull = false;
  const finish = async (storage: Storage, ...call: Parameters<Storage["finish"]>): Promise<void> => {
    if (isFull) throw new StorageFull("no room");
    await storage.finish(...call);
  };
  kit = await makeKit({
    wrap: (storage) =>
      Object.assign(Object.create(storage) as Storage, {
        finish: (...call: Parameters<Storage["finish"]>) => finish(storage, ...call),
      }),
  });
  metrics = new Metrics();
  uploads = newUploads();
});
afterEach(() => kit.close());

/** As after a restart, or on another node. */
function newUploads(): StayUploads {
  return new StayUploads({
    store: kit.store.recordings,
    uploads: kit.uploads,
    locks: kit.locks,
    metrics: new RecordingMetrics(metrics, () => 0),
    log: { error: (_fields: object, message: string) => kit.errors.push(message) } as never,
    nowMs: () => Date.now() + kit.aheadMs,
    wake: () => {
      woken++;
    },
  });
}

async function stayOf(id: string, name = "Ann"): Promise<StayRow> {
  const now = Date.now() + kit.aheadMs;
  return inside(await kit.store.meetings.enter(entering(id, "room", { app: kit.app, name }), 9, now)).stay;
}

const end = (stay: StayRow): Promise<unknown> => kit.store.meetings.end(stay.id, "left", Date.now() + kit.aheadMs);

function part(id: string, at: number, count: number): Promise<number> {
  const range = { kind: "bytes", span: { first: at, last: at + count - 1 }, total: null } as const;
  return kit.uploads.write(kit.app, id, { range, length: count, body: new Blob([new Uint8Array(count)]).stream() });
}

const finished = async (): Promise<unknown[]> =>
  (await kit.store.recordings.finishedUploads(99)).map(({ id, bytes }) => [id, bytes]);

test("what has come is finished half an hour after the stay has ended, once, and not before", async () => {
  const [ann, ben] = [await stayOf("ann"), await stayOf("ben")];
  const [camera, screen] = [await uploads.begin(ann, "camera"), await uploads.begin(ann, "screen")];
  const other = await uploads.begin(ben, "camera");
  await part(camera.id, 0, 100);
  await part(other.id, 0, 50);
  kit.aheadMs += 2 * 60 * MINUTE_MS;
  expect(await uploads.sweep()).toBe(0);
  await end(ann);
  kit.aheadMs += 29 * MINUTE_MS;
  expect(await uploads.sweep()).toBe(0);
  // Its page may still send what is left.
  await part(camera.id, 100, 20);
  kit.aheadMs += 2 * MINUTE_MS;
  const sweeps = await Promise.all([uploads.sweep(), newUploads().sweep()]);
  expect(Math.max(...sweeps)).toBeGreaterThan(0);
  expect(await finished()).toEqual([[camera.id, 120]]);
  // No byte came of the screen.
  expect(await kit.store.recordings.upload(kit.app, screen.id)).toBeUndefined();
  expect(await uploads.sweep()).toBe(0);
  expect(woken).toBeGreaterThan(0);
  await expect(part(camera.id, 120, 1)).rejects.toMatchObject({ code: "upload_complete" });
  expect(await part(other.id, 50, 1)).toBe(51);
  expect(kit.errors).toEqual([]);
});

test("uploads of stays that the store has forgotten are finished, and those of pages that do nothing for a day", async () => {
  const ann = await stayOf("ann");
  const [known, unknown] = [await uploads.begin(ann, "camera"), await uploads.begin({ ...ann, id: "gone" }, "camera")];
  for (const { id } of [known, unknown]) await part(id, 0, 10);
  expect(await uploads.sweep()).toBe(1);
  expect(await finished()).toEqual([[unknown.id, 10]]);
  kit.aheadMs += 25 * 60 * MINUTE_MS;
  // The sweep of abandoned uploads has no say in what has come of a stay.
  await kit.sweep();
  expect(await uploads.sweep()).toBe(1);
  expect(await finished()).toHaveLength(2);
});

test("one that is being written to, or whose storage is full, waits for the next sweep", async () => {
  const ann = await stayOf("ann");
  const { id } = await uploads.begin(ann, "camera");
  await part(id, 0, 10);
  await end(ann);
  kit.aheadMs += 31 * MINUTE_MS;
  const { promise, resolve } = Promise.withResolvers<void>();
  const writing = kit.locks.exclusively(kit.app, id, () => promise);
  expect(await uploads.sweep()).toBe(0);
  resolve();
  await writing;
  isFull = true;
  expect(await uploads.sweep()).toBe(0);
  expect(kit.errors.length).toBeGreaterThan(0);
  isFull = false;
  expect(await uploads.sweep()).toBe(1);
  expect(await finished()).toEqual([[id, 10]]);
});

test("many that are being written to do not keep the others waiting", async () => {
  const busy = await Promise.all(Array.from({ length: 250 }, (_, n) => kit.beginOfStay(`gone-${n}`)));
  const { promise, resolve } = Promise.withResolvers<void>();
  const writing = busy.map((id) => kit.locks.exclusively(kit.app, id, () => promise));
  // Behind them in the order of ids.
  kit.aheadMs += 2000;
  const last = await kit.beginOfStay("gone");
  await part(last, 0, 10);
  expect(await uploads.sweep()).toBe(1);
  expect(await finished()).toEqual([[last, 10]]);
  resolve();
  await Promise.all(writing);
});

test("a third upload is refused while both others are in use; one that was left behind is finished for it", async () => {
  const ann = await stayOf("ann");
  const [left, used] = [await uploads.begin(ann, "camera"), await uploads.begin(ann, "screen")];
  await part(left.id, 0, 10);
  kit.aheadMs += MINUTE_MS;
  await expect(uploads.begin(ann, "camera")).rejects.toMatchObject({ code: "too_many_uploads" });
  kit.aheadMs += 2 * MINUTE_MS;
  await part(used.id, 0, 10);
  await uploads.begin(ann, "camera");
  expect(await finished()).toEqual([[left.id, 10]]);
  expect(woken).toBe(1);
  await part(used.id, 10, 10);
});

test("a page that begins one too many has only the uploads of its own stay read", async () => {
  const ann = await stayOf("ann");
  for (const source of ["camera", "screen"] as const) await uploads.begin(ann, source);
  const { recordings } = kit.store;
  const { uploadsOf } = recordings;
  recordings.uploadsOf = () => Promise.reject(new Error("all uploads of the application are read"));
  await expect(uploads.begin(ann, "camera")).rejects.toMatchObject({ code: "too_many_uploads" });
  recordings.uploadsOf = uploadsOf;
});

test("who, where and when is the service's to say", async () => {
  const ann = await stayOf("ann", "Ann");
  kit.aheadMs += 10 * MINUTE_MS;
  const began = Math.floor(ann.began / 1000);
  expect(await uploads.begin(ann, "microphone", 1e9)).toMatchObject({
    room: ann.room,
    meetingSession: ann.meeting,
    participantSession: "ann",
    participantUsername: "Ann",
    type: "audio",
    source: "microphone",
    stay: "ann",
    startTime: began,
  });
  const { startTime } = await uploads.begin(ann, "screen", 2 * MINUTE_MS);
  expect(Math.abs(startTime - began - 480)).toBeLessThanOrEqual(2);
});

test("a page ends its own uploads only, as often as it likes", async () => {
  const [ann, eve] = [await stayOf("ann"), await stayOf("eve")];
  const { id } = await uploads.begin(ann, "camera");
  await part(id, 0, 10);
  const byServer = await kit.begin();
  for (const [stay, one] of [
    [eve, id],
    [ann, byServer],
    [ann, "f".repeat(24)],
  ] as const)
    await expect(uploads.sentAll(stay, one)).rejects.toMatchObject({ code: "recording_not_found" });
  await expect(uploads.sentAll(ann, id, 11)).rejects.toMatchObject({
    code: "upload_incomplete",
    more: { fields: { offset: 10 } },
  });
  await Promise.all([uploads.sentAll(ann, id, 10), uploads.sentAll(ann, id).catch(() => undefined)]);
  await uploads.sentAll(ann, id);
  expect(await finished()).toEqual([[id, 10]]);
  expect(await uploads.sentAllByServer(kit.app, byServer)).toBe(false);
  expect(await uploads.sentAllByServer(kit.app, id)).toBe(true);
  expect(metrics.text()).toContain('parley_stay_uploads_finished_total{by="page"} 1');
});
