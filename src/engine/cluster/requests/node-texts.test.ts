import { afterEach, expect, test } from "bun:test";
import { TestCluster } from "../../testing/cluster.ts";
import { memoryCluster } from "../../testing/memory-cluster.ts";
import type { TestNode } from "../../testing/test-node.ts";
import * as decode from "../wire/decode.ts";
import * as encode from "../wire/encode.ts";
import {
  NOTIFICATION_MAX_BYTES,
  PIECE_CHARS,
  REQUEST_TEXT_MAX_CHARS,
  RESPONSE_TEXT_MAX_CHARS,
} from "../wire/payload.ts";
import { ANSWERING_MAX, NodeTexts, WAITING_MAX_CHARS } from "./node-texts.ts";

let open: TestCluster | undefined;
afterEach(async () => {
  open?.check();
  await open?.stop();
  open = undefined;
});

async function pair() {
  const warnings: string[] = [];
  const faults: unknown[] = [];
  const options = {
    warn: (text: string) => void warnings.push(text),
    fault: (error: unknown) => void faults.push(error),
  };
  const nodes = await TestCluster.of((size) => memoryCluster(size, options), 2);
  open = nodes;
  const [nodeA, nodeB] = nodes.all as [TestNode, TestNode];
  return { nodes, nodeA, nodeB, warnings, faults };
}

/** What the request of a node finds, while everything in transit arrives. */
async function requested(nodes: TestCluster, node: TestNode, text: string) {
  let isFound = false;
  const asked = node.engine.request(text).finally(() => {
    isFound = true;
  });
  await nodes.until(() => isFound);
  return asked;
}

test("the longest response arrives; a longer one is not sent, with a warning", async () => {
  const { nodes, nodeA, nodeB, warnings } = await pair();
  const longest = "x".repeat(RESPONSE_TEXT_MAX_CHARS);
  nodeB.respond = () => longest;
  expect((await requested(nodes, nodeA, "q")).responses.get(nodeB.id) === longest).toBeTrue();
  nodeB.respond = () => `${longest}x`;
  expect(await requested(nodes, nodeA, "q")).toEqual({ responses: new Map(), isComplete: false });
  expect(warnings).toEqual([
    `a response of ${longest.length + 1} characters is too long for another node and was not sent`,
  ]);
});

test("the longest notification arrives; a longer one is dropped, with a warning", async () => {
  const { nodes, nodeA, nodeB, warnings } = await pair();
  nodeA.engine.notify(nodeB.id, "x".repeat(NOTIFICATION_MAX_BYTES));
  nodeA.engine.notify(nodeB.id, "€".repeat(NOTIFICATION_MAX_BYTES / 2));
  await nodes.settle();
  expect(nodeB.notifications.map(([, text]) => text.length)).toEqual([NOTIFICATION_MAX_BYTES]);
  expect(warnings).toHaveLength(1);
});

test("the longest request arrives; a longer one is not sent, with a warning", async () => {
  const { nodes, nodeA, nodeB, warnings } = await pair();
  nodeB.respond = (text) => `${text.length}`;
  const longest = '"'.repeat(REQUEST_TEXT_MAX_CHARS);
  expect([...(await requested(nodes, nodeA, longest)).responses.values()]).toEqual([`${longest.length}`]);
  expect(await requested(nodes, nodeA, `${longest}"`)).toEqual({ responses: new Map(), isComplete: false });
  expect(warnings).toHaveLength(1);
});

test("a node that never responds delays a request by about a second", async () => {
  const { nodes, nodeA, nodeB } = await pair();
  nodeB.respond = () => new Promise(() => undefined);
  const startedMs = performance.now();
  expect(await requested(nodes, nodeA, "q")).toEqual({ responses: new Map(), isComplete: false });
  expect(performance.now() - startedMs).toBeWithin(900, 10_000);
});

test("a rejected response is reported, and the next request is answered", async () => {
  const { nodes, nodeA, nodeB, faults } = await pair();
  const { respond } = nodeB;
  nodeB.respond = () => Promise.reject(new Error("planted"));
  expect((await requested(nodes, nodeA, "q")).isComplete).toBeFalse();
  expect(faults).toEqual([new Error("planted")]);
  nodeB.respond = respond;
  expect((await requested(nodes, nodeA, "q")).isComplete).toBeTrue();
});

/** How many of these requests are answered, if all of them are there before the first answer. Without a cluster, where each ends after a second. */
async function answered(texts: readonly string[]): Promise<number> {
  const work = Promise.withResolvers<string>();
  const unused = undefined as never;
  const parts = { wire: unused, subjects: unused, nodes: unused, requests: unused, boundary: unused, warn: unused };
  const local = { id: "b", respond: () => work.promise };
  const nodeTexts = new NodeTexts({ ...parts, local, later: (run) => queueMicrotask(run) });
  let sent = 0;
  for (const text of texts) nodeTexts.answer(text, () => sent++);
  work.resolve("done");
  // All that follows from the answer has happened by the next turn.
  await new Promise((resolve) => setImmediate(resolve));
  return sent;
}

test("requests above the number that is answered at a time wait: one application's do not end another's", async () => {
  expect(await answered(new Array(10 * ANSWERING_MAX).fill("q"))).toBe(10 * ANSWERING_MAX);
});

test("those that wait have a bound; further ones get no response", async () => {
  const long = "q".repeat(REQUEST_TEXT_MAX_CHARS);
  const waiting = Math.floor(WAITING_MAX_CHARS / (REQUEST_TEXT_MAX_CHARS + 256));
  expect(await answered([...new Array(ANSWERING_MAX).fill("q"), ...new Array(waiting + 5).fill(long)])).toBe(
    ANSWERING_MAX + waiting,
  );
});

test("a notification that cannot be handled is reported, and later ones arrive", async () => {
  const { nodes, nodeA, nodeB, faults } = await pair();
  const { notified } = nodeB;
  nodeB.notified = () => {
    nodeB.notified = notified;
    throw new Error("planted");
  };
  for (const text of ["one", "two"]) nodeA.engine.notify(nodeB.id, text);
  await nodes.settle();
  expect(faults).toEqual([new Error("planted")]);
  expect(nodeB.notifications).toEqual([[nodeA.id, "two"]]);
});

test("during an outage a request ends at once and is incomplete", async () => {
  const cluster = await memoryCluster(2);
  const nodes = await TestCluster.of(async () => cluster, 2);
  open = nodes;
  cluster.transports[0]?.setUp(false);
  const [nodeA, nodeB] = nodes.all as [TestNode, TestNode];
  expect(await nodeA.engine.request("q")).toEqual({ responses: new Map(), isComplete: false });
  nodeA.engine.notify(nodeB.id, "lost");
});

test("pieces that no node sends are refused", () => {
  const part = (text: string, parts: number): string =>
    encode.responsePart({ node: "n1", part: 0, parts, response: { kind: "text", text } });
  const most = RESPONSE_TEXT_MAX_CHARS / PIECE_CHARS;
  expect(decode.responsePart(part("x".repeat(PIECE_CHARS), most))?.response.kind).toBe("text");
  expect(decode.responsePart(part("x".repeat(PIECE_CHARS + 1), most))).toBeUndefined();
  expect(decode.responsePart(part("x", most + 1))).toBeUndefined();
  const request = (text: string): string => encode.request("n1", { kind: "text", text });
  expect(decode.nodeMessage(request("x".repeat(REQUEST_TEXT_MAX_CHARS)))).toBeDefined();
  expect(decode.nodeMessage(request("x".repeat(REQUEST_TEXT_MAX_CHARS + 1)))).toBeUndefined();
});
