import { expect, test } from "bun:test";
import { type FlagKind, parseArgs } from "./args.ts";

const KINDS = new Map<string, FlagKind>([
  ["app", "value"],
  ["label", "value"],
  ["json", "switch"],
  ["help", "switch"],
  ["history", "either"],
]);
const parse = (...argv: string[]) => {
  const { positionals, flags, unknown } = parseArgs(argv, KINDS);
  return { positionals, flags: Object.fromEntries(flags), unknown };
};

test("positional arguments and flags may be mixed", () => {
  expect(parse("--json", "keys", "--app", "shop", "list", "--label=a=b")).toEqual({
    positionals: ["keys", "list"],
    flags: { json: "on", app: "shop", label: "a=b" },
    unknown: [],
  });
});

test("a lone dash and everything after -- are positional", () => {
  expect(parse("check", "-", "--", "--app", "-x")).toEqual({
    positionals: ["check", "-", "--app", "-x"],
    flags: {},
    unknown: [],
  });
});

test("-h is --help", () => {
  expect(parse("-h").flags).toEqual({ help: "on" });
});

test("a flag without its value does not take the next flag for it", () => {
  expect(() => parse("--app", "--json")).toThrow("--app needs a value, but --json follows");
  expect(() => parse("--app", "-h")).toThrow("--app needs a value");
  expect(() => parse("--app")).toThrow("--app needs a value");
  expect(parse("--app=--json").flags).toEqual({ app: "--json" });
});

test("a value may be empty, negative or a dash", () => {
  expect(parse("--app", "", "--label", "-5").flags).toEqual({ app: "", label: "-5" });
  expect(parse("--label=").flags).toEqual({ label: "" });
});

test("a repeated flag keeps all its values; the command decides whether that is allowed", () => {
  const { flags, repeated } = parseArgs(["--app", "a", "--app=b", "--json", "--app", "c", "--label=x"], KINDS);
  expect([flags.get("app"), [...repeated]]).toEqual(["a", [["app", ["a", "b", "c"]]]]);
});

test("a switch with a value is refused", () => {
  expect(() => parse("--json=yes")).toThrow("--json takes no value");
});

test("unknown flags are collected, with their dashes and without their values", () => {
  expect(parse("keys", "--ap=x", "-x").unknown).toEqual(["--ap", "-x"]);
});

test("a flag of both kinds has a value only behind =", () => {
  expect(parse("--history", "50")).toMatchObject({ positionals: ["50"], flags: { history: "on" } });
  expect(parse("--history=50").flags).toEqual({ history: "50" });
});
