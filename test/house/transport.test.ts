/** The node protocol runs on any transport: only the files of one know NATS. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { declarationsOf, sourcesIn } from "../support/declarations.ts";

const SRC = join(import.meta.dir, "../../src");
const importing = (pattern: string, imported: RegExp): string[] =>
  [...new Bun.Glob(pattern).scanSync(SRC)]
    .filter((file) => imported.test(readFileSync(join(SRC, file), "utf8")))
    .sort();

test("only the NATS transport imports the NATS client", () => {
  const [transport] = declarationsOf("NatsTransport", sourcesIn("src"));
  const file = transport?.file ?? "";
  const own = [file, file.replace(/\.ts$/, "/socket.ts")];
  expect(importing("**/*.ts", /from "@nats-io\//).map((one) => `src/${one}`)).toEqual(own);
});

test("the node protocol imports the contract of transports, and no transport", () => {
  expect(importing("engine/cluster/**/*.ts", /from "(?:\.\.\/)+transport\/(?!transport\.ts")/)).toEqual([]);
});
