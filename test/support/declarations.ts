/**
 * Finds code by the name of a class, function, constant or type, for tests that read or change sources: they need no edit when a
 * file is moved or split.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Texts by path. */
export type Sources = ReadonlyMap<string, string>;

export interface Declaration {
  readonly file: string;
  readonly text: string;
  /** The rest of the file. */
  readonly before: string;
  readonly after: string;
}

/** The sources in a folder of a project, by path from its root; without tests and their support. */
export function sourcesIn(folder: string, root = join(import.meta.dir, "../..")): Sources {
  const files = [...new Bun.Glob(`${folder}/**/*.{ts,tsx}`).scanSync(root)].sort();
  const product = files.filter((file) => !/\.test\.tsx?$|(^|\/)(testing|node_modules)\//.test(file));
  return new Map(product.map((file) => [file, readFileSync(join(root, file), "utf8")]));
}

/** All declarations of a name at the top level of a file. */
export function declarationsOf(name: string, sources: Sources): Declaration[] {
  const start = new RegExp(
    String.raw`^(?:export )?(?:abstract )?(?:async )?(?:class|function\*?|const|type|interface) ${name}\b`,
    "gm",
  );
  return [...sources].flatMap(([file, source]) =>
    [...source.matchAll(start)].map(({ 0: head, index }) => {
      const end = endOf(source, index + head.length);
      return { file, text: source.slice(index, end), before: source.slice(0, index), after: source.slice(end) };
    }),
  );
}

/** The text of the only declaration of a name. Throws if there is none, or another one. */
export function declarationOf(name: string, sources: Sources): string {
  const found = declarationsOf(name, sources);
  const [only] = found;
  if (!only) throw new Error(`no source declares ${name}`);
  if (found.length > 1) throw new Error(`${name} is declared in ${found.map(({ file }) => file).join(" and ")}`);
  return only.text;
}

/** The lines of a declaration are indented, or begin with a bracket that closes. What follows it, or its comment, is neither. */
function endOf(source: string, from: number): number {
  const next = source.slice(from).search(/\n(?![\s)}\]])/);
  return next === -1 ? source.length : from + next;
}
