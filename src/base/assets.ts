/**
 * Files that the program reads while it runs: migrations, built pages, documentation, licences. In a checkout and in an installed package
 * they are in the project's folder. The executable that scripts/build makes has them inside, under the same names.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** In an executable, node:fs reads what is embedded beside the program. */
const ROOT = Bun.isStandaloneExecutable ? dirname(Bun.main) : join(import.meta.dir, "../..");

/** `name` is a path in the project, such as `docs/cli.md`. Only files that scripts/build/contents.ts lists are in an executable. */
export const assetPath = (name: string): string => join(ROOT, name);

export const readAsset = (name: string): string => readFileSync(assetPath(name), "utf8");

/** The names in a folder of the project, sorted. */
export const assetsIn = (folder: string): string[] => readdirSync(assetPath(folder)).sort();
