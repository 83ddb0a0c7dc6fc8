/** How the user calls this program: `bin/parley` in a clone, `parley` where the package is installed, or the name of the single executable. */
import { realpathSync } from "node:fs";

/** Set by bin/parley, and for workers, whose supervisor a user has called. */
export const PROGRAM_VARIABLE = "PARLEY_PROGRAM";

/** As one word of a command line that a user can paste. */
export const asShellWord = (text: string): string =>
  /^[\w./~+@%:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** As it was called now, unless `parley` in the path is the same file. */
function executableName(): string {
  const inPath = Bun.which("parley");
  return inPath !== null && realpathSync(inPath) === process.execPath ? "parley" : process.argv0;
}

export const CALLED_AS: string =
  process.env[PROGRAM_VARIABLE] || (Bun.isStandaloneExecutable ? executableName() : "parley");

/** The only name that is typed as two arguments: bin/parley gives it where npm has started it. */
const IS_NPX = /^npx [\w-]+$/.test(CALLED_AS);

export const PROGRAM = IS_NPX ? CALLED_AS : asShellWord(CALLED_AS);

/**
 * Messages name commands as `parley keys list`. This turns them into what the user can paste, from where the user is.
 * Only names at the beginning of a command are meant: in quotes, in parentheses, behind a pipe, or at the beginning of a line.
 */
export const asCalled = (text: string, program = PROGRAM): string =>
  text.replaceAll(/(?<=^|["`(]|\| )parley (?=[a-z])/gm, `${program} `);
