import { expect, test } from "bun:test";
import type { AppId } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import type { Lease } from "../../store/contract/leases.ts";
import type { WaitingUpload } from "../../store/contract/recordings.ts";
import { MENDED_PER_LIST, WAITING_PER_ROOM_MAX, WAITING_PER_STAY_MAX } from "./limits.ts";
import { MendingOrder } from "./mending-order.ts";
import { MendingQueue } from "./queue.ts";

const B = anAppId("b");
const C = anAppId("c");
const A = anAppId("a");

interface From {
  readonly app?: AppId;
  readonly sender?: string;
  readonly nthOfStay?: number;
  readonly nthOfRoom?: number;
}

const finished = (id: string, stay: string, { app = A, sender, nthOfStay = 1, nthOfRoom = 1 }: From = {}) =>
  ({ id, stay, app, sender: sender ?? null, nthOfStay, nthOfRoom }) as WaitingUpload;

const many = (count: number, name: string, from: From = {}): WaitingUpload[] =>
  Array.from({ length: count }, (_, n) => finished(`${name}-${n}`, name, from));

/** Lists all of them; `each` is called after each and may add some. */
async function listed(
  first: readonly WaitingUpload[],
  each?: (count: number) => readonly WaitingUpload[],
): Promise<{ readonly ids: string[]; readonly unmended: string[]; readonly lists: number }> {
  let rows = [...first];
  let lists = 0;
  const ids: string[] = [];
  const unmended: string[] = [];
  const queue = new MendingQueue({
    store: {
      finishedUploads: async () => {
        lists++;
        return [...rows];
      },
    },
    locks: {
      exclusively: async (_app, id, work) => work(rows.find((one) => one.id === id) ?? finished(id, ""), {} as Lease),
    },
    one: {
      removeLeftovers: async () => undefined,
      stop: async () => undefined,
      mendAndAdd: async ({ id }, _lease, why) => {
        rows = rows.filter((row) => row.id !== id);
        ids.push(id);
        if (why !== undefined) unmended.push(`${id}: ${why}`);
        rows.push(...(each?.(ids.length) ?? []));
      },
    },
    faults: { guarded: (_where, callback) => () => void callback() },
    log: { error: () => undefined } as never,
  });
  queue.wake();
  await queue.idle();
  return { ids, unmended, lists };
}

test("a stay with very many files does not keep the others waiting, also not those that come later", async () => {
  const rows = [...many(300, "eve"), ...many(2, "ann")];
  const { ids } = await listed(rows, (count) => (count === 10 ? many(1, "ben") : []));
  expect(ids.slice(0, 5)).toEqual(["eve-0", "ann-0", "eve-1", "ann-1", "eve-2"]);
  expect(ids.indexOf("ben-0")).toBeLessThanOrEqual(MENDED_PER_LIST);
  expect(ids).toHaveLength(303);
});

test("neither does an address with very many stays, nor an application with very many addresses", async () => {
  const guests = Array.from({ length: 20 }, (_, n) => finished(`eve-${n}`, `eve${n}`, { sender: "one" }));
  const crowd = Array.from({ length: 20 }, (_, n) => finished(`crowd-${n}`, `c${n}`, { app: B, sender: `s${n}` }));
  const rows = [...guests, finished("ann", "ann", { sender: "home" }), ...crowd, ...many(1, "ben", { app: C })];
  const { ids } = await listed(rows);
  // Three applications; in the first, two addresses.
  expect(ids.indexOf("ben-0")).toBe(2);
  expect(ids.indexOf("ann")).toBe(3);
  expect(ids).toHaveLength(rows.length);
});

test("time counts, not files: an application that has used ten seconds waits until the other has too", () => {
  const mending = new MendingOrder();
  const rows = [...many(3, "eve", { app: A }), ...many(30, "ann", { app: B })];
  const order: string[] = [];
  for (let left = rows; left.length > 0; ) {
    const row = mending.next(left);
    if (!row) break;
    order.push(row.stay ?? "");
    mending.spent(row, row.stay === "eve" ? 10_000 : 500);
    left = left.filter((one) => one !== row);
  }
  expect(order.slice(0, 2)).toEqual(["eve", "ann"]);
  expect(order.slice(1, 11)).toEqual(Array(10).fill("ann"));
  expect(order.slice(11, 13).sort()).toEqual(["ann", "eve"]);
});

/** `ann` has many files that take a second; `eve` brings the next costly one whenever hers is mended. Returns the seconds that were used until `count` of ann's are mended. */
function oneAtATime(
  mending: MendingOrder,
  count: number,
  eve: (n: number) => WaitingUpload,
): { ann: number; eve: number } {
  let rows = [...many(count, "ann", { app: A, sender: "home" })];
  const seconds = { ann: 0, eve: 0 };
  for (let brought = 0; seconds.ann < count; ) {
    const row = mending.next(rows);
    if (!row) break;
    rows = rows.filter((one) => one !== row);
    const isAnn = row.stay === "ann";
    seconds[isAnn ? "ann" : "eve"] += isAnn ? 1 : 60;
    mending.spent(row, isAnn ? 1000 : 60_000);
    // Brought while one of ann's is mended: the list that decided on that one had nothing of eve's.
    if (isAnn && rows.every(({ stay }) => stay === "ann")) rows.push(eve(brought++));
  }
  return seconds;
}

test.each<[string, (n: number) => WaitingUpload]>([
  ["an application", (n) => finished(`eve-${n}`, `eve${n}`, { app: B, sender: `s${n}` })],
  ["an address", (n) => finished(`eve-${n}`, `eve${n}`, { app: A, sender: "one" })],
  ["a stay", (n) => finished(`eve-${n}`, "eve", { app: A, sender: "home" })],
])("%s that brings one costly file at a time has no more time than the others", (_who, eve) => {
  expect(oneAtATime(new MendingOrder(), 130, eve)).toEqual({ ann: 130, eve: 180 });
});

test("who has used much while no one else waited is not behind the others for that", () => {
  const mending = new MendingOrder();
  for (const row of many(50, "eve", { app: B })) mending.spent(row, 60_000);
  const rows = [...many(1, "eve", { app: B }), ...many(100, "ann")];
  const order: string[] = [];
  for (let left = rows; order.length < 62; ) {
    const row = mending.next(left);
    if (!row) break;
    order.push(row.stay ?? "");
    mending.spent(row, 1000);
    left = left.filter((one) => one !== row);
  }
  expect(order.indexOf("eve")).toBe(60);
});

test("times that were used are forgotten after an hour, and the oldest beyond a bound", () => {
  let now = 0;
  const mending = new MendingOrder(() => now, 6);
  const [eve, ann] = [finished("e", "eve", { app: B }), finished("a", "ann", { app: A })];
  const known = (): number => (mending as unknown as { used: Map<string, unknown> }).used.size;
  mending.spent(eve, 60_000);
  mending.spent(ann, 1000);
  expect([mending.next([eve, ann])?.stay, known()]).toEqual(["ann", 6]);
  mending.spent(finished("b", "ben", { app: C }), 1000);
  expect([mending.next([eve, ann])?.stay, known()]).toEqual(["eve", 6]);
  now = 3_600_001;
  expect([mending.next([eve])?.stay, known()]).toEqual(["eve", 0]);
});

test("what waits beyond the bounds of a stay or a room is listed as it came, before anything is mended", async () => {
  const rows = [
    finished("first", "ann"),
    finished("of-stay", "eve", { nthOfStay: WAITING_PER_STAY_MAX + 1 }),
    finished("of-room", "ben", { nthOfRoom: WAITING_PER_ROOM_MAX + 1 }),
    finished("last", "eve", { nthOfStay: WAITING_PER_STAY_MAX, nthOfRoom: WAITING_PER_ROOM_MAX }),
  ];
  const { ids, unmended } = await listed(rows);
  expect(ids).toEqual(["of-stay", "of-room", "first", "last"]);
  expect(unmended).toEqual([
    "of-stay: more than 10 files of its participant wait for it",
    "of-room: more than 100 files of its room wait for it",
  ]);
});

test("the store does not rank all that wait for each file", async () => {
  const mended = await listed(many(300, "ann"));
  expect(mended.ids).toHaveLength(300);
  // Two with files and one that is empty; some more if the machine is slow.
  expect(mended.lists).toBeLessThanOrEqual(20);
  const beyond = await listed(many(300, "ann", { nthOfStay: WAITING_PER_STAY_MAX + 1 }));
  expect(beyond.unmended).toHaveLength(300);
  expect(beyond.lists).toBeLessThanOrEqual(20);
});
