import { expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import { DEFERRED } from "../../engine.ts";
import { deliveryCount } from "../wire/decode.ts";
import { directMessage } from "../wire/encode.ts";
import { JSON_FORMAT } from "../wire/format.ts";
import type { DirectMessage } from "../wire/messages.ts";
import type { Received } from "../wire/wire.ts";
import { DirectMessages, LATE_MS } from "./direct-messages.ts";
import { ASIDE_MS } from "./newest-messages.ts";

const APP = anAppId("app");

/** The data of the message whose delivery throws: number 13 of node `a`. */
const FAILING = '"a13"';

type Turn = Pick<DirectMessage, "isNext" | "oldest">;

function subscribed() {
  const delivered: string[] = [];
  const receipts: string[] = [];
  const subscribed = new Set<string>();
  let receive: (received: Received) => void = () => undefined;
  const faults: unknown[] = [];
  let unexpected = 0;
  let now = 0;
  let isHeld = false;
  const directMessages = new DirectMessages({
    local: {
      id: "here",
      deliverTo: (_spaceId, _to, { dataJson }) => {
        if (dataJson === FAILING) throw new Error("planted");
        return isHeld ? DEFERRED : delivered.push(dataJson) && 1;
      },
    },
    wire: {
      format: JSON_FORMAT,
      receiver: (shared) => {
        receive = shared;
        return () => undefined;
      },
      hasSubscriber: () => false,
      flush: async () => undefined,
      subscribeWith: (subject) => {
        subscribed.add(subject);
        return { end: () => void subscribed.delete(subject) };
      },
    },
    subjects: { peer: (spaceId, peerId) => `${spaceId}/${peerId}` },
    nodes: {
      seen: (name) =>
        name === "ignored" ? undefined : { name, id: name, lastMs: 0, connections: new Map(), countedMs: 0 },
    },
    expectedPeers: { has: () => isHeld },
    boundary: { report: (error) => void faults.push(error) },
    nowMs: () => now,
    unexpected: () => unexpected++,
  });
  directMessages.subscribe(APP, "ann");
  const arrive = (node: string, number: number, to = "ann", turn: Turn = {}): void => {
    const envelope = { from: "ben", metadataJson: undefined, dataJson: `"${node}${number}"` };
    const text = directMessage({ node, number, app: APP, to, envelope, ...turn });
    if (subscribed.has("app/ann"))
      receive({ subject: "app/ann", text, respond: (receipt) => void receipts.push(receipt) });
  };
  return {
    directMessages,
    delivered,
    receipts,
    faults,
    arrive,
    unexpected: () => unexpected,
    pass: (ms: number) => (now += ms),
    hold: (held: boolean) => (isHeld = held),
  };
}

test("a message that arrives after a newer one of the same node is dropped, and its sender learns that", () => {
  const { delivered, receipts, arrive } = subscribed();
  for (const [node, number] of [
    ["a", 4],
    ["b", 2],
    ["a", 9],
    ["a", 7],
    ["a", 9],
    ["b", 3],
  ] as const)
    arrive(node, number);
  expect(delivered).toEqual(['"a4"', '"b2"', '"a9"', '"b3"']);
  const areLate = receipts.map((receipt) => deliveryCount(receipt)?.isLate === true);
  expect(areLate).toEqual([false, false, false, true, true, false]);
});

test("a repeat that arrives after the peer was away for a moment is not delivered again", () => {
  const { directMessages, delivered, arrive, pass } = subscribed();
  arrive("a", 1);
  directMessages.unsubscribe(APP, "ann");
  directMessages.subscribe(APP, "ann");
  arrive("a", 1);
  arrive("a", 2);
  expect(delivered).toEqual(['"a1"', '"a2"']);
  directMessages.unsubscribe(APP, "ann");
  pass(ASIDE_MS);
  directMessages.subscribe(APP, "ann");
  arrive("a", 1);
  expect(delivered).toEqual(['"a1"', '"a2"', '"a1"']);
});

test("a message for another peer is refused, and none is delivered after unsubscribing", () => {
  const { directMessages, delivered, arrive, unexpected } = subscribed();
  arrive("a", 1, "eve");
  expect([delivered, unexpected()]).toEqual([[], 1]);
  directMessages.unsubscribe(APP, "ann");
  arrive("a", 2);
  expect(delivered).toEqual([]);
});

test("what was sent behind a message that was answered as deferred waits until its node has decided that", () => {
  const { directMessages, delivered, receipts, arrive, hold } = subscribed();
  hold(true);
  for (const number of [1, 2]) arrive("a", number, "ann", { isNext: false, oldest: 1 });
  hold(false);
  directMessages.unsubscribe(APP, "ann");
  directMessages.subscribe(APP, "ann");
  arrive("a", 3, "ann", { isNext: false, oldest: 2 });
  expect(delivered).toEqual([]);
  expect(receipts.map((receipt) => deliveryCount(receipt)?.isDeferred)).toEqual([true, true, true]);
  // There is always one that is not decided, but both of those are.
  for (const number of [4, 5, 6]) arrive("a", number, "ann", { isNext: false, oldest: number - 1 });
  expect(delivered).toEqual(['"a4"', '"a5"', '"a6"']);
});

test("a number that no node can have reached does not make later messages count as late", () => {
  const { delivered, arrive } = subscribed();
  arrive("a", 4);
  arrive("a", Number.MAX_SAFE_INTEGER);
  arrive("a", 5);
  expect(delivered).toEqual(['"a4"', `"a${Number.MAX_SAFE_INTEGER}"`, '"a5"']);
});

test("a forged high number makes later messages count as late for a limited time", () => {
  const { delivered, arrive, pass } = subscribed();
  arrive("a", 1000);
  arrive("a", 5);
  pass(LATE_MS);
  arrive("a", 6);
  arrive("a", 5);
  expect(delivered).toEqual(['"a1000"', '"a6"']);
});

test("a message of a node that has sent its farewell, or is above the bound of nodes, is dropped without a receipt", () => {
  const { delivered, receipts, arrive } = subscribed();
  arrive("ignored", 1);
  expect([delivered, receipts]).toEqual([[], []]);
});

test("a forwarded message is delivered once, and only by a node whose answer is awaited", () => {
  const { directMessages, delivered } = subscribed();
  const envelope = { from: "ben", metadataJson: undefined, dataJson: '"forwarded"' };
  const text = directMessage({ node: "a", number: 1, app: APP, to: "ann", envelope });
  expect(directMessages.deliverForwarded({ text, nodes: ["other"] })).toEqual({ kind: "deliver", count: 0 });
  expect(delivered).toEqual([]);
  for (const [nodes, count, isLate] of [
    [["other", "here"], 1, false],
    [["here"], 0, true],
    [undefined, 0, true],
  ] as const)
    expect(directMessages.deliverForwarded({ text, nodes })).toMatchObject({ count, isLate });
  expect(delivered).toEqual(['"forwarded"']);
});

test("a message whose delivery throws is reported without a receipt, and the next one is delivered", () => {
  const { delivered, receipts, faults, arrive } = subscribed();
  arrive("a", 13);
  expect([faults.length, receipts]).toEqual([1, []]);
  arrive("a", 14);
  expect([delivered, receipts.length]).toEqual([['"a14"'], 1]);
});
