/** What the documentation is made of, and what is made of it. */

/** Files of the project by path: the pages as text, pictures as bytes. Bound: those of docs/ and what README.md names. */
export type DocsSources = ReadonlyMap<string, string | Uint8Array<ArrayBuffer>>;

export interface DocsFile {
  readonly type: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** A page for people, with the layout around it. */
  readonly isPage?: boolean;
}

export interface ServiceAddresses {
  /** The API reference. */
  readonly reference: string;
  /** The demo's names, for code that readers copy. */
  readonly demo: string;
}

/** How addresses are written: below `/docs` in a service, relative in a folder of files. */
export interface Placement {
  /** The HTML of web/docs, with marks where a page's parts belong. */
  readonly shell: string;
  /** The address of a file of the site, as it is written on the page at `from`. */
  readonly href: (from: string, to: string, isPage: boolean) => string;
  /** What only a service has. */
  readonly service?: ServiceAddresses;
}

/** The page of an address that has none. */
export const NOT_FOUND = "404";
export const SEARCH_SCRIPT = "search.js";
export const LLMS = "llms.txt";
export const LLMS_FULL = "llms-full.txt";
