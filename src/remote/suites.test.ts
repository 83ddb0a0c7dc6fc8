/** The suites of every store and of every history, for a worker of a server. */
import { describe } from "bun:test";
import { historySuite } from "../history/testing/history.suite.ts";
import { clocksOf, STREAMS_MAX } from "../history/testing/kit.ts";
import { newFolders } from "../store/testing/places.ts";
import { storeSuite } from "../store/testing/store.suite.ts";
import { openServedHistory, openServedStore } from "./testing/served.ts";

const newFolder = newFolders();

describe("a store behind a server", () =>
  storeSuite(
    async () => {
      const folder = newFolder();
      return () => openServedStore(folder);
    },
    { isSample: true },
  ));

historySuite("a history behind a server", async () => {
  const folder = newFolder();
  return {
    open: (time) => openServedHistory(folder, { streamsMax: STREAMS_MAX, clocks: clocksOf(time) }),
  };
});
