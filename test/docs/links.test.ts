/** Every link of the documentation resolves, anchors included. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PROJECT, readPage } from "./support/page.ts";

const PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md"].concat(
  [...new Bun.Glob("{docs,examples,deploy}/**/*.md").scanSync(PROJECT)].filter(
    (path) => !path.includes("node_modules"),
  ),
);

/** The anchors that code hosts make from headings. */
function anchors(text: string): Set<string> {
  const prose = text.replace(/^```[\s\S]*?^```/gm, "");
  return new Set(
    [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_ -]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

for (const page of PAGES)
  test(`links of ${page}`, () => {
    const dead: string[] = [];
    const prose = readPage(page).replace(/^```[\s\S]*?^```/gm, "");
    for (const [, target = ""] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? join(PROJECT, page) : join(PROJECT, dirname(page), path);
      if (!existsSync(file)) dead.push(target);
      else if (anchor !== undefined && !anchors(readFileSync(file, "utf8")).has(anchor)) dead.push(target);
    }
    expect(dead).toEqual([]);
  });

test("every page of docs/ can be reached from the README", () => {
  const seen = new Set<string>();
  const visit = (page: string): void => {
    if (seen.has(page) || !page.endsWith(".md") || !existsSync(join(PROJECT, page))) return;
    seen.add(page);
    for (const [, target = ""] of readPage(page).matchAll(/\]\(([^)#\s]+)/g))
      if (!/^https?:/.test(target)) visit(join(dirname(page), target));
  };
  visit("README.md");
  const missing = [...new Bun.Glob("docs/**/*.md").scanSync(PROJECT)].filter((path) => !seen.has(path));
  expect(missing).toEqual([]);
});
