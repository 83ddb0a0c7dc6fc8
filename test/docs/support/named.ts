/** What a page names: commands, flags, variables, metrics and files. */
import { blocks, readPage } from "./page.ts";

/** Everything on a page that is set as code: spans in the text, and the lines of fenced blocks with continued lines joined. */
export function codeOn(page: string): string[] {
  const spans = [...proseOf(page).matchAll(/(`+)(.+?)\1/g)].map(([, , code = ""]) => code.trim());
  const lines = blocks(page).flatMap(({ text }) => text.replaceAll("\\\n", " ").split("\n"));
  return [...spans, ...lines.filter((line) => !line.trimStart().startsWith("#"))];
}

/** A page without its fenced blocks. */
export const proseOf = (page: string): string => readPage(page).replace(/^ *```[\s\S]*?^ *```/gm, "");

/** The arguments behind each `name` in a piece of shell, up to the end of that command: `parley apps list | head` is one. */
export function callsOf(name: RegExp, code: string): string[][] {
  const calls: string[][] = [];
  for (const match of code.matchAll(new RegExp(`(?<=^|[\\s(])(?:${name.source})(?= |$)`, "g")))
    calls.push(shellWords(code.slice(match.index + match[0].length)));
  return calls;
}

/** As a shell splits them: quotes are removed, `$(…)` is one value, and an operator or a comment ends the command. */
function shellWords(text: string): string[] {
  const found: string[] = [];
  const token = /\s*(?:([|;&()<>#])|((?:'[^']*'|"[^"]*"|\$\([^)]*\)|[^\s'"|;&()<>])+))/gy;
  for (let next = token.exec(text); next?.[2] !== undefined; next = token.exec(text))
    found.push(next[2].replace(/'([^']*)'|"([^"]*)"/g, "$1$2"));
  return found;
}
