/** Reads the files of the documentation from the project's folder, or from the executable. The only place that does. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { assetPath } from "../../base/assets.ts";
import { catalogOf } from "./catalog.ts";
import type { DocsSources } from "./site.ts";

const TEXT = /\.(md|yaml)$/;

/** What is missing is left out: a package or an image may have been made without it. */
export function readDocs(root = assetPath(".")): DocsSources {
  const files = new Map<string, string | Uint8Array<ArrayBuffer>>();
  const read = (file: string): void => {
    const bytes = ifThere(() => readFileSync(join(root, file)));
    if (bytes) files.set(file, TEXT.test(file) ? bytes.toString("utf8") : new Uint8Array(bytes));
  };
  read("README.md");
  for (const file of filesIn(root, "docs")) read(file);
  const readme = String(files.get("README.md") ?? "");
  for (const { entries } of catalogOf(readme, () => true))
    for (const { file } of entries) if (!files.has(file)) read(file);
  return files;
}

/** Names of folders have no dot. Not read by `recursive`: that needs a real file system. */
const filesIn = (root: string, folder: string): string[] =>
  (ifThere(() => readdirSync(join(root, folder))) ?? [])
    .sort()
    .flatMap((name) => (name.includes(".") ? [`${folder}/${name}`] : filesIn(root, `${folder}/${name}`)));

function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
