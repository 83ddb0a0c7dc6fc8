/** The testers of keys agree with the service, whose code they use, and say why. */
import { expect, test } from "bun:test";
import {
  channelVerdict,
  exampleChannel,
  frameOriginProblem,
  linesOf,
  matching,
  narrowed,
  originProblem,
  originVerdict,
  patternOf,
  patternProblem,
} from "./scope.ts";

test("entries are lines without the spaces around them", () => {
  expect(linesOf(" chat/* \r\n\n\torders/**\n")).toEqual(["chat/*", "orders/**"]);
});

test("the first pattern or origin that is not valid is named", () => {
  expect(patternProblem(["chat/*", "a***b", "\\x"])).toBe("a***b: a pattern must not contain '***'.");
  expect(patternProblem(["é".repeat(129)])).toEndWith("at most 256 bytes.");
  expect(patternProblem([])).toBeUndefined();
  expect(originProblem(["https://a.example", "https://a.example/path"])).toStartWith("https://a.example/path: ");
  expect(originProblem(["*", "https://*.example.com", "http://localhost:3000"])).toBeUndefined();
  expect(frameOriginProblem(["https://*.example.com", "http://localhost:3000"])).toBeUndefined();
  for (const one of ["*", "file://a", "a.example", "https://a.example/path"])
    expect(frameOriginProblem(["https://a.example", one])).toStartWith(`${one}: `);
});

test("the verdict about a channel names the pattern, or says why there is none", () => {
  expect(channelVerdict(["news", "chat/*"], "chat/42")).toEqual({ isCovered: true, text: "Covered by chat/*" });
  expect(channelVerdict(["chat/*"], "chat/eu/42").isCovered).toBe(false);
  expect(channelVerdict([], "chat/42").text).toContain("no pattern");
  expect(channelVerdict(["**"], "_system/x").text).toContain("reserved");
  expect(channelVerdict(["**"], "chat/*").text).toContain("no *");
  expect(matching(["**", "chat/*", "x"], "chat/1")).toEqual(["**", "chat/*"]);
});

test("the verdict about an origin follows the rule of connects", () => {
  const allowed = ["https://*.example.com", "HTTPS://Shop.example:443"];
  expect(originVerdict(allowed, "https://shop.example").isCovered).toBe(true);
  expect(originVerdict(allowed, "https://a.example.com").text).toBe("Allowed by https://*.example.com");
  expect(originVerdict(allowed, "https://a.b.example.com").isCovered).toBe(false);
  expect(originVerdict(["*"], "null").isCovered).toBe(true);
  expect(originVerdict([], "https://a.example").text).toContain("no browser");
  expect(originVerdict(allowed, "a.example/x").text).toContain("not an origin");
});

test("an edit narrows a key only by what no other pattern covers", () => {
  expect(narrowed(["chat/*", "orders/**"], ["chat/**", "orders/eu/**"])).toEqual(["orders/**"]);
  expect(narrowed(["a", "b"], ["**"])).toEqual([]);
  expect(narrowed(["a"], [])).toEqual(["a"]);
});

test("the example of a pattern is a channel that it covers", () => {
  for (const pattern of ["chat/*", "a/**/b", "**", "x\\\\y/*", "news"])
    expect(matching([pattern], exampleChannel([pattern]))).toEqual([pattern]);
  expect(exampleChannel([])).toBe("chat/42");
});

test("the pattern of a name matches that channel and no other", () => {
  for (const name of ["chat/42", "a\\b", "a\\\\b", "\\", "\\\\"]) {
    const pattern = patternOf(name);
    expect([name, matching([pattern], name)]).toEqual([name, [pattern]]);
    expect(matching([pattern], `${name}\\`)).toEqual([]);
  }
});
