/** For tests: an embedded history in memory. */
import type { HistoryClocks } from "../clocks.ts";
import { SqliteHistory } from "../sqlite.ts";

export const openMemoryHistory = (clocks?: HistoryClocks): SqliteHistory =>
  new SqliteHistory({
    path: ":memory:",
    sync: "process",
    setAside: (text) => {
      throw new Error(text);
    },
    ...(clocks && { clocks }),
  });
