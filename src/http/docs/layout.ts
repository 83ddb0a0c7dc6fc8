/** What is around the text of a page: the list of pages, the page's own headings, the next page; and the pages that have no text of their own. */
import type { CatalogEntry, CatalogGroup } from "./catalog.ts";
import { escaped, type Heading } from "./markdown.ts";
import type { Placement } from "./site.ts";

export interface Neighbours {
  readonly before: CatalogEntry | undefined;
  readonly after: CatalogEntry | undefined;
}

const link = (href: string, text: string, attributes = ""): string =>
  `<a href="${escaped(href)}"${attributes}>${escaped(text)}</a>`;

/** Pages of a folder are listed only while one of them, or the folder's own, is open. */
const isShown = ({ path }: CatalogEntry, open: string): boolean =>
  !path.includes("/") || open.split("/")[0] === path.split("/")[0];

const REFERENCE_TITLE = "API reference";

export function navigation(groups: readonly CatalogGroup[], open: string, { href, service }: Placement): string {
  return groups
    .map(({ title, entries }) => {
      const items = entries
        .filter((entry) => isShown(entry, open))
        .map(({ path, title }) => {
          const current = path === open ? ' aria-current="page"' : "";
          const depth = path.includes("/") ? ' class="inside"' : "";
          return `<li${depth}>${link(href(open, path, true), title, current)}</li>`;
        });
      if (title === "Reference" && service) items.unshift(`<li>${link(service.reference, REFERENCE_TITLE)}</li>`);
      return items.length === 0
        ? ""
        : `<h2 class="side-title">${title}</h2>\n<ul class="side-list">\n${items.join("\n")}\n</ul>`;
    })
    .join("\n");
}

/** A page with fewer sections is seen at a glance. */
const SECTIONS_MIN = 2;

/** Beside the name of the site: its two halves. */
export const siteLinks = ({ href, service }: Placement): string =>
  service
    ? `<nav class="site" aria-label="Site">${link(href("", "", true), "Guides", ' aria-current="true"')}${link(service.reference, REFERENCE_TITLE)}</nav>`
    : "";

/** Above the title of a page: what it belongs to. */
export const groupOf = (groups: readonly CatalogGroup[], open: string): string => {
  const group = groups.find(({ entries }) => entries.some(({ path }) => path === open));
  return group ? `<p class="group">${escaped(group.title)}</p>` : "";
};

export function onThisPage(headings: readonly Heading[]): string {
  const sections = headings.filter(({ level }) => level === 2);
  if (sections.length < SECTIONS_MIN) return "";
  const items = sections.map(({ id, text }) => `<li>${link(`#${id}`, text)}</li>`);
  const label = "On this page";
  // Beside the text, or where there is no room behind the button, which needs no script.
  return `<button type="button" class="small to-contents" popovertarget="contents">${label}</button>
<nav id="contents" class="contents" popover aria-label="${label}"><h2 class="side-title">${label}</h2>\n<ul class="side-list">\n${items.join("\n")}\n</ul></nav>`;
}

export function neighbours(open: string, { before, after }: Neighbours, { href }: Placement): string {
  const to = (entry: CatalogEntry | undefined, label: string, rel: string): string =>
    entry === undefined
      ? "<span></span>"
      : `<a rel="${rel}" href="${escaped(href(open, entry.path, true))}"><span class="label">${label}</span>${escaped(entry.title)}</a>`;
  return `<nav class="pager" aria-label="Next pages">${to(before, "Previous", "prev")}${to(after, "Next", "next")}</nav>`;
}

export function frontPage(groups: readonly CatalogGroup[], intro: string, { href, service }: Placement): string {
  const sections = groups.map(({ title, entries }) => {
    const items = entries
      .filter(({ path }) => !path.includes("/"))
      .map(
        ({ path, title, about }) =>
          `<li>${link(href("", path, true), title)}<span class="about">${escaped(about)}</span></li>`,
      );
    if (title === "Reference" && service)
      items.unshift(
        `<li>${link(service.reference, REFERENCE_TITLE)}<span class="about">every REST call, to read and to try</span></li>`,
      );
    return items.length === 0
      ? ""
      : `<section><h2>${title}</h2>\n<ul class="cards">\n${items.join("\n")}\n</ul></section>`;
  });
  return `<h1>Documentation</h1>\n<p>${escaped(intro)}</p>\n${sections.join("\n")}`;
}

export const notFoundPage = ({ href }: Placement): string =>
  `<h1>Page not found</h1>\n<p>There is no page at this address. Search for it above, or see ${link(href("", "", true), "all pages")}.</p>`;
