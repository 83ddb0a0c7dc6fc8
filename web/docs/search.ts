/** Finds sections of the documentation by their text. */

export interface DocsIndex {
  /** Path and title of every page. */
  readonly pages: readonly (readonly [path: string, title: string])[];
  readonly sections: readonly (readonly [page: number, id: string, heading: string, text: string])[];
}

export interface Hit {
  readonly path: string;
  readonly id: string;
  readonly page: string;
  readonly heading: string;
  /** The text around the first term that is found, in pieces: those with `isTerm` are to be marked. */
  readonly excerpt: readonly Piece[];
}

export interface Piece {
  readonly text: string;
  readonly isTerm: boolean;
}

const HITS_MAX = 20;
const TERMS_MAX = 8;
const EXCERPT_CHARS = 140;
/** Before the term. */
const EXCERPT_LEAD_CHARS = 40;

/** How much a term counts where it is found. */
const IN_TITLE = 40;
const IN_HEADING = 30;
const WHOLE = 30;
const BEGINS = 6;
const PER_OCCURRENCE = 1;
const OCCURRENCES_MAX = 8;
/** The first section of a page stands for the page. */
const FIRST_SECTION = 4;

const LETTER = /[\p{L}\p{N}]/u;

interface Prepared {
  readonly at: number;
  readonly title: string;
  readonly heading: string;
  readonly text: string;
}

export class Search {
  /** In lower case. Bound: the sections of the index. */
  private readonly prepared: readonly Prepared[];

  constructor(private readonly index: DocsIndex) {
    this.prepared = index.sections.map(([page, , heading, text], at) => ({
      at,
      title: index.pages[page]?.[1].toLowerCase() ?? "",
      heading: heading.toLowerCase(),
      text: text.toLowerCase(),
    }));
  }

  /** Sections with all terms, best first; if there are none, those with some of them. */
  find(query: string): Hit[] {
    const terms = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, TERMS_MAX);
    if (terms.length === 0) return [];
    const phrase = terms.join(" ");
    const rated = this.prepared.map((section) => ({ section, ...rate(section, terms, phrase) }));
    const most = Math.max(...rated.map(({ found }) => found));
    if (most === 0) return [];
    return rated
      .filter(({ found }) => found === most)
      .sort((one, other) => other.score - one.score || one.section.at - other.section.at)
      .slice(0, HITS_MAX)
      .map(({ section }) => this.hit(section.at, terms));
  }

  private hit(at: number, terms: readonly string[]): Hit {
    const [page = 0, id = "", heading = "", text = ""] = this.index.sections[at] ?? [];
    const [path = "", title = ""] = this.index.pages[page] ?? [];
    return { path, id, page: title, heading, excerpt: excerptOf(text, terms) };
  }
}

function rate(
  { title, heading, text }: Prepared,
  terms: readonly string[],
  phrase: string,
): { found: number; score: number } {
  let found = 0;
  let score = terms.length > 1 ? valueIn(title, phrase, IN_TITLE) + valueIn(heading, phrase, IN_HEADING) : 0;
  for (const term of terms) {
    const own = valueIn(title, term, IN_TITLE) + valueIn(heading, term, IN_HEADING) + occurrences(text, term);
    if (own > 0) found++;
    score += own;
  }
  return { found, score: title === heading ? score + FIRST_SECTION : score };
}

function valueIn(name: string, term: string, value: number): number {
  if (name === term) return value + WHOLE;
  const at = name.indexOf(term);
  if (at === -1) return 0;
  return isStart(name, at) ? value : value / 4;
}

function occurrences(text: string, term: string): number {
  let score = 0;
  let count = 0;
  for (let at = text.indexOf(term); at !== -1 && count < OCCURRENCES_MAX; at = text.indexOf(term, at + term.length)) {
    count++;
    score += isStart(text, at) ? PER_OCCURRENCE : PER_OCCURRENCE / 4;
    if (count === 1 && isStart(text, at)) score += BEGINS;
  }
  return score;
}

const isStart = (text: string, at: number): boolean => at === 0 || !LETTER.test(text[at - 1] ?? "");

function excerptOf(text: string, terms: readonly string[]): Piece[] {
  const lower = text.toLowerCase();
  const first = Math.min(...terms.map((term) => lower.indexOf(term)).filter((at) => at >= 0));
  const near = Number.isFinite(first) ? Math.max(0, first - EXCERPT_LEAD_CHARS) : 0;
  // Whole terms at both ends.
  const start = near === 0 ? 0 : text.indexOf(" ", near) + 1;
  const end = start + EXCERPT_CHARS < text.length ? text.lastIndexOf(" ", start + EXCERPT_CHARS) : text.length;
  const cut = text.slice(start, end > start ? end : start + EXCERPT_CHARS);
  const pieces = pieced(cut, terms);
  if (start > 0) pieces.unshift({ text: "… ", isTerm: false });
  if (start + EXCERPT_CHARS < text.length) pieces.push({ text: " …", isTerm: false });
  return pieces;
}

function pieced(text: string, terms: readonly string[]): Piece[] {
  const longestFirst = terms.toSorted((one, other) => other.length - one.length).map(RegExp.escape ?? escapeForPattern);
  const pattern = new RegExp(`(${longestFirst.join("|")})`, "i");
  return text
    .split(pattern)
    .map((piece, at) => ({ text: piece, isTerm: at % 2 === 1 }))
    .filter((piece) => piece.text !== "");
}

/** For browsers that do not have RegExp.escape. */
const escapeForPattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
