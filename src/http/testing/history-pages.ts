/** For tests: pages of a history or a stream, read as a node reads them. */
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { CreatedStreamStore } from "../../history/contract/created-streams.ts";
import type { HistoryStore } from "../../history/contract/history.ts";
import { openMemoryHistory } from "../../history/testing/memory.ts";
import { HistoryPages } from "../../realtime/streams/pages.ts";
import { ReadQueue } from "../../realtime/streams/read-queue.ts";
import { StoreCalls } from "../../realtime/streams/store-calls.ts";

export function pagesOf(
  read: HistoryStore["read"],
  clock = new FakeClock(),
  readCreated?: CreatedStreamStore["read"],
): Pick<HistoryPages, "read" | "readCreated"> {
  const open = (): never => {
    throw new Error("a page of an operator opens no stream");
  };
  const streams = {
    ruleOf: () => undefined,
    reads: new ReadQueue({ clock, defer: setImmediate }),
    calls: new StoreCalls(clock),
  };
  const { created } = openMemoryHistory();
  if (readCreated) Object.assign(created, { read: readCreated });
  return new HistoryPages({ history: { read, open, created }, streams, maxBytes: 0 });
}
