/** The imports of src/, web/ and client/, and the order of their folders as the READMEs say it. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

export const ROOT = join(import.meta.dir, "..");

/** What is not of the product: tests, their support, and what is built or applied as data. */
const isProduct = (file: string): boolean =>
  !/\.test\.tsx?$|(^|\/)(testing|node_modules|\.build|dist)\//.test(file) && !file.endsWith("vite.config.ts");

/** All source files of the product, relative to the root. */
export const FILES: readonly string[] = ["src", "web", "client/src"]
  .flatMap((folder) => [...new Bun.Glob(`${folder}/**/*.{ts,tsx}`).scanSync(ROOT)])
  .filter(isProduct)
  .sort();

const isFile = new Set(FILES);

/** The files of the product that each file imports, types included. */
export const IMPORTS: ReadonlyMap<string, readonly string[]> = new Map(
  FILES.map((file) => [file, importsOf(file).filter((target) => isFile.has(target))]),
);

function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  const targets = [...text.matchAll(/(?:from|import) "(\.[^"]+\.tsx?)"/g)].map(([, target = ""]) =>
    relative(ROOT, join(ROOT, dirname(file), target)),
  );
  return [...new Set(targets)];
}

/** Groups of files that import each other in a circle (Tarjan's strongly connected components). */
export function circles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const found: string[][] = [];
  const visit = (file: string): number => {
    const own = index.size;
    index.set(file, own);
    let low = own;
    stack.push(file);
    onStack.add(file);
    for (const target of imports.get(file) ?? []) {
      if (!index.has(target)) low = Math.min(low, visit(target));
      else if (onStack.has(target)) low = Math.min(low, index.get(target) ?? low);
    }
    lowest.set(file, low);
    if (low === own) {
      const circle = stack.splice(stack.lastIndexOf(file));
      for (const one of circle) onStack.delete(one);
      if (circle.length > 1) found.push(circle.sort());
    }
    return low;
  };
  for (const file of imports.keys()) if (!index.has(file)) visit(file);
  return found;
}

/** Stands for the files of a folder itself, in the list of its folders. */
const OWN_FILES = "*.ts";

/** Folders with folders of the product inside. */
export const PARENTS: readonly string[] = [...new Set(FILES.map((file) => dirname(dirname(file))))]
  .filter((folder) => !["src", "web", "client", "."].includes(folder))
  .sort();

/** The folders inside a folder, lowest first, as its README lists them; `undefined` if it has no such list. */
export function orderOf(folder: string): readonly string[] | undefined {
  const readme = join(ROOT, folder, "README.md");
  const list = existsSync(readme)
    ? readFileSync(readme, "utf8").split("\n## Folders, lowest first\n")[1]?.split("\n## ")[0]
    : undefined;
  if (list === undefined) return undefined;
  return [...list.matchAll(/^- `([^`]+?)\/?`: .+$/gm)].map(([, name = ""]) => name);
}

/** Which entry of the list a file belongs to. */
export function placeIn(folder: string, file: string): string {
  const [first = "", ...rest] = relative(folder, file).split("/");
  return rest.length === 0 ? OWN_FILES : first;
}

/** The folders of the product that are inside a folder. */
export function foldersIn(folder: string): string[] {
  const names = FILES.filter((file) => file.startsWith(`${folder}/`)).map((file) => placeIn(folder, file));
  return [...new Set(names)].sort();
}

/** How many source files a folder has of its own. */
export const ownFileCount = (folder: string): number =>
  readdirSync(join(ROOT, folder)).filter((name) => isFile.has(join(folder, basename(name)))).length;
