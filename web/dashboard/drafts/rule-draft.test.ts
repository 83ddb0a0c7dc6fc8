import { expect, test } from "bun:test";
import { draftOf, problemsOf, retentionText, ruleOf, span, streamText } from "./rule-draft.ts";

test("a time is shown in the largest unit that divides it", () => {
  expect([604_800, 86_400, 7200, 90, 60, 1].map(span)).toEqual([
    "7 days",
    "1 day",
    "2 hours",
    "90 seconds",
    "1 minute",
    "1 second",
  ]);
  expect(retentionText({ messages: 1, seconds: 3600 })).toBe("1 message, 1 hour");
  expect(retentionText({ messages: 10_000, seconds: 5400 })).toBe("10,000 messages, 90 minutes");
});

test.each([
  { pattern: "chat/**", history: { messages: 500, seconds: 604_800 }, graceSec: 0 },
  { pattern: "x", history: { messages: 1, seconds: 1 }, graceSec: 120 },
  { pattern: "presence/*", graceSec: 30 },
  { pattern: "runs/*", stream: { seconds: 7200, bytes: 65_537 }, graceSec: 0 },
  { pattern: "files/*", stream: { seconds: 2_592_000, bytes: 268_435_456 }, graceSec: 5 },
])("a rule is the same after a form that changes nothing: $pattern", (rule) => {
  expect(ruleOf(draftOf(rule))).toEqual(rule);
  expect(problemsOf(draftOf(rule)).isComplete).toBe(true);
});

test("a new rule needs a pattern, and does not complain before one is typed", () => {
  const draft = draftOf();
  expect(problemsOf(draft)).toMatchObject({ pattern: undefined, isComplete: false });
  expect(problemsOf({ ...draft, pattern: "a***" }).pattern).toContain("must not contain");
  expect(ruleOf({ ...draft, pattern: " chat/* " }).pattern).toBe("chat/*");
});

test("numbers outside of what the service accepts are a problem of their own field", () => {
  const draft = { ...draftOf(), pattern: "**" };
  expect(problemsOf({ ...draft, messages: "0" }).messages).toBe("A whole number, at least 1 and at most 10,000.");
  expect(problemsOf({ ...draft, messages: "1.5" }).messages).toBeDefined();
  expect(problemsOf({ ...draft, messages: "" }).messages).toBeDefined();
  expect(problemsOf({ ...draft, length: "31" }).length).toContain("at most 30 days");
  expect(problemsOf({ ...draft, length: "31", unit: "3600" }).length).toBeUndefined();
  expect(problemsOf({ ...draft, grace: "121" }).grace).toContain("at most 120");
  expect(problemsOf({ ...draft, grace: "" }).isComplete).toBe(false);
});

test("streams have a size in MiB and a time of their own limits", () => {
  const draft = { ...draftOf(), pattern: "**", kind: "stream", messages: "-1" } as const;
  expect(ruleOf({ ...draft, size: "0.5" })).toEqual({
    pattern: "**",
    stream: { seconds: 604_800, bytes: 524_288 },
    graceSec: 0,
  });
  expect(problemsOf(draft).isComplete).toBe(true);
  for (const size of ["", "0.01", "257", "x"])
    expect(problemsOf({ ...draft, size }).size).toBe("At least 64 KiB and at most 256 MiB.");
  expect(problemsOf({ ...draft, length: "31" }).length).toContain("at most 30 days");
  expect(streamText({ seconds: 60, bytes: 65_536 })).toBe("streams of up to 64 KiB, deleted when unused for 1 minute");
});

test("what is typed for history does not matter while none is kept", () => {
  const draft = { ...draftOf(), pattern: "**", kind: "none", messages: "-1", size: "0", length: "x" } as const;
  expect(problemsOf(draft).isComplete).toBe(true);
  expect(ruleOf(draft)).toEqual({ pattern: "**", graceSec: 0 });
});
