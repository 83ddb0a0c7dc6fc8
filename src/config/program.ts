/** How the user calls this program: `bin/parley` in a clone, `parley` where the package is installed. */

/** Set by bin/parley. */
export const PROGRAM_VARIABLE = "PARLEY_PROGRAM";

/** As one word of a command line that a user can paste. */
export const asShellWord = (text: string): string =>
  /^[\w./~+@%:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

export const PROGRAM = asShellWord(process.env[PROGRAM_VARIABLE] || "parley");

/**
 * Messages name commands as `parley keys list`. This turns them into what the user can paste, from where the user is.
 * Only names at the beginning of a command are meant: in quotes, in parentheses, behind a pipe, or at the beginning of a line.
 */
export const asCalled = (text: string, program = PROGRAM): string =>
  text.replaceAll(/(?<=^|["`(]|\| )parley (?=[a-z])/gm, `${program} `);
