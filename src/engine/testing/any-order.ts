/** For tests: random actions of nodes in random order, and what must be true afterwards. */
import { expect } from "bun:test";
import fc from "fast-check";
import { type MakeCluster, SEED, TestCluster } from "./cluster.ts";
import { plain } from "./rosters.ts";
import { APP, type TestNode } from "./test-node.ts";

/** Runs `runs` random lists of actions on clusters of that size. */
export async function playAnyOrder(makeCluster: MakeCluster, size: number, runs: number): Promise<void> {
  const node = fc.nat(size - 1);
  const channel = fc.constantFrom("c", "d");
  const peer = fc.constantFrom("eve", "joe");
  const action = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("publish" as const), node, channel }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("send" as const), node, peer }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("join" as const), node, channel, peer }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("leave" as const), node, channel, peer }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("watch" as const), node, channel }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("unwatch" as const), node, channel }) },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant("step" as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("close" as const), node }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 60, size: "max" }), fc.integer(), async (actions, seed) => {
      const nodes = await TestCluster.of(makeCluster, size, seed);
      try {
        await play(nodes, actions);
      } finally {
        await nodes.stop();
      }
    }),
    { numRuns: runs, seed: SEED, includeErrorInReport: true },
  );
}

type Action =
  | { readonly kind: "publish" | "watch" | "unwatch"; readonly node: number; readonly channel: string }
  | { readonly kind: "join" | "leave"; readonly node: number; readonly channel: string; readonly peer: string }
  | { readonly kind: "send"; readonly node: number; readonly peer: string }
  | { readonly kind: "close"; readonly node: number }
  | { readonly kind: "step" };

interface Expected {
  readonly message: string;
  readonly from: TestNode;
  /** false: the receiver has stopped watching. */
  readonly isOwed: () => boolean;
  readonly hasArrived: () => boolean;
}

/** Runs a list of actions, then checks that every expected message has arrived and that rosters are correct. */
async function play(nodes: TestCluster, actions: readonly Action[]): Promise<void> {
  const expected: Expected[] = [];
  const answers: Promise<void>[] = [];
  const watches = new Map<string, number>();
  let since = 0;
  const watchOf = (node: TestNode, channel: string): number => watches.get(`${node.id} ${channel}`) ?? 0;
  const nextWatch = (node: TestNode, channel: string): void => {
    watches.set(`${node.id} ${channel}`, watchOf(node, channel) + 1);
  };
  nodes.all.forEach((node, i) => {
    node.setConnections("eve", i);
  });
  await nodes.settle();
  for (const action of actions) {
    if (action.kind === "step") {
      await nodes.step();
      continue;
    }
    const node = nodes.all[action.node] as TestNode;
    if (!nodes.open.includes(node)) continue;
    switch (action.kind) {
      case "publish": {
        const receivers = nodes.others(node).filter((other) => other.isWatching(action.channel));
        const published = node.publish(action.channel);
        for (const other of receivers) {
          const began = watchOf(other, action.channel);
          expected.push({
            message: `${published} on ${action.channel} to ${other.id}`,
            from: node,
            isOwed: () => nodes.open.includes(other) && watchOf(other, action.channel) === began,
            hasArrived: () => other.receivedOn(action.channel).includes(published),
          });
        }
        break;
      }
      case "send": {
        const closedBefore = nodes.closedCount;
        const connections = nodes.others(node).reduce((sum, other) => sum + other.localConnections(APP), 0);
        const { count } = node.send(action.peer, "zoe");
        answers.push(
          Promise.resolve(count).then((count) => {
            if (nodes.closedCount !== closedBefore) return;
            if (action.peer !== "eve" || connections === 0) expect(count).toBe(0);
            else expect(count).toBeWithin(1, connections + 1);
          }),
        );
        break;
      }
      case "join":
        node.join(action.channel, action.peer, ++since, since % 2 === 0 ? `{"v":${since}}` : undefined);
        break;
      case "leave":
        node.leave(action.channel, action.peer);
        break;
      case "watch":
        if (node.isWatching(action.channel)) break;
        nextWatch(node, action.channel);
        await node.watch(action.channel);
        break;
      case "unwatch":
        if (!node.isWatching(action.channel)) break;
        nextWatch(node, action.channel);
        node.unwatch(action.channel);
        break;
      case "close":
        await nodes.close(node);
    }
  }
  await nodes.settle();
  nodes.check();
  // Messages of a node that is gone may be lost with it.
  const owed = expected.filter((one) => nodes.open.includes(one.from) && one.isOwed());
  expect(owed.filter((one) => !one.hasArrived()).map(({ message }) => message)).toEqual([]);
  const all = await nodes.answer(Promise.all(answers).then(() => "answered"));
  expect(all).toBe("answered");
  const gone = nodes.all.filter((node) => !nodes.open.includes(node)).map((node) => node.id);
  for (const node of nodes.open) {
    expect([...node.gone].sort()).toEqual(gone);
    for (const channel of ["c", "d"].filter((one) => node.isWatching(one))) {
      const actual = nodes.others(node).map((other) => [other.id, other.localMembers(APP, channel)] as const);
      expect(node.roster(channel)).toEqual(plain(actual));
    }
  }
}
