import { expect, test } from "bun:test";
import { asAppId } from "../../base/ids.ts";
import type { WebhookFact } from "../../store/contract/webhooks.ts";
import { dataOf } from "./data.ts";

const APP = { id: asAppId("a1"), name: "shop" };
const RECORDS = { room: () => ({ _id: "r1", roomName: "standup" }), recording: () => ({ _id: "rec1" }) };
const data = (fact: WebhookFact): Record<string, unknown> => JSON.parse(dataOf(fact, APP, RECORDS));

const published = (count: number, dataJson: string, gap = false): WebhookFact => ({
  type: "message.published",
  channel: "news",
  epoch: "e1",
  gap,
  messages: Array.from({ length: count }, (_, at) => ({
    offset: at + 5,
    time: 0,
    from: "bob",
    metadataJson: null,
    dataJson,
  })),
});

test("every event names its application", () => {
  expect(data({ type: "channel.occupied", channel: "lobby" })).toEqual({
    app: "a1",
    appName: "shop",
    channel: "lobby",
  });
});

test("values of clients are passed on as they are written", () => {
  const opened = {
    peerId: "p",
    connectionId: "c",
    keyId: "k",
    metadataJson: '{"n":12345678901234567890.10}',
    opened: 1000,
  };
  expect(dataOf({ type: "connection.opened", ...opened }, APP, RECORDS)).toContain(
    '"peerMetadata":{"n":12345678901234567890.10}',
  );
  expect(data({ type: "connection.closed", ...opened, closed: 61_000, code: 1000, reason: "bye" })).toMatchObject({
    peerId: "p",
    connectionId: "c",
    keyId: "k",
    code: 1000,
    reason: "bye",
    durationSec: 60,
  });
  expect(dataOf(published(1, "[1e400]"), APP, RECORDS)).toContain('"data":[1e400]');
});

test("what is too large is cut to ids", () => {
  expect(data(published(2, '"x"', true))).toMatchObject({
    channel: "news",
    gap: true,
    firstOffset: 5,
    lastOffset: 6,
    count: 2,
  });
  const cut = data(published(100, JSON.stringify("x".repeat(300))));
  expect(cut).toEqual({
    app: "a1",
    appName: "shop",
    channel: "news",
    epoch: "e1",
    firstOffset: 5,
    lastOffset: 104,
    count: 100,
    truncated: true,
  });
  const metadataJson = JSON.stringify("é".repeat(10_000));
  expect(data({ type: "peer.joined", channel: "c", peerId: "p", metadataJson })).toEqual({
    app: "a1",
    appName: "shop",
    channel: "c",
    peerId: "p",
    truncated: true,
  });
});
