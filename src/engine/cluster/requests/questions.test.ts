/** Questions for the state of channels: those of one turn travel as one request. */
import { expect, test } from "bun:test";
import { nextTurn } from "../../../../test/support/wait.ts";
import { anAppId } from "../../../base/testing/ids.ts";
import { FailureBoundary } from "../nodes/failure-boundary.ts";
import type { NodeResponse, SequenceState } from "../wire/messages.ts";
import { ITEM_MAX_BYTES } from "../wire/payload.ts";
import { Questions } from "./questions.ts";

const APP = anAppId("app");

interface Sent {
  readonly channels: readonly string[];
  readonly answer: (responses: ReadonlyMap<string, NodeResponse>) => void;
}

function setup() {
  const sent: Sent[] = [];
  const faults: unknown[] = [];
  const boundary = new FailureBoundary((error) => void faults.push(error));
  const questions = new Questions({
    send: ({ channels }, answer) => void sent.push({ channels: channels.map(([, name]) => name), answer }),
    boundary,
  });
  return { questions, sent, faults, boundary };
}

const state = (channel: string, n: number): SequenceState => ({ app: APP, channel, epoch: 1, n, members: [] });
const response = (...sequences: SequenceState[]): NodeResponse => ({ kind: "sequences", sequences });

test("those of one turn are one request; a later one is another", async () => {
  const { questions, sent } = setup();
  for (const name of ["a", "b"]) questions.ask([APP, name], () => undefined);
  expect(sent).toEqual([]);
  await nextTurn();
  questions.ask([APP, "c"], () => undefined);
  await nextTurn();
  expect(sent.map(({ channels }) => channels)).toEqual([["a", "b"], ["c"]]);
});

test("each gets the state of its own channel from each node that has answered", async () => {
  const { questions, sent } = setup();
  const found: [string, [string, NodeResponse][]][] = [];
  for (const name of ["a", "b", "a"]) questions.ask([APP, name], (all) => found.push([name, [...all]]));
  await nextTurn();
  // A state with many members comes in several pieces.
  const [a, b] = [state("a", 1), state("b", 2)];
  sent[0]?.answer(
    new Map([
      ["n1", response(a, b, a)],
      ["n2", response(b)],
    ]),
  );
  const ofA: [string, NodeResponse][] = [
    ["n1", response(a, a)],
    ["n2", response()],
  ];
  const ofB: [string, NodeResponse][] = [
    ["n1", response(b)],
    ["n2", response(b)],
  ];
  expect(found).toEqual([
    ["a", ofA],
    ["b", ofB],
    ["a", ofA],
  ]);
});

test("an error in one keeps no other from its answer, and is reported", async () => {
  const { questions, sent, faults, boundary } = setup();
  const done: string[] = [];
  questions.ask([APP, "a"], () => {
    throw new Error("planted");
  });
  questions.ask([APP, "b"], () => void done.push("b"));
  await nextTurn();
  sent[0]?.answer(new Map());
  expect([done, faults.length, boundary.takeStale([{ id: "n1" }]).length]).toEqual([["b"], 1, 1]);
});

test("very many are several requests, each below the size that lists are split at", async () => {
  const { questions, sent } = setup();
  const names = Array.from({ length: 3000 }, (_, at) => `channel ${at}`);
  for (const name of names) questions.ask([APP, name], () => undefined);
  await nextTurn();
  expect(sent.length).toBeGreaterThan(1);
  expect(sent.flatMap(({ channels }) => channels)).toEqual(names);
  for (const { channels } of sent)
    expect(JSON.stringify(channels.map((name) => [APP, name])).length).toBeLessThanOrEqual(ITEM_MAX_BYTES + 1);
});
