import { expect, test } from "bun:test";
import type { Lease } from "../../store/leases.ts";
import type { UploadRow } from "../../store/recordings.ts";
import { MendingQueue } from "./mending-queue.ts";

const finished = (id: string, stay: string): UploadRow => ({ id, stay, app: "a" }) as UploadRow;

test("a stay with very many files does not keep the others waiting, also not those that come later", async () => {
  let rows = Array.from({ length: 50 }, (_, n) => finished(`eve-${n}`, "eve"));
  rows.push(finished("ann-0", "ann"), finished("ann-1", "ann"));
  const listed: string[] = [];
  const queue = new MendingQueue({
    store: { finishedUploads: async () => [...rows] },
    locks: {
      exclusively: async (_app, id, work) => {
        const row = rows.find((one) => one.id === id) ?? finished(id, "");
        return work(row, {} as Lease);
      },
    },
    one: {
      removeLeftovers: async () => undefined,
      stop: async () => undefined,
      list: async ({ id }) => {
        rows = rows.filter((row) => row.id !== id);
        listed.push(id);
        if (listed.length === 10) rows.push(finished("ben-0", "ben"));
      },
    },
    faults: { guarded: (_where, callback) => () => void callback() },
    log: { error: () => undefined } as never,
  });
  queue.wake();
  await queue.idle();
  expect(listed.slice(0, 5)).toEqual(["eve-0", "ann-0", "eve-1", "ann-1", "eve-2"]);
  expect(listed.indexOf("ben-0")).toBe(10);
  expect(listed).toHaveLength(53);
});
