/** Plants a bug in the sources: in the class, function or constant that it names, whichever file has that. */
import { declarationsOf, type Sources } from "../support/declarations.ts";
import type { Bug } from "./bugs.ts";

/** The file that a bug changes, and its text with the bug. Throws unless the bug's text is exactly once in what it names. */
export function planted({ name, in: symbol, find, replace }: Bug, sources: Sources): { file: string; text: string } {
  const declarations = declarationsOf(symbol, sources);
  if (declarations.length === 0) throw new Error(`"${name}": no source declares ${symbol}`);
  const changed = declarations.flatMap(({ file, before, text, after }) => {
    const parts = text.split(find);
    return parts.slice(1).map(() => ({ file, text: before + parts.join(replace) + after }));
  });
  const [only] = changed;
  if (only && changed.length === 1) return only;
  const files = declarations.map(({ file }) => file).join(" and ");
  throw new Error(`"${name}": its text is ${changed.length} times in ${symbol} of ${files}; it must be there once`);
}
