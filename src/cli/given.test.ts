import { expect, test } from "bun:test";
import { Given } from "./given.ts";

const given = (flags: Record<string, string>, ...words: string[]): Given =>
  new Given(words, new Map(Object.entries(flags)), {});

test("a list has commas between; nothing is the empty list; JSON where an entry has a comma", () => {
  expect(given({ channels: "chat/*, news" }).list("channels")).toEqual(["chat/*", "news"]);
  expect(given({ channels: "" }).list("channels")).toEqual([]);
  expect(given({ channels: '["a,b","c"]' }).list("channels")).toEqual(["a,b", "c"]);
  expect(given({}).list("channels")).toBeUndefined();
  expect(() => given({ channels: "a,,b" }).list("channels")).toThrow("--channels has an empty entry");
  expect(() => given({ channels: "[1]" }).list("channels")).toThrow("JSON list of texts");
  expect(() => given({ actions: "publis" }).list("actions", ["publish"])).toThrow(
    '--actions has "publis"; allowed: publish',
  );
});

test("numbers are whole and not negative, or none where that means something", () => {
  expect(given({ grace: "0" }).whole("grace")).toBe(0);
  expect(given({ cap: "none" }).wholeOrNone("cap")).toBeNull();
  expect(given({ cap: "7" }).wholeOrNone("cap")).toBe(7);
  for (const wrong of ["-1", "1.5", "1e3", "", " 1", "none", "9".repeat(40)])
    expect(() => given({ grace: wrong }).whole("grace")).toThrow("--grace is");
  expect(() => given({ cap: "many" }).wholeOrNone("cap")).toThrow("a whole number, or none");
});

test("an object is JSON, has no key twice and is no list", () => {
  expect(given({ metadata: '{"a":{"b":1}}' }).object("metadata")).toEqual({ a: { b: 1 } });
  for (const wrong of ["[1]", "1", "{", "", '{"a":1,"a":2}'])
    expect(() => given({ metadata: wrong }).object("metadata")).toThrow("--metadata must be a JSON object");
});

test("what becomes part of a path can only name itself", () => {
  expect(given({}, "shop-2").id(0, "an application")).toBe("shop-2");
  for (const wrong of ["..", ".", "a/b", "a%2fb", "a?b", "", "sk_id_a:sk_secret_b"])
    expect(() => given({}, wrong).id(0, "an application")).toThrow("is not an application");
});

test("an empty text is refused, or takes a value away where that is meant", () => {
  expect(() => given({ app: "" }).text("app")).toThrow("--app must not be empty");
  expect(given({ label: "" }).textOrNull("label")).toBeNull();
});

test("a flag that may be given several times has all its values, none or one too", () => {
  const repeated = new Map([["url", ["a", "b"]]]);
  expect(new Given([], new Map([["url", "a"]]), {}, repeated).texts("url")).toEqual(["a", "b"]);
  expect(new Given([], new Map([["url", "a"]]), {}).texts("url")).toEqual(["a"]);
  expect(new Given([], new Map(), {}).texts("url")).toEqual([]);
  const empty = new Given([], new Map([["url", "a"]]), {}, new Map([["url", ["a", ""]]]));
  expect(() => empty.texts("url")).toThrow("--url must not be empty");
});
