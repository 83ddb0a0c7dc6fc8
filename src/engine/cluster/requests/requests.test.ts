import { expect, test } from "bun:test";
import { FailureBoundary } from "../nodes/failure-boundary.ts";
import { Nodes } from "../nodes/nodes.ts";
import { JSON_FORMAT } from "../wire/format.ts";
import { Subjects } from "../wire/subjects.ts";
import type { Wire } from "../wire/wire.ts";
import { PendingRequests } from "./pending-requests.ts";
import { Requests } from "./requests.ts";

const SUBJECTS = new Subjects("test", "own");
const REQUEST = { kind: "text", text: "{}" } as const;

/** Requests of a node that knows one of 0.1.0, whose heartbeats have no clock, and two later ones. */
function setup() {
  const published: string[] = [];
  const wire = { isUp: true, format: JSON_FORMAT, publish: (subject: string) => void published.push(subject) };
  const nodes = new Nodes({
    self: "own",
    heartbeatMs: 1000,
    nowMs: () => 0,
    appeared: () => undefined,
    gone: () => undefined,
  });
  const heartbeat = { connections: new Map(), part: 0, parts: 1 };
  nodes.seen("first", heartbeat);
  for (const name of ["b", "c"]) nodes.seen(name, { ...heartbeat, clockMs: 1 });
  const pending = new PendingRequests(() => 0);
  let number = 0;
  const requests = new Requests({
    self: "own",
    wire: wire as unknown as Wire,
    subjects: SUBJECTS,
    nodes,
    pending,
    nextNumber: () => ++number,
    boundary: new FailureBoundary(() => undefined),
  });
  const respond = (node: string): void =>
    pending.receive(number, { node, part: 0, parts: 1, response: { kind: "text", text: "1" } });
  return { published, requests, nodes, respond };
}

test("a request goes to all nodes at once", async () => {
  const { published, requests, respond } = setup();
  const collected = requests.collect(REQUEST);
  for (const name of ["first", "b", "c"]) respond(name);
  expect((await collected).isComplete).toBe(true);
  expect(published).toEqual([SUBJECTS.all]);
});

test("one that 0.1.0 does not know goes to the others, and its result is not complete", async () => {
  const { published, requests, respond } = setup();
  const collected = requests.collect(REQUEST, true);
  for (const name of ["b", "c"]) respond(name);
  const { responses, isComplete } = await collected;
  expect([responses.map(([{ name }]) => name), isComplete]).toEqual([["b", "c"], false]);
  expect(published).toEqual([SUBJECTS.node("b"), SUBJECTS.node("c")]);
});

test("without a node of 0.1.0 it goes to all at once as well", async () => {
  const { published, requests, nodes, respond } = setup();
  nodes.farewell("first");
  const collected = requests.collect(REQUEST, true);
  for (const name of ["b", "c"]) respond(name);
  expect((await collected).isComplete).toBe(true);
  expect(published).toEqual([SUBJECTS.all]);
});
