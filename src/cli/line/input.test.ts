import { expect, test } from "bun:test";
import { Input } from "./input.ts";

const input = (flags: Record<string, string>, ...operands: string[]): Input =>
  new Input(operands, new Map(Object.entries(flags)), {});

test("a list is separated by commas, empty for an empty text, or JSON", () => {
  expect(input({ channels: "chat/*, news" }).list("channels")).toEqual(["chat/*", "news"]);
  expect(input({ channels: "" }).list("channels")).toEqual([]);
  expect(input({ channels: '["a,b","c"]' }).list("channels")).toEqual(["a,b", "c"]);
  expect(input({}).list("channels")).toBeUndefined();
  expect(() => input({ channels: "a,,b" }).list("channels")).toThrow("--channels has an empty entry");
  expect(() => input({ channels: "[1]" }).list("channels")).toThrow("JSON list of strings");
  expect(() => input({ actions: "publis" }).list("actions", ["publish"])).toThrow(
    '--actions has "publis"; allowed: publish',
  );
});

test("numbers are whole and not negative, or none where that is allowed", () => {
  expect(input({ grace: "0" }).whole("grace")).toBe(0);
  expect(input({ cap: "none" }).wholeOrNone("cap")).toBeNull();
  expect(input({ cap: "7" }).wholeOrNone("cap")).toBe(7);
  for (const wrong of ["-1", "1.5", "1e3", "", " 1", "none", "9".repeat(40)])
    expect(() => input({ grace: wrong }).whole("grace")).toThrow("--grace is");
  expect(() => input({ cap: "many" }).wholeOrNone("cap")).toThrow("a whole number, or none");
});

test("an object is JSON without duplicate keys, and not a list", () => {
  expect(input({ metadata: '{"a":{"b":1}}' }).object("metadata")).toEqual({ a: { b: 1 } });
  for (const wrong of ["[1]", "1", "{", "", '{"a":1,"a":2}'])
    expect(() => input({ metadata: wrong }).object("metadata")).toThrow("--metadata must be a JSON object");
});

test("an operand that becomes part of a path cannot lead to another path", () => {
  expect(input({}, "shop-2").id(0, "an application")).toBe("shop-2");
  for (const wrong of ["..", ".", "a/b", "a%2fb", "a?b", "", "sk_id_a:sk_secret_b"])
    expect(() => input({}, wrong).id(0, "an application")).toThrow("is not an application");
});

test("an empty text is refused, or removes the value where that is allowed", () => {
  expect(() => input({ app: "" }).text("app")).toThrow("--app must not be empty");
  expect(input({ label: "" }).textOrNull("label")).toBeNull();
});

test("a flag that may be repeated has all its values", () => {
  const repeated = new Map([["url", ["a", "b"]]]);
  expect(new Input([], new Map([["url", "a"]]), {}, repeated).texts("url")).toEqual(["a", "b"]);
  expect(new Input([], new Map([["url", "a"]]), {}).texts("url")).toEqual(["a"]);
  expect(new Input([], new Map(), {}).texts("url")).toEqual([]);
  const empty = new Input([], new Map([["url", "a"]]), {}, new Map([["url", ["a", ""]]]));
  expect(() => empty.texts("url")).toThrow("--url must not be empty");
});
