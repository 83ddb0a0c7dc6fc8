/** What a part of an upload makes the service do besides computing: statements of the store, and flushes of files. */
import { open } from "node:fs/promises";
import { join } from "node:path";
import { makeKit } from "../../src/recordings/testing/kit.ts";
import type { Database } from "../../src/store/engines/database.ts";

const PARTS = 1000;
const PART_BYTES = 1000;

export interface PartCounts {
  readonly parts: number;
  readonly statements: number;
  readonly flushes: number;
}

/** Without HTTP and in this process, on SQLite and a folder: only so can they be counted. */
export async function countParts(): Promise<PartCounts> {
  const kit = await makeKit();
  try {
    const id = await kit.begin();
    const { database } = kit.store as unknown as { readonly database: Database };
    const counts = { parts: PARTS, statements: 0, flushes: 0 };
    for (const name of ["run", "transaction", "quickRun", "quickTransaction"] as const) {
      const original = database[name] as (...args: unknown[]) => unknown;
      const counted = (...args: unknown[]): unknown => {
        counts.statements++;
        return original(...args);
      };
      Object.assign(database, { [name]: counted });
    }
    const restore = await countFlushes(join(kit.folder, "counted"), () => counts.flushes++);
    for (let at = 0; at < PARTS; at++) await kit.part(id, at * PART_BYTES, new Uint8Array(PART_BYTES));
    restore();
    return { ...counts };
  } finally {
    await kit.close();
  }
}

async function countFlushes(path: string, count: () => void): Promise<() => void> {
  const handle = await open(path, "w");
  const prototype = Object.getPrototypeOf(handle) as { sync: () => Promise<void> };
  await handle.close();
  const original = prototype.sync;
  prototype.sync = function sync(this: unknown): Promise<void> {
    count();
    return original.call(this as never);
  };
  return () => {
    prototype.sync = original;
  };
}
