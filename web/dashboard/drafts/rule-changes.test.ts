import { expect, test } from "bun:test";
import { appliedTo, effectOn, mayLose, placeOf, shadowOf } from "./rule-changes.ts";
import type { ChannelRule } from "./rule-draft.ts";

const keeping = (pattern: string, messages = 100, seconds = 3600): ChannelRule => ({
  pattern,
  history: { messages, seconds },
  graceSec: 0,
});
const streams = (pattern: string, bytes = 1_048_576, seconds = 3600): ChannelRule => ({
  pattern,
  stream: { seconds, bytes },
  graceSec: 0,
});
const plain = (pattern: string): ChannelRule => ({ pattern, graceSec: 0 });

test("the first rule whose pattern matches applies", () => {
  const rules = [keeping("chat/*"), plain("chat/**")];
  expect(["chat/1", "chat/1/2", "news"].map((channel) => appliedTo(rules, channel))).toEqual([0, 1, -1]);
});

test("a rule whose channels an earlier one matches never applies", () => {
  const rules = [plain("chat/**"), keeping("chat/*"), plain("**"), plain("not a *** pattern")];
  expect(rules.map((_, at) => shadowOf(rules, at))).toEqual([-1, 0, -1, -1]);
});

test("channels that lose history, keep less and begin to keep it are counted", () => {
  const channels = ["chat/1", "chat/2", "news", "orders/1", "other"];
  const before = [keeping("chat/*"), keeping("orders/*")];
  const after = [plain("chat/2"), keeping("chat/*", 50), keeping("orders/*", 200), keeping("news")];
  expect(effectOn(channels, before, after)).toEqual({ lost: 1, less: 1, begun: 1, ended: 0 });
  expect(effectOn(channels, before, before)).toEqual({ lost: 0, less: 0, begun: 0, ended: 0 });
});

test("channels whose streams end are counted, also if they keep history from then on", () => {
  const channels = ["runs/1", "runs/2", "files/1"];
  const before = [streams("runs/*"), streams("files/*", 65_536)];
  const after = [keeping("runs/1"), plain("runs/2"), streams("files/*")];
  expect(effectOn(channels, before, after)).toEqual({ lost: 0, less: 0, begun: 1, ended: 2 });
  expect(mayLose(before, after)).toBe(true);
  expect(mayLose(before, [streams("runs/*", 65_536, 1), before[1] ?? plain(""), plain("**")])).toBe(false);
  expect(mayLose([keeping("a")], [streams("a")])).toBe(true);
});

test("only a list that begins with all rules as they were, or with more, cannot lose history", () => {
  const before = [keeping("a/*"), plain("b/*"), keeping("c/*")];
  expect(mayLose(before, before)).toBe(false);
  expect(mayLose(before, [keeping("a/*", 200), keeping("b/*"), keeping("c/*"), plain("**")])).toBe(false);
  expect(mayLose(before, [plain("a/1"), ...before])).toBe(true);
  expect(mayLose(before, before.slice(0, 2))).toBe(true);
  expect(mayLose(before, [keeping("a/*", 100, 60), ...before.slice(1)])).toBe(true);
  expect(mayLose(before, before.toReversed())).toBe(true);
  expect(mayLose([plain("a/*")], [])).toBe(false);
});

test("a refusal that names a rule belongs to its row", () => {
  expect(placeOf("channelRules.2.pattern: is also the pattern of channelRules.0")).toBe(2);
  expect(placeOf("channelRules[1].history.messages: must be a whole number")).toBe(1);
  expect(placeOf("channelRules: must have at most 50 entries")).toBe(-1);
  expect(placeOf("")).toBe(-1);
});
