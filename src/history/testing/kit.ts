/** For tests: batches of messages, and a clock that tests can set forward. */
import type { AppId, SpaceId } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import type { Batch, HistoryStore, NewMessage, Range, StoredMessage } from "../contract/history.ts";
import { randomBase36 } from "../contract/random.ts";
import { messageBytes } from "../contract/size.ts";
import type { HistoryClocks } from "../sqlite/clocks.ts";

const APP = anAppId("app");

/** How the clocks of the history differ from the machine's. */
export interface TestTime {
  /** How much time has passed that no test waited for. */
  passedMs: number;
  /** By how much the wall clock was set besides. */
  setMs: number;
}

/** An empty place for a history, which can be opened more than once. */
export interface HistoryPlace {
  open(time: TestTime): Promise<HistoryStore>;
}

export function clocksOf(time: TestTime): HistoryClocks {
  const wallMs = (): number => Date.now() + time.passedMs + time.setMs;
  return { wallMs, retentionMs: wallMs, monotonicMs: () => performance.now() + time.passedMs };
}

/** Streams per application, in the suite. */
export const STREAMS_MAX = 40;
export const KEEP = { messages: 1000, seconds: 3600 };
export const ALL: Range = { after: 0, limit: 100_000, maxBytes: Number.MAX_SAFE_INTEGER };

export function message(change: Partial<NewMessage> = {}): NewMessage {
  const texts = { from: "ann", metadataJson: undefined, dataJson: '"hi"', connection: undefined, id: undefined };
  const all = { spaceId: APP, channel: "channel", keep: KEEP, idScope: "ann", ...texts, ...change };
  return { ...all, bytes: messageBytes(all) };
}

export const batchOf = (...messages: readonly Partial<NewMessage>[]): Batch => ({
  check: randomBase36(),
  messages: messages.map(message),
});

/** Appends messages with these texts as data, in one batch. */
export const appendTexts = (store: HistoryStore, texts: readonly string[], change: Partial<NewMessage> = {}) =>
  store.append(batchOf(...texts.map((text) => ({ ...change, dataJson: JSON.stringify(text) }))));

export const texts = (messages: readonly StoredMessage[]): readonly string[] =>
  messages.map(({ dataJson }) => JSON.parse(dataJson) as string);

export async function readTexts(
  store: HistoryStore,
  range: Partial<Range> = {},
  channel = "channel",
  spaceId: SpaceId = APP,
) {
  const page = await store.read(spaceId, channel, { ...ALL, ...range });
  return page && texts(page.messages);
}

/** Trims until there is nothing more. */
export async function trimAll(store: HistoryStore, maxBytesOf: (app: AppId) => number = () => Infinity) {
  while (await store.trim(maxBytesOf));
}

export const numbers = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => String(from + index));
