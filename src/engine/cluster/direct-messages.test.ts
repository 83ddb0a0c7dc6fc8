import { expect, test } from "bun:test";
import type { Heard } from "../transport/nats.ts";
import { Inboxes, LATE_MS } from "./direct-messages.ts";
import { direct } from "./encode.ts";

function opened() {
  const handed: string[] = [];
  const answers: string[] = [];
  const ears = new Map<string, (heard: Heard) => void>();
  let odd = 0;
  let now = 0;
  const inboxes = new Inboxes({
    end: { id: "here", deliverTo: (_app, _to, { dataJson }) => handed.push(dataJson) && 1 },
    link: {
      subscribe: (subject, heard) => {
        ears.set(subject, heard);
        return { end: () => ears.delete(subject) };
      },
    },
    subjects: { peer: (app, peerId) => `${app}/${peerId}` },
    nodes: { seen: (name) => ({ name, id: name, lastMs: 0, connections: new Map(), countedMs: 0 }) },
    boundary: { report: () => undefined },
    nowMs: () => now,
    odd: () => odd++,
  });
  inboxes.hold("app", "ann");
  const arrive = (node: string, number: number, to = "ann"): void => {
    const envelope = { from: "ben", metadataJson: undefined, dataJson: `"${node}${number}"` };
    const text = direct({ node, number, app: "app", to, envelope });
    const respond = (answer: string): unknown => answers.push(answer);
    ears.get("app/ann")?.({ subject: "app/ann", text, isNobody: false, respond: (answer) => void respond(answer) });
  };
  return { inboxes, handed, answers, arrive, odd: () => odd, pass: (ms: number) => (now += ms) };
}

test("what comes behind a newer one of the same node is left out, and not answered", () => {
  const { handed, answers, arrive } = opened();
  for (const [node, number] of [
    ["a", 4],
    ["b", 2],
    ["a", 9],
    ["a", 7],
    ["a", 9],
    ["b", 3],
  ] as const)
    arrive(node, number);
  expect(handed).toEqual(['"a4"', '"b2"', '"a9"', '"b3"']);
  expect(answers).toHaveLength(4);
});

test("what is for somebody else is odd, and nobody who was released is handed anything", () => {
  const { inboxes, handed, arrive, odd } = opened();
  arrive("a", 1, "eve");
  expect([handed, odd()]).toEqual([[], 1]);
  inboxes.release("app", "ann");
  arrive("a", 2);
  expect(handed).toEqual([]);
});

test("a number that no node can have reached does not make what follows late", () => {
  const { handed, arrive } = opened();
  arrive("a", 4);
  arrive("a", Number.MAX_SAFE_INTEGER);
  arrive("a", 5);
  expect(handed).toEqual(['"a4"', `"a${Number.MAX_SAFE_INTEGER}"`, '"a5"']);
});

test("a number that is too high makes what follows late for a while only", () => {
  const { handed, arrive, pass } = opened();
  arrive("a", 1000);
  arrive("a", 5);
  pass(LATE_MS);
  arrive("a", 6);
  arrive("a", 5);
  expect(handed).toEqual(['"a1000"', '"a6"']);
});
