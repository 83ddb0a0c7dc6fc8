/** Draws the picture of docs/architecture.md from the imports of the code: `sh bin/dev scripts/architecture.ts` writes it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FILES, IMPORTS, ROOT } from "./import-graph.ts";

const PAGE = join(ROOT, "docs/architecture.md");
const BEGIN =
  "<!-- Drawn from the imports by `sh bin/dev scripts/architecture.ts`; a test compares the two. -->\n```mermaid\n";
const END = "```\n";

/** What people run, build on or look at is drawn with a border of its own. */
const ENTRIES = new Set(["cli", "web", "client"]);

/** `src/realtime/hub.ts` → `realtime`; `undefined` for main.ts and version.ts, which only start and name the program. */
function partOf(file: string): string | undefined {
  const [top = "", part = "", ...rest] = file.split("/");
  if (top !== "src") return top;
  return rest.length > 0 ? part : undefined;
}

function importsOfParts(): Map<string, Set<string>> {
  const parts = new Map<string, Set<string>>();
  for (const file of FILES) {
    const from = partOf(file);
    if (from === undefined) continue;
    const targets = parts.get(from) ?? new Set<string>();
    parts.set(from, targets);
    for (const target of IMPORTS.get(file) ?? []) {
      const to = partOf(target);
      if (to !== undefined && to !== from) targets.add(to);
    }
  }
  return parts;
}

/** Whether `to` can be reached from `from` over at least one part between them. */
function isImplied(parts: ReadonlyMap<string, ReadonlySet<string>>, from: string, to: string): boolean {
  const seen = new Set<string>();
  const visit = (part: string): boolean => {
    if (seen.has(part)) return false;
    seen.add(part);
    return [...(parts.get(part) ?? [])].some((next) => next === to || visit(next));
  };
  return [...(parts.get(from) ?? [])].some((next) => next !== to && visit(next));
}

/** An arrow for each import between parts, without those that follow from others. */
export function picture(): string {
  const parts = importsOfParts();
  const names = [...parts.keys()].sort();
  const nodes = names.map((name) => `  ${name}${ENTRIES.has(name) ? `([${name}])` : `[${name}]`}`);
  const arrows = names.flatMap((from) =>
    [...(parts.get(from) ?? [])]
      .filter((to) => !isImplied(parts, from, to))
      .sort()
      .map((to) => `  ${from} --> ${to}`),
  );
  return `flowchart TD\n${[...nodes, ...arrows].join("\n")}\n`;
}

/** The page with the picture as it should be. */
export function pageWithPicture(): string {
  const page = readFileSync(PAGE, "utf8");
  const start = page.indexOf(BEGIN) + BEGIN.length;
  if (start < BEGIN.length) throw new Error("docs/architecture.md has no place for the picture");
  return page.slice(0, start) + picture() + page.slice(page.indexOf(END, start));
}

if (import.meta.main) await Bun.write(PAGE, pageWithPicture());
