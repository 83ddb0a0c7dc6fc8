/**
 * Decodes large frames without building what is passed on unread. JSON.parse makes an object of every `{` in `data`: 64 KB of small
 * objects take milliseconds, in which the node does nothing else, and a client may send a hundred such frames per second.
 */
import type { JsonObject } from "./json.ts";
import { FRAME_FIELDS_MAX } from "./limits.ts";
import { keyIs, skipSpace, stringEnd } from "./scan.ts";

/** Shorter frames are decoded by JSON.parse, which is faster for them, and whatever they contain takes it little time. */
export const LARGE_FRAME_CHARS = 4096;
/** Objects and arrays besides `data` are built up to this length in all. No frame has a use for longer ones: they are `null` then. */
const BUILT_MAX_CHARS = 4096;
/** Longer strings are checked by JSON.parse, which looks at many characters at once. */
const LONG_STRING_CHARS = 64;

const QUOTE = 34;
const PLUS = 43;
const COMMA = 44;
const MINUS = 45;
const DOT = 46;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const LARGE_E = 69;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const SMALL_E = 101;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const BLANK = 32;

export interface LargeFrame {
  readonly fields: JsonObject;
  /** The text of `data`; `undefined` if there is none. */
  readonly data: string | undefined;
}

/** `undefined`: not the JSON of an object, or ambiguous, or with more than FRAME_FIELDS_MAX fields. */
export function decodeLargeFrame(text: string): LargeFrame | undefined {
  let i = skipSpace(text, 0);
  if (text.charCodeAt(i) !== OPEN_BRACE) return undefined;
  let rest = "{";
  let built = 0;
  let count = 0;
  let data: string | undefined;
  i = skipSpace(text, i + 1);
  let isLast = text.charCodeAt(i) === CLOSE_BRACE;
  while (!isLast) {
    if (count === FRAME_FIELDS_MAX) return undefined;
    const keyEnd = stringEndIn(text, i);
    const colon = keyEnd < 0 ? -1 : skipSpace(text, keyEnd);
    if (colon < 0 || text.charCodeAt(colon) !== COLON) return undefined;
    const start = skipSpace(text, colon + 1);
    const end = valueEndIn(text, start);
    if (end < 0) return undefined;
    const isData = keyIs(text, i, keyEnd, "data");
    if (isData) data = text.slice(start, end);
    const isNest = text.charCodeAt(start) === OPEN_BRACE || text.charCodeAt(start) === OPEN_BRACKET;
    if (isNest && !isData) built += end - start;
    const isBuilt = !isData && (!isNest || built <= BUILT_MAX_CHARS);
    rest += `${count === 0 ? "" : ","}${text.slice(i, keyEnd)}:${isBuilt ? text.slice(start, end) : "null"}`;
    count++;
    i = skipSpace(text, end);
    isLast = text.charCodeAt(i) === CLOSE_BRACE;
    if (!isLast && text.charCodeAt(i) !== COMMA) return undefined;
    if (!isLast) i = skipSpace(text, i + 1);
  }
  if (skipSpace(text, i + 1) !== text.length) return undefined;
  const fields: JsonObject = JSON.parse(`${rest}}`);
  // JSON.parse keeps one of two equal keys: a text with more keys than the object is ambiguous.
  return count === Object.keys(fields).length ? { fields, data } : undefined;
}

/** Whether the nest of each level is an object. Grows to the deepest text so far. Bound: half the characters of a frame. */
const isObjectAt: boolean[] = [];

/** The index behind the JSON value that begins at `from`; -1 if there is none. Accepts what JSON.parse accepts, and builds nothing. */
export function valueEndIn(text: string, from: number): number {
  let depth = 0;
  let i = from;
  for (;;) {
    const unit = text.charCodeAt(i);
    if (unit === OPEN_BRACE || unit === OPEN_BRACKET) {
      const isObject = unit === OPEN_BRACE;
      i = skipSpace(text, i + 1);
      if (text.charCodeAt(i) !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) {
        isObjectAt[depth++] = isObject;
        if (isObject) i = memberValueIn(text, i);
        if (i < 0) return -1;
        continue;
      }
      i++;
    } else {
      i = unit === QUOTE ? stringEndIn(text, i) : scalarEndIn(text, i, unit);
      if (i < 0) return -1;
    }
    // Behind a value: nests end, until another value comes.
    for (;;) {
      if (depth === 0) return i;
      i = skipSpace(text, i);
      const next = text.charCodeAt(i);
      const isObject = isObjectAt[depth - 1] === true;
      if (next === COMMA) {
        i = skipSpace(text, i + 1);
        if (isObject) i = memberValueIn(text, i);
        if (i < 0) return -1;
        break;
      }
      if (next !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) return -1;
      i++;
      depth--;
    }
  }
}

/** Where the value of the member begins whose key is at `from`; -1 if it is none. */
function memberValueIn(text: string, from: number): number {
  const keyEnd = stringEndIn(text, from);
  if (keyEnd < 0) return -1;
  const colon = skipSpace(text, keyEnd);
  return text.charCodeAt(colon) === COLON ? skipSpace(text, colon + 1) : -1;
}

function stringEndIn(text: string, from: number): number {
  if (text.charCodeAt(from) !== QUOTE) return -1;
  const longEnd = from + LONG_STRING_CHARS;
  for (let i = from + 1; i < longEnd; i++) {
    // Behind the end of the text it is not a number, and equals nothing.
    const unit = text.charCodeAt(i);
    if (unit === QUOTE) return i + 1;
    if (unit < BLANK) return -1;
    if (unit === BACKSLASH) break;
  }
  const end = stringEnd(text, from);
  // 0: there is no closing quote.
  return end > 0 && isJson(text.slice(from, end)) ? end : -1;
}

function scalarEndIn(text: string, from: number, first: number): number {
  if (first === MINUS || (first >= ZERO && first <= NINE)) return numberEndIn(text, from, first);
  if (text.startsWith("true", from) || text.startsWith("null", from)) return from + 4;
  return text.startsWith("false", from) ? from + 5 : -1;
}

/** `-`, then 0 or digits without a leading 0, then perhaps a fraction and an exponent. */
function numberEndIn(text: string, from: number, first: number): number {
  const integer = first === MINUS ? from + 1 : from;
  let i = text.charCodeAt(integer) === ZERO ? integer + 1 : digitsEnd(text, integer);
  if (i === integer) return -1;
  if (text.charCodeAt(i) === DOT) {
    const fraction = i + 1;
    i = digitsEnd(text, fraction);
    if (i === fraction) return -1;
  }
  const mark = text.charCodeAt(i);
  if (mark !== SMALL_E && mark !== LARGE_E) return i;
  const sign = text.charCodeAt(i + 1);
  const exponent = sign === PLUS || sign === MINUS ? i + 2 : i + 1;
  i = digitsEnd(text, exponent);
  return i === exponent ? -1 : i;
}

function digitsEnd(text: string, from: number): number {
  let i = from;
  for (let unit = text.charCodeAt(i); unit >= ZERO && unit <= NINE; unit = text.charCodeAt(i)) i++;
  return i;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
