/** Reads the files of the documentation from the project's folder. The only place that does. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { catalogOf } from "./catalog.ts";
import type { DocsSources } from "./site.ts";

const ROOT = join(import.meta.dir, "../../..");
const TEXT = /\.(md|yaml)$/;

/** What is missing is left out: a package or an image may have been made without it. */
export function readDocs(root = ROOT): DocsSources {
  const files = new Map<string, string | Uint8Array<ArrayBuffer>>();
  const read = (file: string): void => {
    const path = join(root, file);
    if (statSync(path, { throwIfNoEntry: false })?.isFile())
      files.set(file, TEXT.test(file) ? readFileSync(path, "utf8") : new Uint8Array(readFileSync(path)));
  };
  read("README.md");
  for (const file of namesIn(join(root, "docs"))) read(`docs/${file}`);
  const readme = String(files.get("README.md") ?? "");
  for (const { entries } of catalogOf(readme, () => true))
    for (const { file } of entries) if (!files.has(file)) read(file);
  return files;
}

function namesIn(folder: string): string[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return (readdirSync(folder, { recursive: true }) as string[]).sort();
}
