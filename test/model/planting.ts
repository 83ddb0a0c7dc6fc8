/**
 * Plants a bug in the sources. A bug names the class, function or constant that it changes, not a file: files may be moved and
 * split without a change here.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Bug } from "./bugs.ts";

/** Texts by path from the root of the project. */
export type Sources = ReadonlyMap<string, string>;

/** The sources of the service below a root, without tests and their support. */
export function sourcesOf(root: string): Sources {
  const files = [...new Bun.Glob("src/**/*.ts").scanSync(root)].filter((file) => !/\.test\.ts$|\/testing\//.test(file));
  return new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")]));
}

/** The file that a bug changes, and its text with the bug. Throws unless the bug's text is exactly once in what it names. */
export function planted({ name, in: symbol, find, replace }: Bug, sources: Sources): { file: string; text: string } {
  const declarations = [...sources].flatMap(([file, text]) =>
    declarationsOf(symbol, text).map((declaration) => ({ file, ...declaration })),
  );
  if (declarations.length === 0) throw new Error(`"${name}": no file of src declares ${symbol}`);
  const changed = declarations.flatMap(({ file, before, text, after }) => {
    const parts = text.split(find);
    return parts.slice(1).map(() => ({ file, text: before + parts.join(replace) + after }));
  });
  const [only] = changed;
  if (only && changed.length === 1) return only;
  const files = declarations.map(({ file }) => file).join(" and ");
  throw new Error(`"${name}": its text is ${changed.length} times in ${symbol} of ${files}; it must be there once`);
}

/** The declarations of a name at the top level of a file, each with what is before and after it. */
function declarationsOf(symbol: string, source: string): { before: string; text: string; after: string }[] {
  const start = new RegExp(
    String.raw`^(?:export )?(?:abstract )?(?:async )?(?:class|function\*?|const) ${symbol}\b`,
    "gm",
  );
  return [...source.matchAll(start)].map(({ 0: head, index }) => {
    const from = index + head.length;
    // Its lines are indented, or begin with a bracket that closes; the next declaration, or its comment, is neither.
    const next = source.slice(from).search(/\n(?![\s)}\]])/);
    const end = next === -1 ? source.length : from + next;
    return { before: source.slice(0, index), text: source.slice(index, end), after: source.slice(end) };
  });
}
