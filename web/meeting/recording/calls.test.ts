import { expect, test } from "bun:test";
import { type Answer, answerWithinMs, callsOf } from "./calls.ts";

test("only a call that carries a part may take a minute", async () => {
  const patience: number[] = [];
  const answer: Answer = { status: 200, code: "", body: {} };
  const notes = { roomName: "standup", source: "camera" } as Parameters<typeof callsOf>[1];
  const calls = callsOf("https://demo.example.com", notes, async (_, init) => {
    patience.push(answerWithinMs(init));
    return answer;
  });
  await calls.begin("token", 0);
  await calls.ask("https://demo.example.com/u");
  await calls.put("https://demo.example.com/u", new Uint8Array(4), 0);
  await calls.finish("token", "1");
  expect(patience).toEqual([15_000, 15_000, 60_000, 15_000]);
});
