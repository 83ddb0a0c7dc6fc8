/**
 * Tests the model test: each of these bugs is planted in a copy of the sources, and the model test must find it there.
 * sh bin/dev test/model/mutants.ts [parts of the names] [--seed N]
 * Exits with 1 if one is not caught within STEPS.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BUGS, type Bug } from "./bugs.ts";
import { RULES_BUGS } from "./rules-bugs.ts";

const STEPS = 40_000;

const { values, positionals } = parseArgs({
  options: { seed: { type: "string", default: "1" } },
  allowPositionals: true,
});
const chosen = [...BUGS, ...RULES_BUGS].filter(({ name }) => positionals.every((part) => name.includes(part)));
const folder = mkdtempSync(join(tmpdir(), "parley-mutants-"));
let survivors = 0;
try {
  for (const [at, mutant] of chosen.entries()) {
    const result = await tried(mutant, join(folder, String(at)));
    if (result === undefined) survivors++;
    console.log(`${mutant.name}: ${result ?? `NOT CAUGHT in ${STEPS} steps`}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
console.log(`\n${chosen.length - survivors} of ${chosen.length} caught, seed ${values.seed}`);
process.exit(survivors === 0 && chosen.length > 0 ? 0 : 1);

/** How the bug was caught; undefined: it was not. */
async function tried(mutant: Bug, copy: string): Promise<string | undefined> {
  cpSync("src", join(copy, "src"), { recursive: true });
  for (const part of ["model", "support"]) cpSync(join("test", part), join(copy, "test", part), { recursive: true });
  for (const file of ["package.json", "tsconfig.json"]) cpSync(file, join(copy, file));
  symlinkSync(join(process.cwd(), "node_modules"), join(copy, "node_modules"));
  const path = join(copy, mutant.file);
  const parts = readFileSync(path, "utf8").split(mutant.find);
  if (parts.length !== 2) throw new Error(`"${mutant.name}": its text is ${parts.length - 1} times in ${mutant.file}`);
  writeFileSync(path, parts.join(mutant.replace));
  const world = mutant.world ?? "plain";
  const args = [
    "test/model/run.ts",
    "--here",
    "--brief",
    "--world",
    world,
    "--steps",
    String(STEPS),
    "--seed",
    values.seed,
  ];
  const child = Bun.spawn([process.execPath, "--no-env-file", ...args], {
    cwd: copy,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) === 0) return undefined;
  const caught = /^a counter-example (after \d+ steps: .*)/m.exec(errors);
  // A copy that does not even start would look like a bug that was caught.
  if (!caught) throw new Error(`"${mutant.name}" ended in another way:\n${output}${errors}`);
  return `caught ${caught[1]}`;
}
