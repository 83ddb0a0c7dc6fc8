import { expect, test } from "bun:test";
import { ChannelRules } from "./channel-rules.ts";

const rules = new ChannelRules([
  { pattern: "chat/vip", graceSec: 30 },
  { pattern: "chat/**", history: { messages: 100, seconds: 60 }, graceSec: 0 },
  { pattern: "**", graceSec: 5 },
]);

test("the first rule whose pattern matches applies", () => {
  expect(rules.ruleFor("chat/vip")?.graceSec).toBe(30);
  expect(rules.ruleFor("chat/1/2")?.history?.messages).toBe(100);
  expect(rules.ruleFor("other")?.graceSec).toBe(5);
});

test("a reserved channel has no rule", () => {
  expect(rules.ruleFor("_internal/x")).toBeUndefined();
});

test("without rules nothing matches", () => {
  expect(ChannelRules.NONE.ruleFor("chat/1")).toBeUndefined();
});
