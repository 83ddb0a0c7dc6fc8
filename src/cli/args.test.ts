import { expect, test } from "bun:test";
import { type FlagKind, parseArgs } from "./args.ts";

const KINDS = new Map<string, FlagKind>([
  ["app", "value"],
  ["label", "value"],
  ["json", "switch"],
  ["help", "switch"],
]);
const parse = (...argv: string[]) => {
  const { words, flags, unknown } = parseArgs(argv, KINDS);
  return { words, flags: Object.fromEntries(flags), unknown };
};

test("words and flags are told apart wherever they stand", () => {
  expect(parse("--json", "keys", "--app", "shop", "list", "--label=a=b")).toEqual({
    words: ["keys", "list"],
    flags: { json: "on", app: "shop", label: "a=b" },
    unknown: [],
  });
});

test("a lone dash and everything behind -- are words", () => {
  expect(parse("check", "-", "--", "--app", "-x")).toEqual({
    words: ["check", "-", "--app", "-x"],
    flags: {},
    unknown: [],
  });
});

test("-h is --help", () => {
  expect(parse("-h").flags).toEqual({ help: "on" });
});

test("a flag that wants a value does not swallow the flag behind it", () => {
  expect(() => parse("--app", "--json")).toThrow("--app needs a value, but --json follows");
  expect(() => parse("--app", "-h")).toThrow("--app needs a value");
  expect(() => parse("--app")).toThrow("--app needs a value");
  expect(parse("--app=--json").flags).toEqual({ app: "--json" });
});

test("a value may be empty, negative or a dash", () => {
  expect(parse("--app", "", "--label", "-5").flags).toEqual({ app: "", label: "-5" });
  expect(parse("--label=").flags).toEqual({ label: "" });
});

test("a flag given again keeps all its values; whether it may be is the command's to say", () => {
  const { flags, repeated } = parseArgs(["--app", "a", "--app=b", "--json", "--app", "c", "--label=x"], KINDS);
  expect([flags.get("app"), [...repeated]]).toEqual(["a", [["app", ["a", "b", "c"]]]]);
});

test("a switch with a value is refused", () => {
  expect(() => parse("--json=yes")).toThrow("--json takes no value");
});

test("flags nobody knows are collected, with their dashes and without their values", () => {
  expect(parse("keys", "--ap=x", "-x").unknown).toEqual(["--ap", "-x"]);
});
