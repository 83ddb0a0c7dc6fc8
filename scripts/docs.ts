/** `npm run docs [-- --out FOLDER]`: the pages of docs/ as a static site. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { readDocs } from "../src/http/docs/read.ts";
import { renderDocs } from "../src/http/docs/render.ts";
import { SEARCH_SCRIPT } from "../src/http/docs/site.ts";
import { filesInFolder, inFolder } from "../src/http/docs/static.ts";
import { loadBundle } from "../src/http/pages/bundle.ts";

const DEFAULT_OUT = "docs-site";

/** Removes the site of an earlier run, and nothing else. */
function clear(folder: string): void {
  if (!existsSync(folder) || readdirSync(folder).length === 0) return;
  if (!existsSync(join(folder, SEARCH_SCRIPT)))
    throw new Error(`${folder} has files that are not of an earlier site: name an empty folder with --out`);
  rmSync(folder, { recursive: true });
}

async function write(folder: string): Promise<number> {
  const { pages, assets } = await loadBundle();
  const shell = pages.docs;
  const files = filesInFolder(renderDocs(readDocs(), inFolder(shell)));
  for (const [name, { text }] of assets) if (shell.includes(`/assets/${name}`)) files.set(`assets/${name}`, text);
  files.delete("assets/recover.js");
  clear(folder);
  for (const [name, body] of files) {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, body);
  }
  return files.size;
}

try {
  const { values } = parseArgs({ options: { out: { type: "string", default: DEFAULT_OUT } } });
  const folder = resolve(values.out);
  const count = await write(folder);
  console.log(`${count} files in ${folder}: open ${join(folder, "index.html")}`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
