import { expect, test } from "bun:test";
import type { RecordedEvent, TailEvent } from "../api/types.ts";
import { detailOf, meaningOf, sentenceOf } from "./event-text.ts";

test.each<[Partial<RecordedEvent>, string]>([
  [{ kind: "connect", keyId: "pk_live_1" }, "Connected with key pk_live_1."],
  [{ kind: "subscribe", channel: "chat/1" }, "Subscribed to “chat/1”."],
  [{ kind: "refuse", code: "token_expired" }, "A connect was refused with token_expired: the token has expired."],
  [{ kind: "refuse", code: "unauthorized" }, "A connect was refused with unauthorized: the peer is blocked."],
  [
    { kind: "error", code: "missing_data", channel: "c", count: 5 },
    "5 requests for “c” were refused with missing_data: the frame has no data.",
  ],
  [{ kind: "error", code: "code_of_a_newer_node" }, "A request was refused with code_of_a_newer_node."],
  [{ kind: "publish", count: 1200 }, "Published or sent 1,200 messages."],
  [{ kind: "close", code: 4020 }, "The connection ended with 4020: disconnected by backend or operator."],
  [{ kind: "close", code: 4999 }, "The connection ended with 4999."],
])("the recorded event %j in a sentence", (event, expected) => {
  expect(sentenceOf({ at: 1, kind: "", ...event })).toBe(expected);
});

test.each<[Partial<TailEvent>, string]>([
  [{ kind: "send", to: "bob", bytes: 2048, data: { a: "<b>" } }, 'to bob · 2 KiB · {"a":"<b>"}'],
  [{ kind: "publish", bytes: 5 }, "5 B"],
  [{ kind: "dropped", count: 1 }, "1 event is missing here: more arrived than this page could show."],
  [{ kind: "refuse", code: "unauthorized", peerId: "bob" }, "unauthorized · The peer is blocked."],
  [{ kind: "refuse", code: "unauthorized" }, `unauthorized · ${meaningOf("unauthorized")}`],
  [{ kind: "refuse", code: "constructor", address: "::1" }, "constructor · from ::1"],
  [{ kind: "refuse", code: "x", origin: "https://a.example", address: "::1" }, "x · on https://a.example · from ::1"],
  [
    { kind: "refuse", code: "origin_not_allowed", origin: "https://a.example" },
    `origin_not_allowed · on https://a.example · ${meaningOf("origin_not_allowed")}`,
  ],
])("what a line says of the event %j", (event, expected) => {
  expect(detailOf({ at: 1, kind: "", ...event })).toBe(expected);
});
