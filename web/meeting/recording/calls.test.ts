import { expect, test } from "bun:test";
import { type Answer, answerWithinMs, callsOf, send } from "./calls.ts";

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

test.each([
  ["7", 7000],
  ["100000", 60_000],
  ["0", undefined],
  [new Date(0).toUTCString(), undefined],
])("Retry-After %p is a pause of %p ms", async (header, wantedMs) => {
  const refuse = () =>
    Response.json({ error: { code: "rate_limited" } }, { status: 429, headers: { "Retry-After": header } });
  const server = Bun.serve({ port: 0, fetch: refuse });
  try {
    const answer = await send(server.url.href, { method: "PUT" });
    expect([answer.status, answer.code, answer.retryAfterMs]).toEqual([429, "rate_limited", wantedMs]);
  } finally {
    await server.stop(true);
  }
});
