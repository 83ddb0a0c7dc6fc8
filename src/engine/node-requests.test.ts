import { expect, test } from "bun:test";
import type { NodeResponses } from "./engine.ts";
import { NodeRequests } from "./node-requests.ts";

const NONE: NodeResponses = { responses: new Map(), isComplete: true };

/** Requests of a node "own" whose other nodes send these texts. */
function requestsWith(responses: Readonly<Record<string, string>> = {}, isComplete = true) {
  const sent: string[] = [];
  const notified: [string, string][] = [];
  const requests = new NodeRequests(
    {
      request: async (text) => {
        sent.push(text);
        return { ...NONE, responses: new Map(Object.entries(responses)), isComplete };
      },
      knows: () => false,
      notify: (node, text) => void notified.push([node, text]),
    },
    "own",
  );
  return { requests, sent, notified };
}

function numberOf(value: unknown): number {
  if (typeof value !== "number") throw new Error("not a number");
  return value;
}

test("gather asks all nodes and returns this node's own answer first", async () => {
  const { requests, sent } = requestsWith({ n2: "2", n3: "3" });
  requests.onRequest("count", async (payload) => (payload as { from: number }).from);
  expect(await requests.gather("count", { from: 1 }, numberOf)).toEqual({ answers: [1, 2, 3], isComplete: true });
  expect(sent).toEqual(['{"name":"count","payload":{"from":1}}']);
});

test("a node that has not responded makes the result incomplete", async () => {
  const { requests } = requestsWith({ n2: "2" }, false);
  requests.onRequest("count", () => 1);
  expect(await requests.gather("count", null, numberOf)).toEqual({ answers: [1, 2], isComplete: false });
});

test.each([
  ["no JSON", "{"],
  ["an empty text", ""],
  ["another form", '"two"'],
  ["deep nesting", `${"[".repeat(200_000)}${"]".repeat(200_000)}`],
])("%s counts as no response", async (_what, text) => {
  const { requests } = requestsWith({ n2: text, n3: "3" });
  requests.onRequest("count", () => 1);
  expect(await requests.gather("count", null, numberOf)).toEqual({ answers: [1, 3], isComplete: false });
});

test("a request of another node is answered with JSON, by name", async () => {
  const { requests } = requestsWith();
  requests.onRequest("twice", (payload) => ({ value: numberOf(payload) * 2 }));
  expect(await requests.respond('{"name":"twice","payload":4}')).toBe('{"value":8}');
});

test.each([
  ["bad JSON", "{", "without a name"],
  ["no name", '{"payload":1}', "without a name"],
  ["a name that is no text", '{"name":1}', "without a name"],
  ["a payload that the part refuses", '{"name":"twice","payload":"x"}', "not a number"],
])("a request with %s is refused", async (_what, text, message) => {
  const { requests } = requestsWith();
  requests.onRequest("twice", numberOf);
  expect(requests.respond(text)).rejects.toThrow(message);
});

test.each(["other", "constructor"])(
  "a request of a newer version, %s, has an empty answer, and is no fault",
  async (name) => {
    const { requests } = requestsWith();
    expect(await requests.respond(JSON.stringify({ name }))).toBe("");
  },
);

test("requests that 0.1.0 does not know are marked as new", async () => {
  const asked: [string, boolean | undefined][] = [];
  const request = async (text: string, isNew?: boolean): Promise<NodeResponses> => {
    asked.push([text, isNew]);
    return NONE;
  };
  const requests = new NodeRequests({ request, knows: () => false, notify: () => undefined }, "own");
  for (const name of ["node", "held-peers"]) await requests.gather(name, null, () => 0);
  expect(asked.map(([, isNew]) => isNew)).toEqual([false, true]);
});

test("a notification reaches the part that has registered its name", () => {
  const { requests, notified } = requestsWith();
  const received: unknown[] = [];
  requests.onNotification("tail", (from, payload) => received.push([from, payload]));
  requests.notified("n2", '{"name":"tail","payload":{"a":1}}');
  requests.notified("n2", '{"name":"unknown","payload":{"a":1}}');
  expect(received).toEqual([["n2", { a: 1 }]]);
  requests.notify("n3", "tail", [1]);
  expect(notified).toEqual([["n3", '{"name":"tail","payload":[1]}']]);
});
