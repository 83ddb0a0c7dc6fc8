/** For tests: an embedded history in memory. */
import { SqliteHistory } from "../sqlite.ts";

export const openMemoryHistory = (nowMs?: () => number): SqliteHistory =>
  new SqliteHistory({
    path: ":memory:",
    sync: "process",
    setAside: (text) => {
      throw new Error(text);
    },
    ...(nowMs && { nowMs }),
  });
