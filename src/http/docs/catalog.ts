/**
 * Which pages the documentation has, in which order and groups: those that the lists of README.md name. So a page is in the list at
 * the side, in llms.txt and on the front page of the project, or on none of them.
 */

export interface CatalogEntry {
  /** In the project: `docs/quickstart.md`. */
  readonly file: string;
  /** Behind `/docs/`: `quickstart`. */
  readonly path: string;
  /** As README.md names it: short, for lists. */
  readonly title: string;
  /** One line about it. */
  readonly about: string;
}

export interface CatalogGroup {
  readonly title: string;
  readonly entries: readonly CatalogEntry[];
}

/** The headings of README.md whose lists are read. */
const GROUPS = ["Start", "Messages", "Rooms and meetings", "Operate", "Scale", "Reference", "Project"];
const ENTRY = /^- \[([^\]]+)\]\(([^)\s#]+\.md)\): (.+)$/gm;

/** `docs/decisions/README.md` → `decisions`, `docs/quickstart.md` → `quickstart`, `deploy/README.md` → `deploy`, `SECURITY.md` → `security`. */
export const pathOf = (file: string): string =>
  file
    .replace(/^docs\//, "")
    .replace(/(\/README)?\.md$/, "")
    .toLowerCase();

/** Only files that are there: a package may have been made without some of them. */
export function catalogOf(readme: string, has: (file: string) => boolean): CatalogGroup[] {
  return GROUPS.map((title) => {
    const list = readme.split(`\n## ${title}\n`)[1]?.split("\n## ")[0] ?? "";
    const entries = [...list.matchAll(ENTRY)].map(([, name = "", file = "", about = ""]) => ({
      file,
      path: pathOf(file),
      title: name,
      about: plainText(about),
    }));
    return { title, entries: entries.filter(({ file }) => has(file)) };
  });
}

/** Markdown of one line as text: without the marks of links and code. */
const plainText = (line: string): string => line.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
