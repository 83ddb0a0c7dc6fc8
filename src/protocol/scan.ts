/** Finds the position of a value in the text of a JSON object, so that it can be passed on byte for byte. */

const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** Until here a look at each character takes less time than a search. */
const NEAR_CHARS = 32;

export interface Scan {
  /** The number of keys of the outermost object, with repetitions. */
  keys: number;
  /** The value of the wanted key is text.slice(start, end); start is -1 if the key is absent. */
  start: number;
  end: number;
}

/** One object for all results, to avoid an allocation per frame: callers read it before the next call. */
const result: Scan = { keys: 0, start: -1, end: -1 };

/** `text` must be the valid JSON of an object. The next call overwrites the result. */
export function scanObject(text: string, wanted: string): Readonly<Scan> {
  result.keys = 0;
  result.start = -1;
  let i = skipSpace(text, skipSpace(text, 0) + 1);
  while (text.charCodeAt(i) !== CLOSE_BRACE) {
    const keyEnd = stringEnd(text, i);
    const isWanted = keyIs(text, i, keyEnd, wanted);
    result.keys++;
    const colon = skipSpace(text, keyEnd);
    const start = skipSpace(text, colon + 1);
    const end = valueEnd(text, start);
    if (isWanted) {
      result.start = start;
      result.end = end;
    }
    i = skipSpace(text, end);
    if (text.charCodeAt(i) === COMMA) i = skipSpace(text, i + 1);
  }
  return result;
}

/** The text of one value of a JSON object, or undefined. */
export function rawValue(text: string, key: string): string | undefined {
  const { start, end } = scanObject(text, key);
  return start < 0 ? undefined : text.slice(start, end);
}

function keyIs(text: string, start: number, end: number, wanted: string): boolean {
  const length = end - start - 2;
  if (length === wanted.length && text.startsWith(wanted, start + 1)) return true;
  // An escape is longer than the character it stands for, so a shorter or equally long text is another key.
  if (length <= wanted.length) return false;
  const raw = text.slice(start, end);
  return raw.includes("\\") && JSON.parse(raw) === wanted;
}

export function skipSpace(text: string, from: number): number {
  let i = from;
  for (
    let unit = text.charCodeAt(i);
    unit === 32 || unit === 10 || unit === 13 || unit === 9;
    unit = text.charCodeAt(i)
  )
    i++;
  return i;
}

/** The index after the closing quote of the string that opens at `start`; 0 if there is none. */
export function stringEnd(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  if (text.charCodeAt(quote - 1) !== BACKSLASH || !isEscaped(text, quote, start)) return quote + 1;
  return escapedStringEnd(text, quote + 1);
}

/**
 * The same from inside the string. Where a quote is escaped, more escapes are often near: so the next characters are looked at one by one,
 * and only behind some without an escape does a search pay, which takes many at once.
 */
function escapedStringEnd(text: string, from: number): number {
  let i = from;
  let nearEnd = from + NEAR_CHARS;
  for (;;) {
    const unit = text.charCodeAt(i);
    if (unit === QUOTE) return i + 1;
    if (unit === BACKSLASH) {
      i += 2;
      nearEnd = i + NEAR_CHARS;
    } else if (++i >= nearEnd) {
      const quote = text.indexOf('"', i);
      if (quote < 0 || !isEscaped(text, quote, i - 1)) return quote + 1;
      i = quote + 1;
      nearEnd = i + NEAR_CHARS;
    }
  }
}

/** A quote is escaped if an odd number of backslashes precedes it. */
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
