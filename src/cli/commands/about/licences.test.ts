import { expect, test } from "bun:test";
import manifest from "../../../../package.json" with { type: "json" };
import { licences } from "./licences.ts";

const PARTS = licences();

test("Parley itself, Bun and every package that a service needs are listed, each with its licence and text", () => {
  expect(PARTS.slice(0, 2).map(({ name }) => name)).toEqual(["parley", "bun"]);
  const names = PARTS.map(({ name }) => name);
  expect(Object.keys(manifest.dependencies).filter((name) => !names.includes(name))).toEqual([]);
  // What these need in turn, such as @nats-io/nats-core.
  expect(names.length).toBeGreaterThan(Object.keys(manifest.dependencies).length + 10);
  expect(PARTS.filter(({ licence, text }) => licence === "not stated" || text.length < 500)).toEqual([]);
});

test("the version of each is stated, and nothing is listed twice", () => {
  expect(PARTS.filter(({ version }) => !/^\d+\.\d+\.\d+/.test(version))).toEqual([]);
  expect(new Set(PARTS.map(({ name, version }) => `${name} ${version}`)).size).toBe(PARTS.length);
});

test("where a licence asks for it, the sources are named", () => {
  const weak = PARTS.filter(({ licence }) => /MPL|LGPL/.test(licence));
  expect(weak.map(({ name }) => name)).toEqual(["bun", "mediabunny"]);
  for (const { source } of weak) expect(source).toContain("github.com");
});
