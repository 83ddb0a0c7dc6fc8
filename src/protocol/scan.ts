/** Finds where things stand in the text of a JSON object, so that a value can be passed on byte for byte. */

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

export interface Scan {
  /** Keys of the object itself, each counted as often as it occurs. */
  keys: number;
  /** The wanted key's value is text.slice(start, end); start is -1 if it is not there. */
  start: number;
  end: number;
}

/** One object for all answers: the caller reads it before it asks again. */
const answer: Scan = { keys: 0, start: -1, end: -1 };

/** `text` must be the valid JSON of an object. The answer is overwritten by the next call. */
export function scanObject(text: string, wanted: string): Readonly<Scan> {
  answer.keys = 0;
  answer.start = -1;
  let i = skipSpace(text, skipSpace(text, 0) + 1);
  while (text.charCodeAt(i) !== CLOSE_BRACE) {
    const keyEnd = stringEnd(text, i);
    const isWanted = keyIs(text, i, keyEnd, wanted);
    answer.keys++;
    const colon = skipSpace(text, keyEnd);
    const start = skipSpace(text, colon + 1);
    const end = valueEnd(text, start);
    if (isWanted) {
      answer.start = start;
      answer.end = end;
    }
    i = skipSpace(text, end);
    if (text.charCodeAt(i) === COMMA) i = skipSpace(text, i + 1);
  }
  return answer;
}

/** The text of one value of a JSON object, or undefined. */
export function rawValue(text: string, key: string): string | undefined {
  const { start, end } = scanObject(text, key);
  return start < 0 ? undefined : text.slice(start, end);
}

function keyIs(text: string, start: number, end: number, wanted: string): boolean {
  const length = end - start - 2;
  if (length === wanted.length && text.startsWith(wanted, start + 1)) return true;
  // An escape makes a key longer than what it says; one that is no longer cannot be it.
  if (length <= wanted.length) return false;
  const raw = text.slice(start, end);
  return raw.includes("\\") && JSON.parse(raw) === wanted;
}

function skipSpace(text: string, from: number): number {
  let i = from;
  for (
    let unit = text.charCodeAt(i);
    unit === 32 || unit === 10 || unit === 13 || unit === 9;
    unit = text.charCodeAt(i)
  )
    i++;
  return i;
}

/** The index behind the closing quote of the string that opens at `start`. */
export function stringEnd(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (text.charCodeAt(quote - 1) === BACKSLASH && isEscaped(text, quote, start))
    quote = text.indexOf('"', quote + 1);
  return quote + 1;
}

/** An odd number of backslashes stands before it. */
function isEscaped(text: string, at: number, start: number): boolean {
  let i = at - 1;
  while (i > start && text.charCodeAt(i) === BACKSLASH) i--;
  return (at - 1 - i) % 2 === 1;
}

function valueEnd(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return stringEnd(text, start);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return nestEnd(text, start);
  let i = start;
  for (let unit = first; unit !== COMMA && unit !== CLOSE_BRACE && unit > 32; unit = text.charCodeAt(i)) i++;
  return i;
}

function nestEnd(text: string, start: number): number {
  let depth = 0;
  for (let i = start; ; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE:
        i = stringEnd(text, i) - 1;
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth++;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (--depth === 0) return i + 1;
    }
  }
}

/** A string is a key if a colon follows it: in valid JSON nothing else can. */
export const isKey = (text: string, end: number): boolean => text.charCodeAt(skipSpace(text, end)) === COLON;
