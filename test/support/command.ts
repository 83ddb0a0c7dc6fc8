/** How tests start Parley: from its sources, or from the bundle that `npm test` makes of them once (service-bundle.ts). */
import { join } from "node:path";

const SOURCES = join(import.meta.dir, "../../src/main.ts");

export const PARLEY_MAIN = process.env.PARLEY_TEST_MAIN || SOURCES;

/** How `npm test` has Bun compile, for processes that get no other variables of this one. */
export const OF_BUN: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) => (name.startsWith("BUN_JSC_") && value ? [[name, value]] : [])),
);

export const parleyCommand = (...args: readonly string[]): string[] => commandOf(PARLEY_MAIN, args);

/** For a process that changes modules of the service before they are used: a bundle has none. */
export const sourcesCommand = (...args: readonly string[]): string[] => commandOf(SOURCES, args);

const commandOf = (main: string, args: readonly string[]): string[] => [
  process.execPath,
  "--no-env-file",
  main,
  ...args,
];
