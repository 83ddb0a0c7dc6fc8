import { expect, test } from "bun:test";
import { answerIn } from "./decode.ts";
import type { Answer, Answered } from "./encode.ts";
import { ITEM_MAX_BYTES, PARTS_MAX } from "./payload.ts";
import { countsOf, partsOf, Questions } from "./pending-requests.ts";

function asked() {
  let now = 0;
  const questions = new Questions(() => now);
  const answers: (ReadonlyMap<string, Answer> | undefined)[] = [];
  questions.expect(1, ["a"], (all) => answers.push(all));
  const arrive = (part: number, parts: number): void => {
    const answer: Answer = { what: "members", members: [{ peerId: `p${part}`, metadataJson: undefined, since: 0 }] };
    questions.arrived(1, { node: "a", part, parts, answer });
  };
  const pass = (ms: number): void => {
    now += ms;
    questions.sweep();
  };
  return { answers, arrive, pass };
}

test("an answer may take longer than a second while its parts keep coming, but not for ever", () => {
  const { answers, arrive, pass } = asked();
  for (let part = 0; part < 10; part++) {
    arrive(part, 11);
    pass(900);
  }
  expect(answers).toEqual([]);
  arrive(10, 11);
  expect(answers.map((all) => all?.size)).toEqual([1]);

  const endless = asked();
  for (let part = 0; part < 20; part++) {
    endless.arrive(part, PARTS_MAX);
    endless.pass(900);
  }
  expect(endless.answers.map((all) => all?.size)).toEqual([0]);
});

test("an answer that lacks a part is no answer", () => {
  const { answers, arrive, pass } = asked();
  for (const part of [0, 2, 3]) arrive(part, 4);
  pass(1000);
  expect(answers.map((all) => all?.size)).toEqual([0]);
});

test("long answers are split into items that can be decoded one by one, and are the same when joined", () => {
  const peerIds = Array.from({ length: 28_000 }, (_, at) => `peer number ${at} "quoted"`);
  const joinedOf = (answer: Answer): Answer => {
    const texts = partsOf("a", answer);
    expect(texts.length).toBeGreaterThan(1);
    for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThan(ITEM_MAX_BYTES * 1.1);
    let joined: Answer | undefined;
    const questions = new Questions(() => 0);
    questions.expect(1, ["a"], (all) => {
      joined = all.get("a");
    });
    for (const text of texts) questions.arrived(1, answerIn(text) as Answered);
    if (!joined) throw new Error("the answer is not complete");
    return joined;
  };
  const counts = [
    { channel: "large", peerIds, connections: 30_000 },
    { channel: "empty", peerIds: [], connections: 1 },
  ];
  expect(countsOf(joinedOf({ what: "channels", counts }))).toEqual(counts);
  const items = peerIds.slice(0, 2000);
  expect(joinedOf({ what: "again", items })).toEqual({ what: "again", items });
});
