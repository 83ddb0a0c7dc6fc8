/** Reads pages of the documentation and finds their fenced blocks. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const PROJECT = join(import.meta.dir, "../../..");

export interface Block {
  readonly language: string;
  readonly text: string;
  /** The nearest heading above the block. */
  readonly heading: string;
}

export const readPage = (path: string): string => readFileSync(join(PROJECT, path), "utf8");

/** The fenced blocks of a page, in order. */
export function blocks(path: string): Block[] {
  const found: Block[] = [];
  let heading = "";
  let open: { language: string; lines: string[]; indent: number } | undefined;
  for (const written of readPage(path).split("\n")) {
    // In a list they are indented.
    const fence = /^ *```(\w*)/.exec(written);
    const line = open ? written.slice(open.indent) : written;
    if (open && fence) {
      found.push({ language: open.language, text: `${open.lines.join("\n")}\n`, heading });
      open = undefined;
    } else if (open) open.lines.push(line);
    else if (fence) open = { language: fence[1] ?? "", lines: [], indent: written.indexOf("`") };
    else heading = /^#+ (.+)/.exec(line)?.[1] ?? heading;
  }
  if (open) throw new Error(`${path}: a block is not closed`);
  return found;
}

/** The only block of that language under that heading. */
export function block(path: string, language: string, heading?: string): string {
  const fitting = blocks(path).filter(
    (one) => one.language === language && (heading === undefined || one.heading === heading),
  );
  const [only] = fitting;
  if (!only || fitting.length > 1)
    throw new Error(`${path} has ${fitting.length} blocks of ${language}${heading ? ` under "${heading}"` : ""}`);
  return only.text;
}

/**
 * Splits a block of shell into commands. A command ends with its line, unless the line ends in a backslash or inside quotes.
 * Comment lines are dropped.
 */
export function commands(script: string): string[] {
  const all: string[] = [];
  let current = "";
  for (const line of script.split("\n")) {
    if (current === "" && (line.trim() === "" || line.startsWith("#"))) continue;
    current += `${line}\n`;
    const quotes = current.replace(/\\./g, "").match(/'/g)?.length ?? 0;
    if (line.endsWith("\\") || quotes % 2 === 1) continue;
    all.push(current.trimEnd());
    current = "";
  }
  if (current !== "") throw new Error(`a command is not complete: ${current}`);
  return all;
}
