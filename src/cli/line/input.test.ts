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

test("a time is a number of seconds or days as before, or has its unit", () => {
  const times = { a: "90", b: "90s", c: "15m", d: "12h", e: "7d" };
  expect(Object.keys(times).map((name) => input(times).seconds(name))).toEqual([90, 90, 900, 43_200, 604_800]);
  expect(["30", "30d", "48h"].map((days) => input({ days }).days("days"))).toEqual([30, 30, 2]);
  expect(input({ days: "none" }).daysOrNone("days")).toBeNull();
  for (const wrong of ["", "1.5h", "-1", "1w", "h", "1 h", "10 m", "9999999999999999d"])
    expect(() => input({ grace: wrong }).seconds("grace")).toThrow("--grace is");
  for (const wrong of ["25h", "1m", "none"])
    expect(() => input({ days: wrong }).days("days")).toThrow("whole number of days");
});

test("a point in time is Unix seconds, a date, or a time from now or ago", () => {
  const at = (expires: string, relative: "from now" | "ago" = "from now"): number | null | undefined =>
    input({ expires }).timeOrNone("expires", relative);
  expect([at("1900000000"), at("2030-01-31T18:00:00Z"), at("none")]).toEqual([1_900_000_000, 1_896_112_800, null]);
  const nowSeconds = Date.now() / 1000;
  expect(Math.abs((at("2h") ?? 0) - nowSeconds - 7200)).toBeLessThan(60);
  expect(Math.abs((at("7d", "ago") ?? 0) - nowSeconds + 604_800)).toBeLessThan(60);
  expect(() => at("soon")).toThrow("a time such as 2h (from now)");
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
