/** For tests: anything nodes may do, in any order, and what must be so afterwards. */
import { expect } from "bun:test";
import fc from "fast-check";
import { type MakeCluster, Nodes, SEED } from "./cluster.ts";
import { APP, plain, type TestNode } from "./test-node.ts";

/** Does lists of things that chance makes, `runs` of them, on clusters of that size. */
export async function playAnyOrder(makeCluster: MakeCluster, size: number, runs: number): Promise<void> {
  const node = fc.nat(size - 1);
  const channel = fc.constantFrom("c", "d");
  const peer = fc.constantFrom("eve", "joe");
  const act = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("say" as const), node, channel }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("tell" as const), node, peer }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("join" as const), node, channel, peer }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("part" as const), node, channel, peer }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("watch" as const), node, channel }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("unwatch" as const), node, channel }) },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant("step" as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("close" as const), node }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 60, size: "max" }), fc.integer(), async (acts, seed) => {
      const nodes = await Nodes.of(makeCluster, size, seed);
      try {
        await play(nodes, acts);
      } finally {
        await nodes.stop();
      }
    }),
    { numRuns: runs, seed: SEED, includeErrorInReport: true },
  );
}

type Act =
  | { readonly kind: "say" | "watch" | "unwatch"; readonly node: number; readonly channel: string }
  | { readonly kind: "join" | "part"; readonly node: number; readonly channel: string; readonly peer: string }
  | { readonly kind: "tell"; readonly node: number; readonly peer: string }
  | { readonly kind: "close"; readonly node: number }
  | { readonly kind: "step" };

interface Due {
  readonly what: string;
  readonly from: TestNode;
  /** Nothing is owed any more to one who has stopped watching. */
  readonly isOwed: () => boolean;
  readonly hasCome: () => boolean;
}

/** Does what a list says, then checks that what had to arrive has arrived and that pictures are the truth. */
async function play(nodes: Nodes, acts: readonly Act[]): Promise<void> {
  const dues: Due[] = [];
  const answers: Promise<void>[] = [];
  const watches = new Map<string, number>();
  let since = 0;
  const watchOf = (node: TestNode, channel: string): number => watches.get(`${node.id} ${channel}`) ?? 0;
  const turnWatch = (node: TestNode, channel: string): void => {
    watches.set(`${node.id} ${channel}`, watchOf(node, channel) + 1);
  };
  nodes.all.forEach((node, i) => {
    node.hold("eve", i);
  });
  await nodes.settle();
  for (const act of acts) {
    if (act.kind === "step") {
      await nodes.step();
      continue;
    }
    const node = nodes.all[act.node] as TestNode;
    if (!nodes.open.includes(node)) continue;
    switch (act.kind) {
      case "say": {
        const listeners = nodes.others(node).filter((other) => other.isWatching(act.channel));
        const said = node.say(act.channel);
        for (const other of listeners) {
          const began = watchOf(other, act.channel);
          dues.push({
            what: `${said} on ${act.channel} to ${other.id}`,
            from: node,
            isOwed: () => nodes.open.includes(other) && watchOf(other, act.channel) === began,
            hasCome: () => other.heardOn(act.channel).includes(said),
          });
        }
        break;
      }
      case "tell": {
        const closings = nodes.closings;
        const expected = nodes.others(node).reduce((sum, other) => sum + other.localConnections(APP), 0);
        const { reached } = node.tell(act.peer, "zoe");
        answers.push(
          Promise.resolve(reached).then((count) => {
            if (nodes.closings !== closings) return;
            if (act.peer !== "eve" || expected === 0) expect(count).toBe(0);
            else expect(count).toBeWithin(1, expected + 1);
          }),
        );
        break;
      }
      case "join":
        node.join(act.channel, act.peer, ++since, since % 2 === 0 ? `{"v":${since}}` : undefined);
        break;
      case "part":
        node.part(act.channel, act.peer);
        break;
      case "watch":
        if (node.isWatching(act.channel)) break;
        turnWatch(node, act.channel);
        await node.watch(act.channel);
        break;
      case "unwatch":
        if (!node.isWatching(act.channel)) break;
        turnWatch(node, act.channel);
        node.unwatch(act.channel);
        break;
      case "close":
        await nodes.close(node);
    }
  }
  await nodes.settle();
  nodes.check();
  // Of a node that has gone, what was still under way may be lost with it.
  const owed = dues.filter((due) => nodes.open.includes(due.from) && due.isOwed());
  expect(owed.filter((due) => !due.hasCome()).map((due) => due.what)).toEqual([]);
  const all = await nodes.answer(Promise.all(answers).then(() => "answered"));
  expect(all).toBe("answered");
  const gone = nodes.all.filter((node) => !nodes.open.includes(node)).map((node) => node.id);
  for (const node of nodes.open) {
    expect([...node.gone].sort()).toEqual(gone);
    for (const channel of ["c", "d"].filter((one) => node.isWatching(one))) {
      const truth = nodes.others(node).map((other) => [other.id, other.localMembers(APP, channel)] as const);
      expect(node.picture(channel)).toEqual(plain(truth));
    }
  }
}
