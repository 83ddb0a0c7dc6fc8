/** What the files of a data folder take. Recordings are not among them: the store knows how many bytes they have. */
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DurableFile } from "../inventory/entry.ts";
import { DATA_FILES } from "../inventory/files.ts";

/** A folder of copies may hold anything that an operator puts there. */
const ENTRIES_MAX = 1000;

export interface FilesAmount {
  readonly count: number;
  readonly bytes: number;
}

export interface FolderAmounts {
  readonly secrets: FilesAmount;
  readonly copies: FilesAmount;
  readonly histories: FilesAmount;
  /** All of these, and other small files. */
  readonly all: FilesAmount;
}

/** Reads names and sizes of a few files. What cannot be read counts as nothing. */
export function amountsIn(dataFolder: string): FolderAmounts {
  const amountOf = (isWanted: (file: DurableFile) => boolean): FilesAmount =>
    DATA_FILES.filter(isWanted)
      .flatMap(({ paths }) => paths.flatMap((pattern) => sizesOf(dataFolder, pattern)))
      .reduce((sum, bytes) => ({ count: sum.count + 1, bytes: sum.bytes + bytes }), { count: 0, bytes: 0 });
  return {
    secrets: amountOf(({ subject }) => subject === "secrets"),
    copies: amountOf(({ subject }) => subject === "copies"),
    histories: amountOf(({ paths }) => paths.includes("history.sqlite")),
    all: amountOf(({ paths, subject }) => subject !== "tables" && !paths[0]?.startsWith("recordings/")),
  };
}

/** The sizes of the files that a pattern matches; one of a folder is the sum of what is in it. */
function sizesOf(dataFolder: string, pattern: string): number[] {
  const folder = dirname(pattern);
  if (folder.includes("*")) return [];
  const glob = new Bun.Glob(pattern);
  return namesIn(join(dataFolder, folder)).flatMap((name) => {
    const path = folder === "." ? name : `${folder}/${name}`;
    return glob.match(path) ? [sizeOf(join(dataFolder, path))] : [];
  });
}

function sizeOf(path: string): number {
  try {
    const found = statSync(path);
    if (!found.isDirectory()) return found.size;
    return namesIn(path).reduce(
      (sum, name) => sum + (statSync(join(path, name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
  } catch {
    return 0;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).slice(0, ENTRIES_MAX);
  } catch {
    return [];
  }
}
