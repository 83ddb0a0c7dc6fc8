/** The part of the suite about rooms: they share the bytes of their application, whose own channels their guests must not empty. */
import { expect, test } from "bun:test";
import { roomSpaceOf, type SpaceId } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import type { HistoryStore } from "../contract/history.ts";
import { messageBytes } from "../contract/size.ts";
import type { SuiteContext } from "./history.suite.ts";
import { appendTexts, message, numbers, readTexts, trimAll } from "./kit.ts";

const APP = anAppId("app");
const OTHER = anAppId("other");

const EACH = messageBytes(message({ dataJson: '"1"' }));
const ROOMS = roomSpaceOf(APP);

/** Leaves other applications as they are. */
const trimTo = (store: HistoryStore, messages: number): Promise<void> =>
  trimAll(store, (app) => (app === "app" ? messages * EACH : Number.POSITIVE_INFINITY));

/** Texts of one digit, so that all messages are equally large. */
const chats = async (store: HistoryStore, channels: number, messages: number): Promise<void> => {
  for (const channel of numbers(1, channels))
    await appendTexts(store, numbers(1, messages), { spaceId: ROOMS, channel: `chat ${channel}` });
};

const messagesOf = async (store: HistoryStore, spaceId: SpaceId): Promise<number> =>
  (await store.usage(spaceId)).messages;

export function roomTests({ newHistory }: SuiteContext): void {
  test("the rooms of an application are within its limit of bytes", async () => {
    const store = await newHistory();
    await appendTexts(store, numbers(1, 3), { channel: "small" });
    await appendTexts(store, numbers(1, 9), { spaceId: ROOMS, channel: "inbox" });
    await appendTexts(store, numbers(1, 9), { spaceId: roomSpaceOf(OTHER), channel: "inbox" });
    await trimTo(store, 10);
    expect(await readTexts(store, {}, "small")).toEqual(numbers(1, 3));
    expect(await readTexts(store, {}, "inbox", ROOMS)).toEqual(numbers(3, 9));
    expect(await messagesOf(store, roomSpaceOf(OTHER))).toBe(9);
    await trimTo(store, 0);
    expect([await messagesOf(store, APP), await messagesOf(store, ROOMS)]).toEqual([0, 0]);
  });

  test("what is written in rooms pushes out nothing of the application's own channels, although these are larger", async () => {
    const store = await newHistory();
    await appendTexts(store, numbers(1, 9), { channel: "orders" });
    await chats(store, 4, 5);
    await trimTo(store, 12);
    expect(await readTexts(store, {}, "orders")).toEqual(numbers(1, 9));
    expect(await messagesOf(store, ROOMS)).toBeLessThanOrEqual(3);
  });

  test("rooms keep a quarter of the bytes, and the application's own channels the others", async () => {
    const store = await newHistory();
    for (const channel of ["orders", "news"]) await appendTexts(store, numbers(1, 9), { channel });
    await chats(store, 1, 9);
    await trimTo(store, 16);
    expect([await messagesOf(store, APP), await messagesOf(store, ROOMS)]).toEqual([12, 4]);
    // The application's own messages push out nothing of the rooms either, as long as these have no more than their share.
    for (const channel of ["orders", "news"]) await appendTexts(store, numbers(1, 9), { channel });
    await trimTo(store, 16);
    expect([await messagesOf(store, APP), await messagesOf(store, ROOMS)]).toEqual([12, 4]);
    expect(await readTexts(store, {}, "chat 1", ROOMS)).toEqual(numbers(6, 9));
  });

  test("rooms may have what the application does not use", async () => {
    const store = await newHistory();
    await appendTexts(store, numbers(1, 2), { channel: "orders" });
    await chats(store, 2, 7);
    await trimTo(store, 16);
    expect([await messagesOf(store, APP), await messagesOf(store, ROOMS)]).toEqual([2, 14]);
  });
}
