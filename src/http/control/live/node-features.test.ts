import { expect, test } from "bun:test";
import { nodesWithout } from "./node-features.ts";

test("which nodes lack something: those that do not know the question, and those that do not answer", async () => {
  const status = (nodeId: string, version = "0.2.0", worker?: number) => ({
    nodeId,
    version,
    startedAt: 1,
    ...(worker !== undefined && { worker }),
  });
  const has = (nodeId: string, worker?: number) => ({
    nodeId,
    features: ["streams", "later"],
    ...(worker !== undefined && { worker }),
  });
  const ask = (answers: Readonly<Record<string, readonly object[]>>, isComplete = true) =>
    nodesWithout({
      gather: async (name, _payload, decode) => ({ answers: (answers[name] ?? []).map(decode), isComplete }),
    })("streams");
  expect(await ask({ features: [has("a"), has("b", 1)], node: [status("a"), status("b", "0.2.0", 1)] })).toEqual([]);
  expect(await ask({ features: [has("a")], node: [status("a"), status("b", "0.1.0")] }, false)).toEqual(["b (0.1.0)"]);
  expect(await ask({ features: [{ nodeId: "a", features: [] }], node: [status("a")] })).toEqual(["a (0.2.0)"]);
  expect(await ask({ features: [has("a")], node: [status("a")] }, false)).toEqual(["a node that has not answered"]);
});
