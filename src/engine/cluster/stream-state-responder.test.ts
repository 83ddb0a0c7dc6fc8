import { expect, test } from "bun:test";
import type { MemberState } from "../engine.ts";
import { answerIn } from "./decode.ts";
import type { Answer, Answered } from "./encode.ts";
import { ITEM_MAX_BYTES } from "./payload.ts";
import { ANSWER_MS, lanesOf, Questions, WHOLE_ANSWER_MS } from "./pending-requests.ts";
import { BURST_BYTES, RATE_BYTES_PER_SECOND, WAITING_CHANNELS_MAX, WhoAnswers } from "./stream-state-responder.ts";

const crowd = (count: number): MemberState[] =>
  Array.from({ length: count }, (_, at) => ({
    peerId: `p${at}`,
    since: at,
    metadataJson: `{"x":"${"€".repeat(1300)}"}`,
  }));

/** `large` has 300 members of 4 KB, 1.2 MB; every other channel has none. */
function answering() {
  let now = 0;
  let looked = 0;
  const members = crowd(300);
  const due: (() => void)[] = [];
  const answers = new WhoAnswers({
    end: {
      id: "here",
      localMembers: (_app, channel) => {
        looked++;
        return channel.startsWith("large") ? members : [];
      },
    },
    lanes: { state: () => ({ epoch: 1, n: 2 }) },
    boundary: { run: (_context, work) => work() },
    nowMs: () => now,
    later: (run) => due.push(run),
  });
  const pass = (ms: number): void => {
    for (let at = 0; at < ms; at += 5) {
      now += 5;
      for (const run of due.splice(0)) run();
    }
  };
  return { answers, members, pass, looked: () => looked };
}

test("an answer in parts is the same when it is joined, and channels named twice are answered once", () => {
  const { answers, members, pass, looked } = answering();
  const texts: string[] = [];
  answers.give("b", [...Array(2000).fill(["app", "large"]), ["app", "d"]], (text) => texts.push(text));
  pass(500);
  expect([looked(), texts.length > 30]).toEqual([2, true]);
  for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThan(ITEM_MAX_BYTES * 1.1);
  let joined: Answer | undefined;
  const questions = new Questions(() => 0);
  questions.expect(1, ["here"], (all) => {
    joined = all.get("here");
  });
  for (const text of texts) questions.arrived(1, answerIn(text) as Answered);
  const place = { app: "app", epoch: 1, n: 2 };
  expect(lanesOf(joined)).toEqual([
    { ...place, channel: "large", members },
    { ...place, channel: "d", members: [] },
  ]);
});

test("however often a node asks, the bytes that it is given in a second are bounded", () => {
  const { answers, pass } = answering();
  let bytes = 0;
  for (let second = 0; second < 2; second++)
    for (let i = 0; i < 200; i++) {
      answers.give("b", [["app", `large${i % 50}`]], (text) => {
        bytes += Buffer.byteLength(text);
      });
      pass(5);
    }
  expect(bytes).toBeGreaterThan(RATE_BYTES_PER_SECOND / 2);
  expect(bytes).toBeLessThan(2 * RATE_BYTES_PER_SECOND + 2 * BURST_BYTES);
});

test("a short answer is given at once, and another node has its turn, whatever one node asks for", () => {
  const { answers, pass } = answering();
  for (let i = 0; i < 500; i++) answers.give("b", [["app", `large${i}`]], () => undefined);
  const came: string[] = [];
  answers.give("b", [["app", "small"]], () => came.push("small"));
  expect(came).toEqual(["small"]);
  answers.give("c", [["app", "large"]], () => came.push("c"));
  pass(ANSWER_MS / 2);
  expect(came.length).toBeGreaterThan(30);
});

test("what waits is bounded, and what nobody waits for any more is dropped", () => {
  const { answers, pass } = answering();
  let given = 0;
  const ask = (): void => {
    const channels = Array.from({ length: 4000 }, (_, at) => ["app", `large${at}`] as const);
    for (let i = 0; i < 100; i++) answers.give("b", channels, () => given++);
  };
  ask();
  expect(Reflect.get(answers, "waitingChannels")).toBeLessThan(WAITING_CHANNELS_MAX + 4000);
  pass(2 * ANSWER_MS);
  expect(given).toBeLessThan(((2 * RATE_BYTES_PER_SECOND + 2 * BURST_BYTES) / ITEM_MAX_BYTES) * 1.5);
  pass(WHOLE_ANSWER_MS);
  expect(Reflect.get(answers, "waitingChannels")).toBe(0);
});
