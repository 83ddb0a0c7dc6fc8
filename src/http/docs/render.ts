/** The documentation as a site: every page with its list, search index and llms.txt, from the texts of the files. Reads and writes nothing. */
import { posix } from "node:path";
import { type CatalogEntry, type CatalogGroup, catalogOf, pathOf } from "./catalog.ts";
import { frontPage, groupOf, navigation, neighbours, notFoundPage, onThisPage, siteLinks } from "./layout.ts";
import { llmsFull, llmsIndex } from "./llms.ts";
import { type Image, isWebAddress, type Rendered, renderMarkdown, type Target } from "./markdown.ts";
import { searchScript } from "./search-index.ts";
import { type DocsFile, type DocsSources, LLMS, LLMS_FULL, NOT_FOUND, type Placement, SEARCH_SCRIPT } from "./site.ts";

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  md: "text/markdown; charset=utf-8",
  txt: "text/plain; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  yaml: "text/plain; charset=utf-8",
  png: "image/png",
  svg: "image/svg+xml",
};
const typeOf = (path: string): string => TYPES[path.split(".").at(-1) ?? ""] ?? "application/octet-stream";

interface Page extends CatalogEntry {
  readonly markdown: string;
  readonly rendered: () => Rendered;
}

const README = "README.md";

/**
 * Every file of the site by its path behind `/docs/`; the front page is "". A page is rendered when its body is first read: all of them together
 * take a tenth of a second, which a service should not spend at once.
 */
export function renderDocs(sources: DocsSources, placement: Placement): Map<string, DocsFile> {
  const readme = textIn(sources, README);
  const intro = introOf(readme);
  const groups = withFolders(
    catalogOf(readme, (file) => sources.has(file)),
    sources,
  );
  const pages = pagesOf(groups, sources, placement);
  const files = new Map<string, DocsFile>();
  const put = (path: string, make: () => string): void => void files.set(path, fileOf(typeOf(path), make));
  const putPage = (path: string, title: () => string, parts: () => Partial<Parts>): void => {
    const nav = (): string => navigation(groups, path, placement);
    const make = (): string => filled(placement, path, { ...NO_PARTS, title: title(), nav: nav(), ...parts() });
    files.set(path, fileOf(typeOf(".html"), make, true));
  };
  putPage(
    "",
    () => "Parley documentation",
    () => ({ content: frontPage(groups, intro, placement) }),
  );
  putPage(
    NOT_FOUND,
    () => "Page not found",
    () => ({ content: notFoundPage(placement) }),
  );
  for (const [at, { path, title, markdown, rendered }] of pages.entries()) {
    const around = { before: pages[at - 1], after: pages[at + 1] };
    putPage(
      path,
      () => `${rendered().headings[0]?.text ?? title} · Parley documentation`,
      () => ({
        content: groupOf(groups, path) + rendered().html,
        contents: onThisPage(rendered().headings),
        pager: neighbours(path, around, placement),
      }),
    );
    put(`${path}.md`, () => markdown);
  }
  for (const [file, body] of sources) if (isAsset(file)) files.set(assetPath(file), { type: typeOf(file), body });
  put(SEARCH_SCRIPT, () => searchScript(pages.map(({ path, title, rendered }) => ({ path, title, ...rendered() }))));
  put(LLMS, () => llmsIndex(groups, intro, placement));
  put(LLMS_FULL, () => llmsFull(pages));
  return files;
}

function pagesOf(groups: readonly CatalogGroup[], sources: DocsSources, { href }: Placement): Page[] {
  const entries = groups.flatMap((group) => group.entries);
  const byFile = new Map(entries.map((entry) => [entry.file, entry]));
  return entries.map((entry) => {
    const { file, path } = entry;
    const resolve = (target: string): string => posix.join(posix.dirname(file), decodeURI(target));
    const asset = (target: string): string => href(path, assetPath(target), false);
    const link = (target: string): Target | undefined => {
      if (isWebAddress(target) || target.startsWith("#")) return { href: target };
      const [name = "", anchor] = target.split("#");
      const linked = resolve(name);
      const page = byFile.get(linked);
      if (page)
        return { href: href(path, page.path, true) + (anchor === undefined ? "" : `#${anchor}`), title: page.title };
      return isAsset(linked) && sources.has(linked) ? { href: asset(linked) } : undefined;
    };
    const markdown = textIn(sources, file);
    const image = (target: string): Image => {
      const picture = resolve(target);
      const size = sizeOf(sources.get(picture));
      return { href: asset(picture), ...(size && { size }) };
    };
    const targets = { link, image };
    return { ...entry, markdown, rendered: once(() => renderMarkdown(markdown, targets)) };
  });
}

const fileOf = (type: string, make: () => string, isPage = false): DocsFile => {
  const body = once(make);
  return {
    type,
    isPage,
    get body() {
      return body();
    },
  };
};

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

const textIn = (sources: DocsSources, file: string): string => {
  const found = sources.get(file);
  return typeof found === "string" ? found : "";
};

/** Width and height of a PNG, from its first chunk, and of an SVG, from its first element. */
function sizeOf(picture: string | Uint8Array<ArrayBuffer> | undefined): [number, number] | undefined {
  if (picture === undefined || typeof picture === "string" || picture.length < PNG_HEAD_BYTES) return undefined;
  const head = new DataView(picture.buffer, picture.byteOffset, PNG_HEAD_BYTES);
  if (head.getUint32(0) === PNG_SIGNATURE) return [head.getUint32(16), head.getUint32(20)];
  const [, width, height] =
    /^<svg[^>]* width="(\d+)"[^>]* height="(\d+)"/.exec(new TextDecoder().decode(picture)) ?? [];
  return width === undefined || height === undefined ? undefined : [Number(width), Number(height)];
}
const PNG_HEAD_BYTES = 24;
const PNG_SIGNATURE = 0x89504e47;

const assetPath = (file: string): string => file.replace(/^docs\//, "");
const isAsset = (file: string): boolean => /^docs\/(images\/|asyncapi\.yaml$)/.test(file);

/** The first paragraph of README.md says what this is. */
const introOf = (readme: string): string =>
  /^# .+\n\n((?:.+\n)+)/.exec(readme)?.[1]?.replaceAll("\n", " ").trim() ?? "";

/** README.md names the first page of a folder; the others of the folder follow it. */
function withFolders(groups: readonly CatalogGroup[], sources: DocsSources): CatalogGroup[] {
  const named = new Set(groups.flatMap(({ entries }) => entries.map(({ file }) => file)));
  const inside = (entry: CatalogEntry): CatalogEntry[] => {
    if (!/^docs\/.+\/README\.md$/.test(entry.file)) return [];
    const folder = `${posix.dirname(entry.file)}/`;
    return [...sources]
      .filter(([file]) => file.startsWith(folder) && file.endsWith(".md") && !named.has(file))
      .map(([file, text]) => ({ file, path: pathOf(file), title: titleOf(String(text)), about: "" }))
      .sort((one, other) => (one.file < other.file ? -1 : 1));
  };
  return groups.map(({ title, entries }) => ({ title, entries: entries.flatMap((one) => [one, ...inside(one)]) }));
}

const titleOf = (markdown: string): string => /^# (.+)$/m.exec(markdown)?.[1]?.replaceAll("`", "") ?? "";

interface Parts {
  readonly title: string;
  readonly nav: string;
  readonly content: string;
  readonly contents: string;
  readonly pager: string;
}

const NO_PARTS: Parts = { title: "", nav: "", content: "", contents: "", pager: "" };

/** Marks in the shell are `%name%`. */
function filled(placement: Placement, path: string, parts: Parts): string {
  const { shell, href } = placement;
  const values: Readonly<Record<string, string>> = {
    ...parts,
    home: href(path, "", true),
    site: siteLinks(placement),
    demo: placement.service?.demo ?? "",
    search: href(path, SEARCH_SCRIPT, false),
    // Search results are pages of the site: the script adds their paths between these two.
    root: href(path, "x", true).replace(/x(\.html)?$/, ""),
    suffix: href(path, "x", true).endsWith(".html") ? ".html" : "",
    llms: href(path, LLMS, false),
    assets: href(path, "assets/", false),
  };
  return shell.replace(/%(\w+)%/g, (mark, name: string) => values[name] ?? mark);
}
