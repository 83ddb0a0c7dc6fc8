/** A person who was removed from a meeting writes to no recording any more, and what came of it is finished by the service. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { StayRow } from "../../store/contract/meetings.ts";
import { entering, inside } from "../../store/testing/meetings.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { RecordingMetrics } from "../budgets/metrics.ts";
import { type Kit, makeKit } from "../testing/kit.ts";
import { StayUploads } from "./stay-uploads.ts";

let kit: Kit;
let uploads: StayUploads;
let woken: number;
beforeEach(async () => {
  kit = await makeKit({ silenceMaxMs: 60_000 });
  woken = 0;
  uploads = new StayUploads({
    store: kit.store.recordings,
    uploads: kit.uploads,
    locks: kit.locks,
    metrics: new RecordingMetrics(new Metrics(), () => 0),
    log: { error: () => undefined } as never,
    nowMs: Date.now,
    wake: () => woken++,
  });
});
afterEach(() => kit.close());

const stayOf = async (id: string, externalUserId: string | null = null): Promise<StayRow> =>
  inside(await kit.store.meetings.enter(entering(id, "room", { app: kit.app, externalUserId }), 9, Date.now())).stay;

const remove = (stay: StayRow): Promise<unknown> => kit.store.meetings.end(stay.id, "removed", Date.now());

const finished = async (): Promise<(readonly [string, number])[]> =>
  (await kit.store.recordings.finishedUploads(99)).map(({ id, bytes }) => [id, bytes] as const);

const ask = (id: string): Promise<number> =>
  kit.uploads.write(kit.app, id, { range: { kind: "query", total: null }, length: 0, body: null });

const REFUSED = { code: "action_not_permitted", message: expect.stringContaining("removed") };
const bytes = (count: number): Uint8Array<ArrayBuffer> => new Uint8Array(count).fill(7);

test("no part is taken from the moment of the removal, and what came is finished at once", async () => {
  const [eve, ann] = [await stayOf("eve"), await stayOf("ann")];
  const [hers, other] = [await uploads.begin(eve, "camera"), await uploads.begin(ann, "camera")];
  for (const { id } of [hers, other]) await kit.part(id, 0, bytes(10));
  await remove(eve);
  await expect(kit.part(hers.id, 10, bytes(10))).rejects.toMatchObject(REFUSED);
  await expect(ask(hers.id)).rejects.toMatchObject(REFUSED);
  expect(await kit.part(other.id, 10, bytes(10))).toBe(20);
  await uploads.stayRemoved(eve);
  expect(await finished()).toEqual([[hers.id, 10]]);
  expect(woken).toBe(1);
});

test("a node that dies after the removal leaves them to the next sweep of any node", async () => {
  const eve = await stayOf("eve");
  const { id } = await uploads.begin(eve, "screen");
  await kit.part(id, 0, bytes(10));
  expect(await uploads.sweep()).toBe(0);
  await remove(eve);
  expect(await uploads.sweep()).toBe(1);
  expect(await finished()).toEqual([[id, 10]]);
});

test("a part that is on its way is cut, however slowly it comes; what it brought is kept", async () => {
  const eve = await stayOf("eve");
  const { id } = await uploads.begin(eve, "camera");
  let push: ReadableStreamDefaultController<Uint8Array> | undefined;
  const { promise: isTaken, resolve: onTaken } = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      push = controller;
    },
  });
  const writing = kit.uploads.write(kit.app, id, { range: undefined, length: undefined, body, onTaken });
  const outcome = writing.catch((error: unknown) => error);
  await isTaken;
  push?.enqueue(bytes(10));
  await remove(eve);
  // Without an end of its own: it would go on for hours.
  await uploads.stayRemoved(eve);
  expect(await outcome).toMatchObject(REFUSED);
  expect(await finished()).toEqual([[id, 10]]);
});

test("a user who was removed writes to none of earlier stays either; others who left before do", async () => {
  const [first, ann] = [await stayOf("first", "user-1"), await stayOf("ann", "user-2")];
  const [earlier, other] = [await uploads.begin(first, "camera"), await uploads.begin(ann, "camera")];
  for (const { id } of [earlier, other]) await kit.part(id, 0, bytes(10));
  for (const { id } of [first, ann]) await kit.store.meetings.end(id, "left", Date.now());
  await kit.part(earlier.id, 10, bytes(10));
  const second = await stayOf("second", "user-1");
  await remove(second);
  await expect(kit.part(earlier.id, 20, bytes(10))).rejects.toMatchObject(REFUSED);
  expect(await kit.part(other.id, 10, bytes(10))).toBe(20);
  expect(await uploads.sweep()).toBe(1);
  expect(await finished()).toEqual([[earlier.id, 20]]);
});
