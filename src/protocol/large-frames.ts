/**
 * Decodes large frames without building what is passed on unread. JSON.parse makes an object of every `{` in `data`: 64 KB of small
 * objects take milliseconds, in which the node does nothing else, and a client may send a hundred such frames per second.
 */
import type { JsonObject } from "./json.ts";
import { skipSpace, stringEnd } from "./scan.ts";

/** Shorter frames are decoded by JSON.parse, which is faster for them, and whatever they contain takes it little time. */
export const LARGE_FRAME_CHARS = 4096;
/** Objects and arrays besides `data` are built up to this length. No frame has a use for longer ones: they are `null` then. */
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

/** The fields that frames of clients have. Others are ignored, and in large frames they are not even built. */
export const FRAME_FIELDS: ReadonlySet<string> = new Set([
  "after",
  "before",
  "channel",
  "connection",
  "data",
  "id",
  "includeSenderMetadata",
  "limit",
  "occupancy",
  "presence",
  "recover",
  "requestId",
  "rewind",
  "state",
  "to",
  "token",
  "type",
]);

export interface LargeFrame {
  /** Of FRAME_FIELDS, those that it has. `data` and very long objects are null here. */
  readonly fields: JsonObject;
  /** The text of `data`; `undefined` if there is none. */
  readonly data: string | undefined;
}

/** `undefined`: not the JSON of an object, or ambiguous because a key occurs twice. */
export function decodeLargeFrame(text: string): LargeFrame | undefined {
  let i = skipSpace(text, 0);
  if (text.charCodeAt(i) !== OPEN_BRACE) return undefined;
  const fields: JsonObject = {};
  const keys = new Set<string>();
  let data: string | undefined;
  i = skipSpace(text, i + 1);
  let isLast = text.charCodeAt(i) === CLOSE_BRACE;
  while (!isLast) {
    const keyEnd = stringEndIn(text, i);
    const colon = keyEnd < 0 ? -1 : skipSpace(text, keyEnd);
    if (colon < 0 || text.charCodeAt(colon) !== COLON) return undefined;
    const start = skipSpace(text, colon + 1);
    const end = valueEndIn(text, start);
    if (end < 0) return undefined;
    const key = keyOf(text.slice(i, keyEnd));
    if (keys.has(key)) return undefined;
    keys.add(key);
    if (key === "data") data = text.slice(start, end);
    if (FRAME_FIELDS.has(key)) fields[key] = key === "data" ? null : built(text.slice(start, end));
    i = skipSpace(text, end);
    isLast = text.charCodeAt(i) === CLOSE_BRACE;
    if (!isLast && text.charCodeAt(i) !== COMMA) return undefined;
    if (!isLast) i = skipSpace(text, i + 1);
  }
  return skipSpace(text, i + 1) === text.length ? { fields, data } : undefined;
}

const keyOf = (json: string): string => (json.includes("\\") ? JSON.parse(json) : json.slice(1, -1));

/** Strings may be of any length, because they cost little. */
function built(json: string): unknown {
  const isNest = json.startsWith("{") || json.startsWith("[");
  return isNest && json.length > BUILT_MAX_CHARS ? null : JSON.parse(json);
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

/** Whether the whole text is one JSON value, without blanks around it. Nothing long is built. */
export const isJsonValue = (text: string): boolean =>
  text.length > LARGE_FRAME_CHARS ? valueEndIn(text, 0) === text.length : isJson(text);
