/** Names of others within a sentence: written from right to left, or with characters that turn the direction, they would reorder the rest of it. */

/** Marks, embeddings, overrides and isolates of the Unicode bidirectional algorithm: they show nothing. */
const DIRECTIONS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const ISOLATE = "\u2068";
const END = "\u2069";

/** Only for what one reads: to copy or to compare a name, take the name itself. */
export const inText = (name: string): string =>
  /^[\x20-\x7e]*$/.test(name) ? name : `${ISOLATE}${name.replace(DIRECTIONS, "")}${END}`;
