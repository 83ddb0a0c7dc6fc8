/** Part of the engine's suite: requests and notifications whose text only the nodes' parts understand. */
import { expect, test } from "bun:test";
import type { NodeResponses } from "../engine.ts";
import type { Start, TestCluster } from "./cluster.ts";
import type { TestNode } from "./test-node.ts";

/** Above the payload limit of every transport, with quotes and characters of three bytes. */
const LARGE_CHARS = 3_000_000;
const large = (): string => `${'"€🙂'.repeat(LARGE_CHARS / 4)}end`;

async function responsesTo(nodes: TestCluster, node: TestNode, text: string): Promise<NodeResponses> {
  let found: NodeResponses | undefined;
  void node.engine.request(text).then((responses) => {
    found = responses;
  });
  await nodes.until(() => found !== undefined);
  if (!found) throw new Error("the request was not answered");
  return found;
}

export function texts(start: Start): void {
  test("every other node responds to a request, and the requesting node does not", async () => {
    const { nodes, nodeA } = await start();
    const { responses, isComplete } = await responsesTo(nodes, nodeA, "hello");
    const expected = nodes.others(nodeA).map(({ id }) => [id, `${id} answers hello`] as const);
    expect([...responses].sort()).toEqual(expected.map(([id, text]) => [id, text]));
    expect(isComplete).toBeTrue();
  });

  test("a response may come later", async () => {
    const { nodes, nodeA, nodeB } = await start();
    const work = Promise.withResolvers<string>();
    nodeB.respond = () => work.promise;
    const responses = responsesTo(nodes, nodeA, "slow");
    await nodes.settle();
    work.resolve("done");
    expect((await responses).responses.get(nodeB.id)).toBe("done");
    expect((await responses).isComplete).toBeTrue();
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("planted");
      },
    ],
    ["rejects", () => Promise.reject(new Error("planted"))],
  ] as const)("a node that %s has not responded; the others have", async (_how, respond) => {
    const { nodes, nodeA, nodeB } = await start();
    nodeB.respond = respond;
    const { responses, isComplete } = await responsesTo(nodes, nodeA, "hello");
    const others = nodes.others(nodeA).filter((node) => node !== nodeB);
    expect([...responses.keys()].sort()).toEqual(others.map(({ id }) => id));
    expect(isComplete).toBeFalse();
  });

  test("a node that is gone is not asked", async () => {
    const { nodes, nodeA, nodeB } = await start();
    await nodes.close(nodeB);
    await nodes.until(() => nodeA.gone.includes(nodeB.id));
    expect(nodeA.engine.knows(nodeB.id)).toBeFalse();
    const { responses, isComplete } = await responsesTo(nodes, nodeA, "hello");
    expect([...responses.keys()]).toEqual(nodes.others(nodeA).map(({ id }) => id));
    expect(isComplete).toBeTrue();
  });

  test("a large response arrives complete, and messages meanwhile", async () => {
    const { nodes, nodeA, nodeB } = await start();
    const text = large();
    nodeB.respond = () => text;
    await nodeA.watch("c");
    const found = responsesTo(nodes, nodeA, "large");
    const published = [nodeB.publish("c"), nodeB.publish("c")];
    const { responses, isComplete } = await found;
    expect([responses.get(nodeB.id) === text, isComplete]).toEqual([true, true]);
    expect(nodeA.receivedOn("c")).toEqual(published);
  });

  test("notifications to one node arrive there alone, in order", async () => {
    const { nodes, nodeA, nodeB } = await start();
    const sent = ["one", "", "line\nline", "€".repeat(300_000), '"', "last"];
    for (const text of sent) nodeA.engine.notify(nodeB.id, text);
    nodeA.engine.notify("unknown", "lost");
    expect([nodeB.id, "unknown", nodeA.id].map((name) => nodeA.engine.knows(name))).toEqual([true, false, false]);
    expect(await nodes.until(() => nodeB.notifications.length >= sent.length)).toBeTrue();
    await nodes.settle();
    expect(nodeB.notifications.map(([node, text]) => `${node} ${text.length}`)).toEqual(
      sent.map((text) => `${nodeA.id} ${text.length}`),
    );
    expect(nodeB.notifications.map(([, text]) => text)).toEqual(sent);
    for (const node of nodes.all.filter((one) => one !== nodeB)) expect(node.notifications).toEqual([]);
  });
}
