/** `/llms.txt` and `/llms-full.txt`: the documentation for programs that read text, as https://llmstxt.org describes it. */
import type { CatalogEntry, CatalogGroup } from "./catalog.ts";
import type { Placement } from "./site.ts";

/** One line per page. The links lead to the pages' Markdown. */
export function llmsIndex(groups: readonly CatalogGroup[], intro: string, { href }: Placement): string {
  const sections = groups
    .filter(({ entries }) => entries.length > 0)
    .map(({ title, entries }) => {
      const lines = entries.map(({ path, title, about }) => {
        const line = `- [${title}](${href("", `${path}.md`, false)})`;
        return about === "" ? line : `${line}: ${about}`;
      });
      return `## ${title}\n\n${lines.join("\n")}\n`;
    });
  return `# Parley\n\n> ${intro}\n\n${sections.join("\n")}`;
}

/** Every page in order, each after a line that names its file. */
export const llmsFull = (pages: readonly (CatalogEntry & { readonly markdown: string })[]): string =>
  pages.map(({ file, markdown }) => `<!-- ${file} -->\n\n${markdown.trim()}\n`).join("\n");
