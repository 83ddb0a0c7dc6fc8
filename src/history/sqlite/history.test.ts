import { expect, test } from "bun:test";
import { roomSpaceOf } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { newFolders } from "../../store/testing/places.ts";
import { historySuite } from "../testing/history.suite.ts";
import { batchOf, clocksOf, numbers, STREAMS_MAX } from "../testing/kit.ts";
import { openMemoryHistory } from "../testing/memory.ts";
import { historyFile } from "./file.ts";
import { SqliteHistory } from "./history.ts";

const APP = anAppId("app");

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

test("an application with many channels is trimmed while people keep writing in its rooms", async () => {
  const store = openMemoryHistory();
  const rooms = { spaceId: roomSpaceOf(APP), channel: "chat", dataJson: JSON.stringify("x".repeat(50_000)) };
  // Finding the largest of 5,000 takes several slices.
  await store.append(batchOf(...numbers(1, 5000).map((channel) => ({ channel }))));
  const own = await store.usage(APP);
  const maxBytes = own.bytes;
  // Beyond the rooms' share before each slice.
  for (let slice = 0; slice < 300 && (await store.usage(APP)).messages === own.messages; slice++) {
    await store.append(batchOf(...Array.from({ length: 20 }, () => rooms)));
    await store.trim(() => maxBytes);
  }
  expect((await store.usage(APP)).messages).toBeLessThan(own.messages);
  await store.close();
});
