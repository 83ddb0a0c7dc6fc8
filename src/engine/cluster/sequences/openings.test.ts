/** Subscriptions that begin where nodes report what they have: which nodes are waited for, and what silence means. */
import { expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import type { NodeResponse, SequenceState } from "../wire/messages.ts";
import { type Opening, Openings } from "./openings.ts";

const APP = anAppId("app");

const state = (channel: string, n: number): NodeResponse => ({
  kind: "sequences",
  sequences: [{ app: APP, channel, epoch: 1, n, members: [] }],
});

const statesOf = (response: NodeResponse | undefined): readonly SequenceState[] =>
  response?.kind === "sequences" ? response.sequences : [];

/** Nodes `a` and `b`. A transport subscription is known by its turn; nodes have read turns up to `read`. */
function world({ reports = true, names = ["a", "b"] } = {}) {
  const read = new Map<string, number>();
  const asked: { readonly node: string; readonly answer: (response: NodeResponse | undefined) => void }[] = [];
  const stale: string[] = [];
  let now = 0;
  const openings = new Openings({
    wire: { isUp: true, reports },
    subjects: { node: (name) => name },
    nodes: { all: names.map((name) => ({ name, id: name, lastMs: 0, connections: new Map(), countedMs: 0 })) },
    requests: {
      toAll: () => asked.push({ node: "all", answer: () => undefined }),
      toOne: (node, _request, answer) => asked.push({ node, answer }),
    },
    boundary: {
      run: (_context, work, repair) => {
        try {
          work();
        } catch {
          repair?.();
        }
      },
      markStale: () => stale.push("all"),
    },
    nowMs: () => now,
  });
  const found: string[] = [];
  const open = (channel: string, turn = 1) =>
    openings.begin(
      APP,
      channel,
      { end: () => undefined, hasReportFrom: (node) => (read.get(node) ?? 0) >= turn },
      (responses) => {
        if (channel === "broken") throw new Error("planted");
        const places = [...responses].map(([node, one]) => `${node}${statesOf(one).map(({ n }) => n)}`);
        found.push(`${channel}: ${places.join(" ")}`);
      },
    );
  const reads = (node: string, turn = 1): void => {
    read.set(node, turn);
    openings.read();
  };
  const pass = (ms: number): void => {
    now += ms;
    openings.sweep();
  };
  return { openings, open, reads, pass, found, asked, stale };
}

function waiting(opening: Opening | undefined): Opening {
  if (!opening) throw new Error("it does not wait");
  return opening;
}

test("a channel is open when every node has read of it; one that has reported nothing has nothing", () => {
  const { openings, open, reads, found, asked } = world();
  const opening = waiting(open("c"));
  openings.reported(opening, { node: "a", response: state("c", 7) });
  reads("a");
  expect(found).toEqual([]);
  reads("b");
  expect({ found, asked }).toEqual({ found: ["c: a7 b0"], asked: [] });
});

test("channels of one turn open together, also when nodes had read of the first only", () => {
  const { open, reads, found } = world();
  open("c", 1);
  open("d", 2);
  reads("a", 1);
  reads("b", 1);
  expect(found).toEqual([]);
  reads("a", 2);
  reads("b", 2);
  expect(found).toEqual(["c: a0 b0", "d: a0 b0"]);
});

test("a node whose state is long is asked, and its answer is waited for", () => {
  const { openings, open, reads, found, asked } = world();
  const opening = waiting(open("c"));
  openings.reported(opening, { node: "a", response: undefined });
  reads("a");
  reads("b");
  expect([found, asked.map(({ node }) => node)]).toEqual([[], ["a"]]);
  asked[0]?.answer(state("c", 9));
  expect(found).toEqual(["c: a9 b0"]);
});

test("an answer that does not come leaves its node out", () => {
  const { openings, open, reads, found, asked } = world();
  const opening = waiting(open("c"));
  openings.reported(opening, { node: "a", response: undefined });
  reads("a");
  reads("b");
  asked[0]?.answer(undefined);
  expect(found).toEqual(["c: b0"]);
});

test("a node that does not read is waited for one second, and one that is gone not at all", () => {
  const { openings, open, reads, pass, found } = world();
  const opening = waiting(open("c"));
  reads("a");
  pass(999);
  expect(found).toEqual([]);
  pass(1);
  expect(found).toEqual(["c: a0"]);
  openings.reported(opening, { node: "b", response: state("c", 3) });
  expect(found).toEqual(["c: a0"]);
  const other = world();
  other.open("c");
  other.reads("a");
  other.openings.nodeGone("b");
  expect(other.found).toEqual(["c: a0"]);
});

test("what one node reports twice counts once, and what an unknown one reports not at all", () => {
  const { openings, open, reads, found } = world();
  const opening = waiting(open("c"));
  openings.reported(opening, { node: "a", response: state("c", 1) });
  openings.reported(opening, { node: "a", response: state("c", 2) });
  openings.reported(opening, { node: "z", response: state("c", 3) });
  reads("a");
  reads("b");
  expect(found).toEqual(["c: a1 b0"]);
});

test("an error in one channel opens the others, and everything is asked again", () => {
  const { open, reads, found, stale } = world();
  open("broken");
  open("c");
  reads("a");
  reads("b");
  expect({ found, stale }).toEqual({ found: ["c: a0 b0"], stale: ["all"] });
});

test("without other nodes a channel is open at once; where nodes do not report, all are asked", () => {
  const alone = world({ names: [] });
  expect(alone.open("c")).toBeUndefined();
  expect(alone.found).toEqual(["c: "]);
  const asking = world({ reports: false });
  expect(asking.open("c")).toBeUndefined();
  expect(asking.asked.map(({ node }) => node)).toEqual(["all"]);
});

test("when the engine closes, nothing is left waiting", () => {
  const { openings, open, found } = world();
  open("c");
  openings.finishAll();
  expect(found).toEqual(["c: "]);
});
