/** What an executable has inside besides its code, under the same names as in the project (src/base/assets.ts). */
import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { LICENCES, licences } from "../../src/cli/commands/about/licences.ts";
import { BUILT_PAGES, builtPages } from "../../src/http/pages/bundle.ts";
import { ROOT } from "../import-graph.ts";

/** Folders and files of the project, as they are. */
const COPIED = [
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "LICENSE",
  "README.md",
  "SECURITY.md",
  "deploy/README.md",
  "docs",
  "src/history/postgres/migrations",
  "src/store/migrations",
];

/** Made for the executable. */
const MADE: readonly (readonly [name: string, text: () => string | Promise<string>])[] = [
  [BUILT_PAGES, builtPages],
  [LICENCES, () => JSON.stringify(licences())],
];

/** Lays it out in an empty folder. Returns the entries of that folder, because the bundler embeds each under its last name. */
export async function layContents(folder: string): Promise<string[]> {
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  for (const [name, text] of MADE) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), await text());
  }
  return readdirSync(folder)
    .sort()
    .map((name) => join(folder, name));
}
