/** How tests start Parley: from its sources, or from the bundle that `npm test` makes of them once (service-bundle.ts). */
import { join } from "node:path";

export const PARLEY_MAIN = process.env.PARLEY_TEST_MAIN || join(import.meta.dir, "../../src/main.ts");

export const parleyCommand = (...args: readonly string[]): string[] => [
  process.execPath,
  "--no-env-file",
  PARLEY_MAIN,
  ...args,
];
