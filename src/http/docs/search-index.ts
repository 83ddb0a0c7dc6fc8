/**
 * What the search in the browser reads: every section with its text, half a megabyte in all. To read it whole with every key takes some milliseconds, finds
 * any part of a term, and needs no library; an index of terms would need the same texts for its excerpts.
 */
import { type Heading, textOf } from "./markdown.ts";

export interface SearchPage {
  readonly path: string;
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
}

/** Page (its place in the list), anchor, heading, text. */
type Section = readonly [page: number, id: string, heading: string, text: string];

/** Bound: a longer section is found by its beginning. Together the sections have at most as many characters as the pages. */
const SECTION_MAX_CHARS = 12_000;

/** A script and not JSON, because pages opened as files may load scripts and nothing else. */
export function searchScript(pages: readonly SearchPage[]): string {
  const sections = pages.flatMap((page, at) => sectionsOf(page, at));
  const index = { pages: pages.map(({ path, title }) => [path, title]), sections };
  return `globalThis.parleyDocs=${JSON.stringify(index)};\n`;
}

function sectionsOf({ html, headings }: SearchPage, page: number): Section[] {
  return html
    .split(/(?=<h\d id=)/)
    .filter((piece) => piece.startsWith("<h"))
    .map((piece, at) => {
      const { id = "", text: heading = "" } = headings[at] ?? {};
      const text = textOf(piece.replace(/^<h\d[\s\S]*?<\/h\d>/, "").replace(/<\/(td|th|p|li|pre)>/g, " $&"))
        .replace(/\s+/g, " ")
        .trim();
      return [page, at === 0 ? "" : id, heading, text.slice(0, SECTION_MAX_CHARS)];
    });
}
