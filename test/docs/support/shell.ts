/** Runs blocks of shell as a user pastes them: in one shell, one command after the other, with separate output per command. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeFolder, tempFolder } from "../../support/temp.ts";
import { Child, run } from "./child.ts";
import { commands, PROJECT } from "./page.ts";

export interface Outcome {
  readonly command: string;
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export async function paste(script: string, env: Readonly<Record<string, string>>, cwd = PROJECT): Promise<Outcome[]> {
  const folder = tempFolder();
  const all = commands(script);
  const lines = all.map(
    (command, at) => `{ ${command}\n} >"$KEEP/${at}.out" 2>"$KEEP/${at}.err" </dev/null; echo $? >"$KEEP/${at}.code"`,
  );
  const file = join(folder, "script.sh");
  writeFileSync(file, `${lines.join("\n")}\n`);
  const { err } = await run(["sh", file], { cwd, env: { ...env, KEEP: folder } });
  if (err !== "") throw new Error(`the shell complains: ${err}`);
  const kept = (at: number, what: string): string => readFileSync(join(folder, `${at}.${what}`), "utf8");
  const outcomes = all.map((command, at) => ({
    command,
    code: Number(kept(at, "code")),
    out: kept(at, "out"),
    err: kept(at, "err"),
  }));
  removeFolder(folder);
  return outcomes;
}

/** Runs a block whose last command keeps running. That command replaces the shell, so that it ends with the test. */
export function stay(script: string, env: Readonly<Record<string, string>>, cwd = PROJECT): Child {
  const all = commands(script);
  return new Child(["sh", "-c", [...all.slice(0, -1), `exec ${all.at(-1)}`].join("\n")], { cwd, env });
}

/** Which command is expected, and what must hold for its outcome. */
export interface Expected {
  readonly command: RegExp;
  readonly holds: (outcome: Outcome) => void;
}

/** Compares commands and expectations one to one, so that a command added to a page fails until it is tested. */
export function hold(outcomes: readonly Outcome[], expected: readonly Expected[]): void {
  for (const [at, outcome] of outcomes.entries()) {
    const one = expected[at];
    if (!one?.command.test(outcome.command)) throw new Error(`nothing is expected of: ${outcome.command}`);
    if (outcome.code !== 0)
      throw new Error(`${outcome.command}\nended with ${outcome.code}: ${outcome.err}${outcome.out}`);
    one.holds(outcome);
  }
  const missing = expected[outcomes.length];
  if (missing) throw new Error(`there is no command for ${missing.command}`);
}
