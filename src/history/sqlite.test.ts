import { newFolders } from "../store/testing/places.ts";
import { SqliteHistory } from "./sqlite.ts";
import { historyFile } from "./sqlite-file.ts";
import { historySuite } from "./testing/history.suite.ts";
import { clocksOf, STREAMS_MAX } from "./testing/kit.ts";

const newFolder = newFolders();

historySuite("the embedded history", async () => {
  const path = historyFile(newFolder());
  return {
    open: async (time) =>
      new SqliteHistory({
        path,
        sync: "process",
        setAside: (text) => {
          throw new Error(text);
        },
        streamsMax: STREAMS_MAX,
        clocks: clocksOf(time),
      }),
  };
});
