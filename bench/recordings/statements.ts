/** Measures the single statements of a call. */
import type { Database, Work } from "../../src/store/engines/database.ts";
import type { SqlStore } from "../../src/store/sql/store.ts";

/** Milliseconds that the longest of the call's statements takes. */
export async function longestStatement(store: SqlStore, call: () => Promise<void>): Promise<number> {
  const { database } = store as unknown as { database: Database };
  const { run } = database;
  let longest = 0;
  const measuring = async <T>(work: Work<T>): Promise<T> => {
    const from = performance.now();
    const result = await run(work);
    longest = Math.max(longest, performance.now() - from);
    return result;
  };
  Object.assign(database, { run: measuring });
  try {
    await call();
    return longest;
  } finally {
    Object.assign(database, { run });
  }
}
