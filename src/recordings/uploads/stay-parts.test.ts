/** One request to an upload of a stay: what it reserves, how much it carries, how slowly it may come, and what ends it. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../../test/support/wait.ts";
import { openStore } from "../../store/open.ts";
import { entering, inside } from "../../store/testing/meetings.ts";
import { PostgresServer } from "../../store/testing/postgres.ts";
import { STAY_AHEAD_MAX_BYTES, STAY_PART_MAX_BYTES, STAY_UPLOADS_KEPT_MS } from "../budgets/limits.ts";
import { type Kit, type KitOptions, makeKit } from "../testing/kit.ts";
import { UploadBody } from "./body.ts";

setDefaultTimeout(60_000);

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

const kits: Kit[] = [];
const bodies: Trickle[] = [];
afterEach(async () => {
  for (const body of bodies.splice(0)) await body.end();
  for (const kit of kits.splice(0)) await kit.close();
});

async function newKit(options: KitOptions = {}, maxRecordingBytesTotal = 100 * GIB): Promise<Kit> {
  const kit = await makeKit({ silenceMaxMs: 60_000, maxBytes: 4 * GIB, ...options });
  kits.push(kit);
  await kit.store.change(async (change) => {
    const app = await change.app(kit.app);
    if (app) await change.putApp({ ...app, maxRecordingBytesTotal });
  });
  return kit;
}

/** A body of which ten bytes come every 50 ms. */
class Trickle {
  readonly outcome: Promise<number | { readonly code: string }>;
  readonly taken: Promise<unknown>;
  sent = 0;
  private readonly timer: Timer;
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(kit: Kit, id: string, length: number | undefined) {
    const { promise, resolve: onTaken } = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.controller = controller;
      },
      cancel: () => clearInterval(this.timer),
    });
    this.timer = setInterval(() => this.send(), 50);
    const range =
      length === undefined
        ? undefined
        : ({ kind: "bytes", span: { first: 0, last: length - 1 }, total: null } as const);
    this.outcome = kit.uploads.write(kit.app, id, { range, length, body, onTaken }).catch((error) => error);
    this.taken = Promise.race([promise, this.outcome]);
    bodies.push(this);
  }

  private send(): void {
    this.controller?.enqueue(new Uint8Array(10));
    this.sent += 10;
  }

  async end(): Promise<number | { readonly code: string }> {
    clearInterval(this.timer);
    try {
      this.controller?.close();
    } catch {
      // It was cut.
    }
    return this.outcome;
  }
}

const filesOf = (kit: Kit, id: string): string[] =>
  readdirSync(join(kit.folder, "uploads")).filter((name) => name.startsWith(id));

test("whatever it announces, no more than 4 MiB of it count before they have come", async () => {
  const kit = await newKit({}, GIB);
  for (let stay = 0; stay < 20; stay++)
    await new Trickle(kit, await kit.beginOfStay(`s${stay}`), STAY_PART_MAX_BYTES).taken;
  const id = await kit.begin();
  const announce = (total: number): Promise<number> =>
    kit.uploads.write(kit.app, id, {
      range: { kind: "bytes", span: { first: 0, last: 9 }, total },
      length: 10,
      body: new Blob([new Uint8Array(10)]).stream(),
    });
  const left = GIB - 20 * STAY_AHEAD_MAX_BYTES;
  await expect(announce(left + 1)).rejects.toMatchObject({ code: "insufficient_storage" });
  expect(await announce(left)).toBe(10);
  await kit.beginOfStay("s99");
});

test.each([
  ["with a length", STAY_PART_MAX_BYTES / 16],
  ["without one", undefined],
])("slow ones %s do not use up a small budget: others find room for what they send", async (_, length) => {
  const kit = await newKit({}, 8 * MIB);
  for (let stay = 0; stay < 20; stay++) {
    const slow = new Trickle(kit, await kit.beginOfStay(`s${stay}`), length);
    await slow.taken;
    expect(await Promise.race([slow.outcome, "goes on"])).toBe("goes on");
  }
  const { budgets } = kit.uploads as unknown as { budgets: { comingIn: ReadonlyMap<string, unknown> } };
  await until("the first bytes of all have come", () => budgets.comingIn.size === 20);
  const id = await kit.beginOfStay("s99");
  expect(await kit.part(id, 0, new Uint8Array(4 * MIB))).toBe(4 * MIB);
});

test("a total that it announces reserves nothing, and lets it have no more than other parts", async () => {
  const kit = await newKit({}, 100 * MIB);
  const [one, other] = [await kit.beginOfStay("s1"), await kit.begin()];
  const announced = kit.uploads.write(kit.app, one, {
    range: { kind: "bytes", span: { first: 0, last: 9 }, total: 90 * MIB },
    length: 10,
    body: new Blob([new Uint8Array(10)]).stream(),
  });
  expect(await announced).toBe(10);
  await kit.store.recordings.noteBytes(other, 0, 95 * MIB, Date.now());
  let stored = 10;
  const more = async (): Promise<never> => {
    for (;;) stored = await kit.part(one, stored, new Uint8Array(3 * MIB));
  };
  await expect(more()).rejects.toMatchObject({ code: "insufficient_storage" });
  expect(stored).toBeLessThan(17 * MIB);
});

test("it carries 64 MiB at most: more is refused, or cut where no length was given", async () => {
  const kit = await newKit();
  const id = await kit.beginOfStay("s1");
  const announced = new Trickle(kit, id, STAY_PART_MAX_BYTES + 1);
  expect(await announced.outcome).toMatchObject({ code: "body_too_large" });
  let left = 65;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => (left-- > 0 ? controller.enqueue(new Uint8Array(MIB)) : controller.close()),
  });
  const endless = kit.uploads.write(kit.app, id, { range: undefined, length: undefined, body });
  const offset = STAY_PART_MAX_BYTES;
  await expect(endless).rejects.toMatchObject({ code: "body_too_large", more: { fields: { offset } } });
  expect(await kit.part(id, offset, new Uint8Array(10))).toBe(offset + 10);
});

test("one that trickles is cut, what came is held, and the page goes on; one of a backend may be slow", async () => {
  const kit = await newKit({ stayPace: { minBytes: 1000, everyMs: 1000, maxMs: 3_600_000 } });
  const id = await kit.beginOfStay("s1");
  const [slow, own] = [new Trickle(kit, id, MIB), new Trickle(kit, await kit.begin(), undefined)];
  expect(await slow.outcome).toMatchObject({ code: "upload_stalled", message: expect.stringContaining("1000 bytes") });
  const stored = await kit.locks.storedBytes((await kit.store.recordings.upload(kit.app, id)) as never);
  expect(stored).toBeGreaterThan(0);
  expect(await kit.part(id, stored, new Uint8Array(100))).toBe(stored + 100);
  expect(await own.end()).toBe(own.sent);
});

test("one that comes fast enough has an end all the same", async () => {
  const kit = await newKit({ stayPace: { minBytes: 0, everyMs: 1000, maxMs: 2500 } });
  const body = new Trickle(kit, await kit.beginOfStay("s1"), MIB);
  expect(await body.outcome).toMatchObject({ code: "upload_stalled", message: expect.stringContaining("2.5 seconds") });
});

test("the time in which the storage is slow does not count", async () => {
  let left = 5;
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => (left-- > 0 ? controller.enqueue(new Uint8Array(10)) : controller.close()),
  });
  const limit = { first: 100, more: async () => 100, tooMany: () => new Error() as never };
  const pace = { minBytes: 100, everyMs: 1000, maxMs: 1500 };
  /** How long the storage takes for each chunk: it is not the time of the client. */
  const STORED_MS = 500;
  const body = new UploadBody(stream, limit, 60_000, { ask: async () => undefined, pace });
  for await (const _ of body.chunks()) await Bun.sleep(STORED_MS);
  expect(body.count).toBe(50);
});

test("half an hour after the stay it is refused, and cut where it is on its way", async () => {
  const kit = await newKit();
  const { recordings, meetings } = kit.store;
  const { stay } = inside(await meetings.enter(entering("s1", "room", { app: kit.app }), 9, Date.now()));
  const [one, other] = [await kit.beginOfStay(stay.id), await kit.beginOfStay(stay.id)];
  await kit.part(other, 0, new Uint8Array(10));
  await meetings.end(stay.id, "left", Date.now());
  const body = new Trickle(kit, one, MIB);
  await body.taken;
  expect(await kit.part(other, 10, new Uint8Array(10))).toBe(20);
  kit.aheadMs = STAY_UPLOADS_KEPT_MS + 1000;
  expect(await body.outcome).toMatchObject({ code: "upload_complete" });
  // Its row is read anew.
  await recordings.touchUpload(other, 0, null, Date.now());
  await expect(kit.part(other, 20, new Uint8Array(10))).rejects.toMatchObject({ code: "upload_complete" });
  expect(await kit.uploads.finish(kit.app, one)).toBe("finished");
  expect(await kit.uploads.finish(kit.app, other, 20)).toBe("finished");
});

test("deleting its upload cuts it and removes the bytes; that of a backend is not cut", async () => {
  const kit = await newKit();
  const [id, own] = [await kit.beginOfStay("s1"), await kit.begin()];
  const [body, other] = [new Trickle(kit, id, MIB), new Trickle(kit, own, undefined)];
  await Promise.all([body.taken, other.taken]);
  await expect(kit.uploads.finish(kit.app, id)).rejects.toMatchObject({ code: "upload_busy" });
  await kit.recordings.delete(kit.app, id);
  expect(await body.outcome).toMatchObject({ code: "recording_not_found" });
  expect(filesOf(kit, id)).toEqual([]);
  await expect(kit.part(id, 0, new Uint8Array(10))).rejects.toMatchObject({ code: "recording_not_found" });
  await expect(kit.recordings.delete(kit.app, own)).rejects.toMatchObject({ code: "upload_busy" });
  expect(await other.end()).toBe(other.sent);
});

test("it is cut when its application is deleted", async () => {
  const kit = await newKit();
  const body = new Trickle(kit, await kit.beginOfStay("s1"), MIB);
  await body.taken;
  await kit.store.change(async (change) => {
    const app = await change.app(kit.app);
    if (app) await change.putApp({ ...app, deleted: 1 });
  });
  await kit.sweep();
  expect(await body.outcome).toMatchObject({ code: "recording_not_found" });
});

test("where nodes share the store, another node cuts it too, and knows that it has expired", async () => {
  const server = await PostgresServer.start();
  const url = await server.newDatabase();
  const [store, otherStore] = [await openStore("", url), await openStore("", url)];
  const kit = await newKit({ store });
  const node = await makeKit({ store: otherStore, app: kit.app, folder: kit.folder });
  const [one, other] = [await kit.beginOfStay("s1"), await kit.beginOfStay("s2")];
  const body = new Trickle(kit, one, MIB);
  await body.taken;
  await node.recordings.delete(kit.app, one);
  expect(await body.outcome).toMatchObject({ code: "recording_not_found" });
  await expect(node.part(one, 0, new Uint8Array(10))).rejects.toMatchObject({ code: "recording_not_found" });
  await store.meetings.enter(entering("s2", "room", { app: kit.app }), 9, Date.now());
  await store.meetings.end("s2", "left", Date.now());
  expect(await node.part(other, 0, new Uint8Array(10))).toBe(10);
  node.aheadMs = STAY_UPLOADS_KEPT_MS + 1000;
  await expect(node.part(other, 10, new Uint8Array(10))).rejects.toMatchObject({ code: "upload_complete" });
  await node.close();
  await kits.pop()?.close();
  await server.stop();
});
