/** docs/architecture.md shows the code as it is. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pageWithPicture, picture } from "../../scripts/architecture.ts";
import { FILES, ROOT } from "../../scripts/import-graph.ts";

test("the picture of docs/architecture.md is current (sh bin/dev scripts/architecture.ts draws it)", () => {
  expect(readFileSync(join(ROOT, "docs/architecture.md"), "utf8")).toBe(pageWithPicture());
});

test("every part is in the picture, and only the lowest have no arrow", () => {
  const drawn = picture();
  const parts = new Set(FILES.flatMap((file) => (/^src\/[^/]+\//.test(file) ? [file.split("/")[1] ?? ""] : [])));
  expect([...parts].filter((part) => !drawn.includes(`  ${part}`))).toEqual([]);
  const withoutArrows = [...parts].filter((part) => !drawn.includes(`  ${part} -->`));
  expect(withoutArrows.sort()).toEqual(["base", "protocol"]);
});

const PROSE = ["docs", "src", "web", "client", "test", "bench", "scripts", "examples", "deploy"];

/** The end of a path, as comments and pages name files: `hub.ts`, `streams/publishing.ts`. */
const MENTION = /(?<![\w./@-])([\w-]+(?:\/[\w.-]+)*\.tsx?)\b/g;
/** Stands for a path of the reader's. */
const PLACEHOLDER = /^(OTHER|other)\//;

test("files that comments and pages name exist", () => {
  const tracked = PROSE.flatMap((folder) => [...new Bun.Glob(`${folder}/**/*.{ts,tsx,md}`).scanSync(ROOT)])
    .concat([...new Bun.Glob("*.md").scanSync(ROOT)])
    .filter((file) => !/node_modules|\.build|\/dist\//.test(file) && file !== "CHANGELOG.md");
  const ends = new Set(tracked.flatMap((file) => file.split("/").map((_, at, names) => names.slice(at).join("/"))));
  const gone = tracked.flatMap((file) =>
    proseOf(file).flatMap(([line, text]) =>
      [...text.matchAll(MENTION)]
        .map(([, name = ""]) => name)
        .filter((name) => !ends.has(name) && !PLACEHOLDER.test(name))
        .map((name) => `${file}:${line} names ${name}`),
    ),
  );
  expect(tracked.length).toBeGreaterThan(1000);
  expect(gone).toEqual([]);
});

/** Lines of prose with their numbers: all of a page, and the comments of a source. */
function proseOf(file: string): [line: number, text: string][] {
  const lines = readFileSync(join(ROOT, file), "utf8").split("\n");
  return lines.flatMap((text, at) =>
    file.endsWith(".md") || /^\s*(\*|\/\/|\/\*\*)/.test(text) ? [[at + 1, text] as [number, string]] : [],
  );
}
