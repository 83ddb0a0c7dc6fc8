/** For tests: an embedded history in memory. */
import type { HistoryClocks } from "../sqlite/clocks.ts";
import { SqliteHistory } from "../sqlite/history.ts";

export const openMemoryHistory = (clocks?: HistoryClocks): SqliteHistory =>
  new SqliteHistory({
    path: ":memory:",
    sync: "process",
    setAside: (text) => {
      throw new Error(text);
    },
    ...(clocks && { clocks }),
  });
