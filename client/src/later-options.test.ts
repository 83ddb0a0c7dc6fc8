import { afterEach, beforeEach, expect, test } from "bun:test";
import { settled } from "./testing/clock.ts";
import { Kit } from "./testing/kit.ts";

let kit: Kit;
beforeEach(() => {
  kit = new Kit();
});
afterEach(() => kit.restore());

test("options of a later call are added to those of the first, and count with the next subscribe", async () => {
  const parley = await kit.connected();
  const chat = parley.channel("chat", { senderMetadata: true });
  expect(parley.channel("chat", { rewind: 5 })).toBe(chat as never);
  parley.channel("chat");
  chat.on("message", () => undefined);
  await settled();
  expect(kit.service.socket.last("subscribe")).toMatchObject({ includeSenderMetadata: true, rewind: 5 });
});
