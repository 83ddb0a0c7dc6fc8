import { newFolders } from "../store/testing/places.ts";
import { SqliteHistory } from "./sqlite.ts";
import { historyFile } from "./sqlite-file.ts";
import { historySuite } from "./testing/history.suite.ts";

const newFolder = newFolders();

historySuite("the embedded history", async () => {
  const path = historyFile(newFolder());
  return {
    open: async (skewMs) =>
      new SqliteHistory({
        path,
        sync: "process",
        setAside: (text) => {
          throw new Error(text);
        },
        nowMs: () => Date.now() + skewMs(),
      }),
  };
});
