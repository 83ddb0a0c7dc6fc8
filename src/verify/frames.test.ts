import { expect, test } from "bun:test";
import { publishFrame, readFrame, subscribeFrame } from "./frames.ts";

const read = (frame: unknown) => readFrame(JSON.stringify(frame));

test("the mark of a message is the one that was published", () => {
  const published = JSON.parse(publishFrame("c", { connection: 3, number: 7 }, "1"));
  expect(read({ type: "message", channel: "c", from: "ann", data: published.data })).toEqual({
    type: "message",
    channel: "c",
    from: "ann",
    mark: { connection: 3, number: 7 },
    stored: undefined,
  });
});

test("a message of a channel with history has a position, and acks say where a subscription begins", () => {
  const message = { type: "message", channel: "c", from: "ann", data: [3, 7], pos: "e.1.k", time: 5 };
  expect(read(message)).toMatchObject({ stored: { pos: "e.1.k", timeMs: 5, isReplay: false } });
  expect(read({ ...message, time: "5", replay: true })).toMatchObject({ stored: { timeMs: 0, isReplay: true } });
  const ack = { type: "ack", requestId: "1", pos: "e.1.k", recovered: true, replay: 3, duplicate: true };
  expect(read(ack)).toMatchObject({ pos: "e.1.k", recovered: true, replay: 3, isDuplicate: true });
  expect(JSON.parse(publishFrame("c", { connection: 3, number: 7 }, "1", { id: "x" }))).toMatchObject({ id: "x" });
  expect(JSON.parse(subscribeFrame("c", "1", { recover: "e.1.k", connection: "k" }))).toEqual({
    type: "subscribe",
    channel: "c",
    recover: "e.1.k",
    connection: "k",
    requestId: "1",
  });
});

test.each([[null], [{}], [[]], [[1]], [[1, 2, 3, 4]], [["1", 2]], [[1.5, 2]], [[1, null]]])(
  "a message with %j counts as never sent",
  (data) => {
    expect(read({ type: "direct", from: "ann", data })).toMatchObject({ mark: { connection: 0, number: 0 } });
  },
);

test("presence frames are read as peer ids, and only snapshot: true is a roster", () => {
  const frame = {
    type: "presence",
    channel: "c",
    joined: [{ peerId: "ann", metadata: {} }],
    left: [{ peerId: "bob" }],
  };
  expect(read(frame)).toEqual({ type: "presence", channel: "c", joined: ["ann"], left: ["bob"], snapshot: false });
  expect(read({ ...frame, snapshot: true })).toMatchObject({ snapshot: true });
  expect(read({ type: "presence", channel: "c", joined: [1], left: "x" })).toMatchObject({ joined: [""], left: [] });
});

test("invalid frames and frames of later versions are ignored", () => {
  for (const text of ["", "{", "[]", "null", '"ack"', '{"type":"pong"}', '{"type":"later"}'])
    expect(readFrame(text)).toEqual({ type: "other" });
});
