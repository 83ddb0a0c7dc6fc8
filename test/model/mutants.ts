/**
 * Tests the model test: each of these bugs is planted in a copy of the sources, and the model test must find it there.
 * sh bin/dev test/model/mutants.ts [parts of the names] [--seed N] [--steps N]
 * The sources as they are go the same walks first: a fault that they have too does not count. Exits with 1 if a bug is not caught.
 */
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { sourcesIn } from "../support/declarations.ts";
import { BUGS, type Bug } from "./bugs.ts";
import { planted } from "./planting.ts";
import { RULES_BUGS } from "./rules-bugs.ts";
import { type Kind, sortOf } from "./walks.ts";

/** On these walks every bug is found, and nothing else. */
const SEEDS: Readonly<Record<Kind, string>> = { plain: "1", rules: "8303" };

interface Fault {
  readonly steps: string;
  readonly message: string;
  /** The message without names and numbers. */
  readonly sort: string;
}

const { values, positionals } = parseArgs({
  options: { seed: { type: "string" }, steps: { type: "string", default: "40000" } },
  allowPositionals: true,
});
const chosen = [...BUGS, ...RULES_BUGS].filter(({ name }) => positionals.every((part) => name.includes(part)));
const folder = mkdtempSync(join(tmpdir(), "parley-mutants-"));
/** By kind of world: the fault that the sources have as they are, if any. */
const unplanted = new Map<Kind, Fault | undefined>();
let survivors = 0;
try {
  for (const [at, mutant] of chosen.entries()) {
    const result = await tried(mutant, join(folder, String(at)));
    if (result === undefined) survivors++;
    console.log(`${mutant.name}: ${result ?? `NOT CAUGHT in ${values.steps} steps`}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
console.log(`\n${chosen.length - survivors} of ${chosen.length} caught, seed ${values.seed ?? JSON.stringify(SEEDS)}`);
process.exit(survivors === 0 && chosen.length > 0 ? 0 : 1);

/** How the bug was caught; undefined: it was not. */
async function tried(mutant: Bug, copy: string): Promise<string | undefined> {
  const world = mutant.world ?? "plain";
  const before = await faultOfSources(world);
  copySources(copy);
  const { file, text } = planted(mutant, sourcesIn("src", copy));
  writeFileSync(join(copy, file), text);
  const fault = await faultIn(copy, world);
  // A fault that is there without the bug says nothing about the bug. That it comes later or earlier is not the bug's doing either.
  if (!fault || fault.sort === before?.sort) return undefined;
  return `caught after ${fault.steps} steps: ${fault.message}`;
}

/** The same walks without a planted bug, once for each kind of world. */
async function faultOfSources(world: Kind): Promise<Fault | undefined> {
  if (unplanted.has(world)) return unplanted.get(world);
  const copy = join(folder, world);
  copySources(copy);
  const fault = await faultIn(copy, world);
  if (fault) console.log(`Without a planted bug, ${world}: after ${fault.steps} steps: ${fault.message}`);
  unplanted.set(world, fault);
  return fault;
}

function copySources(copy: string): void {
  cpSync("src", join(copy, "src"), { recursive: true });
  for (const part of ["model", "support"]) cpSync(join("test", part), join(copy, "test", part), { recursive: true });
  for (const file of ["package.json", "tsconfig.json"]) cpSync(file, join(copy, file));
  symlinkSync(join(process.cwd(), "node_modules"), join(copy, "node_modules"));
}

/** The fault that the walks find in a copy of the sources. */
async function faultIn(copy: string, world: Kind): Promise<Fault | undefined> {
  const options = { world, steps: values.steps, seed: values.seed ?? SEEDS[world] };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const command = [process.execPath, "--no-env-file", "test/model/run.ts", "--here", "--brief", ...args];
  const child = Bun.spawn(command, { cwd: copy, stdio: ["ignore", "pipe", "pipe"] });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) === 0) return undefined;
  const [, steps = "", message = ""] = /^a counter-example after (\d+) steps: (.*)/m.exec(errors) ?? [];
  // A copy that does not even start would look like a bug that was caught.
  if (message === "") throw new Error(`the walks in ${copy} ended in another way:\n${output}${errors}`);
  return { steps, message, sort: sortOf({ message }) };
}
