/** The table of credentials in SECURITY.md is that of the code. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as ids from "../../src/access/keys/ids.ts";
import { NAMES, SETTINGS, type Setting } from "../../src/config/settings.ts";
import { CREDENTIAL_FORMS } from "../support/credential-forms.ts";
import { CREDENTIALS, DERIVED_KEYS, MADE_BY } from "../support/credentials.ts";
import { PROJECT, readPage } from "./support/page.ts";

const COLUMNS = ["credential", "entropy", "lifetime", "where it may appear", "what invalidates it"];

const cellsOf = (row: string): string[] =>
  row
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());

function rows(): string[][] {
  const lines = readPage("SECURITY.md").split("\n");
  const head = lines.findIndex((line) => cellsOf(line).join() === COLUMNS.join());
  const rest = lines.slice(head + 2);
  return rest
    .slice(
      0,
      rest.findIndex((line) => !line.startsWith("|")),
    )
    .map(cellsOf);
}

test("every credential has its row, with the entropy and the lifetime of the code", () => {
  const table = rows();
  expect(table.map(([name]) => name)).toEqual(CREDENTIALS.map(({ name }) => name));
  for (const [at, { name, entropy, lives, setting = "" }] of CREDENTIALS.entries()) {
    const [, entropyCell = "", lifetimeCell = "", ...rest] = table[at] ?? [];
    expect([name, entropyCell]).toEqual([name, expect.stringMatching(new RegExp(`^${entropy}`))]);
    expect([name, lifetimeCell]).toEqual([name, expect.stringContaining(lives)]);
    expect([name, rest.length, rest.includes("")]).toEqual([name, 2, false]);
    expect([name, rest.join()]).toEqual([name, expect.stringContaining(setting)]);
  }
});

test("what is recognised by its form is one of them", () => {
  const names = CREDENTIALS.map(({ name }) => name);
  for (const name of Object.keys(CREDENTIAL_FORMS)) expect(names).toContain(name);
});

test("every setting that is secret is in the table", () => {
  const table = rows().flat().join();
  const secrets = NAMES.filter((name) => (SETTINGS[name] as Setting<unknown>).secret);
  expect(secrets.length).toBeGreaterThan(5);
  for (const name of secrets) expect(table).toContain(SETTINGS[name].env);
});

test("every key that is derived, and every random value that is made, belongs to a row or is said to be no credential", () => {
  const src = join(PROJECT, "src");
  const labels = [...new Bun.Glob("**/*.ts").scanSync(src)]
    .filter((file) => !/\.test\.ts$|\/testing\//.test(file))
    .flatMap((file) => [...readFileSync(join(src, file), "utf8").matchAll(/\bderive\(\s*["`]([^"`$]+)/g)])
    .map(([, label = ""]) => label.trim());
  expect([...new Set(labels)].sort()).toEqual(Object.keys(DERIVED_KEYS).sort());
  expect(Object.keys(ids).sort()).toEqual(Object.keys(MADE_BY).sort());
  const names = CREDENTIALS.map(({ name }) => name);
  for (const name of [...Object.values(DERIVED_KEYS), ...Object.values(MADE_BY)])
    if (name !== undefined) expect(names).toContain(name);
});
