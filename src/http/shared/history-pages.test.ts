/** Pages of a real embedded history: every message once, whichever way it is read. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { Page } from "../../history/contract/history.ts";
import type { SqliteHistory } from "../../history/sqlite/history.ts";
import { openMemoryHistory } from "../../history/testing/memory.ts";
import { pagesOf } from "../testing/history-pages.ts";
import { endOf, placeOf, readHistory } from "./history-pages.ts";

const APP = anAppId("app");

const KEEP = { messages: 1000, seconds: 3600 };
const COUNT = 25;

let history: SqliteHistory;
let pages: ReturnType<typeof pagesOf>;
beforeEach(async () => {
  history = openMemoryHistory();
  pages = pagesOf((...args) => history.read(...args));
  await publish(1, COUNT);
});
afterEach(() => history.close());

async function publish(from: number, to: number): Promise<void> {
  const messages = Array.from({ length: to - from + 1 }, (_, at) => ({
    spaceId: APP,
    channel: "chat",
    keep: KEEP,
    from: "ann",
    metadataJson: undefined,
    dataJson: String(from + at),
    connection: undefined,
    id: undefined,
    idScope: "key",
    bytes: 300,
  }));
  await history.append({ check: `batch${from}`, messages });
}

const read = (query: { limit?: number; before?: string; after?: string } = {}): Promise<Page | undefined> =>
  readHistory(pages, APP, "chat", { limit: 10, before: undefined, after: undefined, ...query });

async function all(direction: "before" | "after", start?: string): Promise<string[]> {
  const data: string[] = [];
  for (let from = start; ; ) {
    const page = await read(from === undefined ? {} : { [direction]: from });
    const last = page?.messages.at(-1);
    if (!page || !last) return data;
    data.push(...page.messages.map(({ dataJson }) => dataJson));
    if (!page.more) return data;
    from = placeOf(page, last);
  }
}

const numbers = Array.from({ length: COUNT }, (_, at) => String(at + 1));

test("backwards from the newest, every message once", async () => {
  expect(await all("before")).toEqual(numbers.toReversed());
});

test("forwards from a position, every message behind it once", async () => {
  const [newest] = (await read({ limit: 1 }))?.messages ?? [];
  const page = await read({ limit: COUNT });
  const oldest = page?.messages.at(-1);
  expect([newest?.dataJson, oldest?.dataJson]).toEqual(["25", "1"]);
  expect(await all("after", page && oldest && placeOf(page, oldest))).toEqual(numbers.slice(1));
});

test("the end of the history is a position from which only later messages are read", async () => {
  const page = await read();
  const end = page && endOf(page);
  expect((await read({ after: end ?? "" }))?.messages).toEqual([]);
  await publish(26, 26);
  expect(await all("after", end)).toEqual(["26"]);
});

test("a position from before the history was deleted is refused, and never means another message", async () => {
  const page = await read();
  const end = page ? endOf(page) : "";
  await history.remove(APP, "chat");
  await publish(1, COUNT);
  for (const query of [{ before: end }, { after: end }])
    await expect(read(query)).rejects.toThrow("is not a position in this channel's current history");
});
