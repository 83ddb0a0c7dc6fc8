import { expect, test } from "bun:test";
import type { Lease } from "../../store/leases.ts";
import type { WaitingUpload } from "../../store/recordings.ts";
import { WAITING_PER_ROOM_MAX, WAITING_PER_STAY_MAX } from "./mend-limits.ts";
import { MendingQueue } from "./mending-queue.ts";
import { MendingTurns } from "./mending-turns.ts";

interface From {
  readonly app?: string;
  readonly sender?: string;
  readonly nthOfStay?: number;
  readonly nthOfRoom?: number;
}

const finished = (id: string, stay: string, { app = "a", sender, nthOfStay = 1, nthOfRoom = 1 }: From = {}) =>
  ({ id, stay, app, sender: sender ?? null, nthOfStay, nthOfRoom }) as WaitingUpload;

const many = (count: number, name: string, from: From = {}): WaitingUpload[] =>
  Array.from({ length: count }, (_, n) => finished(`${name}-${n}`, name, from));

/** Lists all of them; `each` is called after each and may add some. */
async function listed(
  first: readonly WaitingUpload[],
  each?: (count: number) => readonly WaitingUpload[],
): Promise<{ readonly ids: string[]; readonly unmended: string[] }> {
  let rows = [...first];
  const ids: string[] = [];
  const unmended: string[] = [];
  const queue = new MendingQueue({
    store: { finishedUploads: async () => [...rows] },
    locks: {
      exclusively: async (_app, id, work) => work(rows.find((one) => one.id === id) ?? finished(id, ""), {} as Lease),
    },
    one: {
      removeLeftovers: async () => undefined,
      stop: async () => undefined,
      list: async ({ id }, _lease, why) => {
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
  return { ids, unmended };
}

test("a stay with very many files does not keep the others waiting, also not those that come later", async () => {
  const rows = [...many(50, "eve"), ...many(2, "ann")];
  const { ids } = await listed(rows, (count) => (count === 10 ? many(1, "ben") : []));
  expect(ids.slice(0, 5)).toEqual(["eve-0", "ann-0", "eve-1", "ann-1", "eve-2"]);
  expect(ids.indexOf("ben-0")).toBe(10);
  expect(ids).toHaveLength(53);
});

test("neither does an address with very many stays, nor an application with very many addresses", async () => {
  const guests = Array.from({ length: 20 }, (_, n) => finished(`eve-${n}`, `eve${n}`, { sender: "one" }));
  const crowd = Array.from({ length: 20 }, (_, n) => finished(`crowd-${n}`, `c${n}`, { app: "b", sender: `s${n}` }));
  const rows = [...guests, finished("ann", "ann", { sender: "home" }), ...crowd, ...many(1, "ben", { app: "c" })];
  const { ids } = await listed(rows);
  // Three applications; in the first, two addresses.
  expect(ids.indexOf("ben-0")).toBe(2);
  expect(ids.indexOf("ann")).toBe(3);
  expect(ids).toHaveLength(rows.length);
});

test("time counts, not files: an application that has used ten seconds waits until the other has too", () => {
  const turns = new MendingTurns();
  const rows = [...many(3, "eve", { app: "a" }), ...many(30, "ann", { app: "b" })];
  const order: string[] = [];
  for (let left = rows; left.length > 0; ) {
    const row = turns.next(left);
    if (!row) break;
    order.push(row.stay ?? "");
    turns.spent(row, row.stay === "eve" ? 10_000 : 500);
    left = left.filter((one) => one !== row);
  }
  expect(order.slice(0, 2)).toEqual(["eve", "ann"]);
  expect(order.slice(1, 11)).toEqual(Array(10).fill("ann"));
  expect(order.slice(11, 13).sort()).toEqual(["ann", "eve"]);
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
