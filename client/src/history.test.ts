import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Channel } from "./channel.ts";
import { type HistoryOptions, type HistoryPage, history } from "./history.ts";
import { settled } from "./testing/clock.ts";
import { Kit } from "./testing/kit.ts";

let kit: Kit;
let chat: Channel;
beforeEach(async () => {
  kit = new Kit();
  chat = (await kit.connected()).channel("chat");
});
afterEach(() => kit.restore());

/** What the client asks for, and the page of the answer. */
async function answered(
  asked: Promise<HistoryPage<unknown>>,
  positions: readonly string[],
): Promise<[HistoryOptions, HistoryPage<unknown>]> {
  await settled();
  const { type, requestId, channel, ...options } = kit.service.socket.last("history");
  const messages = positions.map((pos) => ({ from: "bob", data: pos, pos, time: 1 }));
  await kit.service.socket.receive({ type: "history", requestId, channel: "chat", pos: "end", messages, more: false });
  return [options as HistoryOptions, await asked];
}

test("the next page goes on behind the last message, in the same direction", async () => {
  const [, newest] = await answered(history(chat, { limit: 2 }), ["p9", "p8"]);
  const [older] = await answered(newest.next(), ["p7"]);
  expect(older).toEqual({ limit: 2, before: "p8" });

  const [, first] = await answered(history(chat, { after: "p1" }), ["p2", "p3"]);
  const [newer] = await answered(first.next(), []);
  expect(newer).toEqual({ after: "p3" });
});

test("an empty page can be polled: its next page is asked for at the same position", async () => {
  const [, empty] = await answered(history(chat, { after: "p9", limit: 5 }), []);
  expect(empty).toMatchObject({ messages: [], pos: "end", more: false });
  const [second, stillEmpty] = await answered(empty.next(), []);
  expect(second).toEqual({ after: "p9", limit: 5 });
  const [third, page] = await answered(stillEmpty.next(), ["p10"]);
  expect(third).toEqual({ after: "p9", limit: 5 });
  expect(kit.service.socket.of("history")).toHaveLength(3);
  expect(page.messages.map(({ pos }) => pos)).toEqual(["p10"]);
});
