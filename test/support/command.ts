/**
 * How tests start Parley: from its sources, from the bundle that `npm test` makes of them once (service-bundle.ts), or as the single
 * executable that PARLEY_TEST_EXECUTABLE names.
 */
import { join } from "node:path";

const SOURCES = join(import.meta.dir, "../../src/main.ts");

/**
 * For XDG_RUNTIME_DIR: a folder of the own user in which nothing can be made, so that services are not noted for commands in other folders,
 * and commands do not find those of other tests. Tests of that have folders of their own.
 */
export const NO_RUNTIME_FOLDER = "/proc/self";

export const PARLEY_MAIN = process.env.PARLEY_TEST_MAIN || SOURCES;

const { PARLEY_TEST_EXECUTABLE: EXECUTABLE } = process.env;

export const parleyCommand = (...args: readonly string[]): string[] =>
  EXECUTABLE ? [EXECUTABLE, ...args] : commandOf(PARLEY_MAIN, args);

/** For a process that changes modules of the service before they are used: a bundle has none. */
export const sourcesCommand = (...args: readonly string[]): string[] => commandOf(SOURCES, args);

export const commandOf = (main: string, args: readonly string[]): string[] => [
  process.execPath,
  "--no-env-file",
  main,
  ...args,
];
