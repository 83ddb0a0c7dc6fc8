/**
 * Reads the outermost fields of a JSON object, and of these only what is needed. JSON.parse makes an object of every `{`: 64 KB of small
 * objects or of unknown fields take milliseconds, in which the node does nothing else, and a client may send a hundred such texts per
 * second.
 */
import { KEY_TWICE, NOT_JSON } from "./json.ts";
import { skipSpace } from "./scan.ts";
import { valueEndIn } from "./value-end.ts";

/** Shorter texts are decoded by JSON.parse, which is faster for them, and whatever they contain takes it little time. */
export const LARGE_TEXT_CHARS = 2048;
/** A longer key is no known one, however it is escaped: known ones have at most 21 characters, and each takes at most six. */
const KEY_DECODED_MAX_CHARS = 128;
/** A longer string is longer than any name, however it is escaped: those have at most 256 characters. */
const ESCAPED_MAX_CHARS = 6 * 256 + 2;

const COMMA = 44;
const COLON = 58;
const QUOTE = 34;
const OPEN_BRACKET = 91;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

export interface Outermost {
  /** The texts of the values of known keys. */
  readonly texts: ReadonlyMap<string, string>;
  readonly unknown: readonly string[];
}

/** A string says why it is not one: it is invalid, has a key twice or more than `fieldsMax` fields. */
export function outermostOf(text: string, known: ReadonlySet<string>, fieldsMax: number): Outermost | string {
  let i = skipSpace(text, 0);
  if (text.charCodeAt(i) !== OPEN_BRACE) return NOT_JSON;
  const texts = new Map<string, string>();
  const unknown: string[] = [];
  const keys = new Set<string>();
  i = skipSpace(text, i + 1);
  let isLast = text.charCodeAt(i) === CLOSE_BRACE;
  while (!isLast) {
    if (keys.size === fieldsMax) return `it has more than ${fieldsMax} fields`;
    const keyEnd = text.charCodeAt(i) === QUOTE ? valueEndIn(text, i) : -1;
    const colon = keyEnd < 0 ? -1 : skipSpace(text, keyEnd);
    if (colon < 0 || text.charCodeAt(colon) !== COLON) return NOT_JSON;
    const start = skipSpace(text, colon + 1);
    const end = valueEndIn(text, start);
    if (end < 0) return NOT_JSON;
    const key = keyOf(text.slice(i, keyEnd));
    if (keys.has(key)) return KEY_TWICE;
    keys.add(key);
    if (known.has(key)) texts.set(key, text.slice(start, end));
    else unknown.push(key);
    i = skipSpace(text, end);
    isLast = text.charCodeAt(i) === CLOSE_BRACE;
    if (!isLast && text.charCodeAt(i) !== COMMA) return NOT_JSON;
    if (!isLast) i = skipSpace(text, i + 1);
  }
  return skipSpace(text, i + 1) === text.length ? { texts, unknown } : NOT_JSON;
}

/** A long key stays as it is written. So two that are written differently are two, also if they mean the same. */
const keyOf = (json: string): string =>
  json.length <= KEY_DECODED_MAX_CHARS && json.includes("\\") ? JSON.parse(json) : json.slice(1, -1);

/**
 * The value of a valid text. Objects and arrays of more than `nestMaxChars` are empty, and long strings with escapes stay as they are
 * written: they are longer than anything that is read, and decoding them would take long.
 */
export function builtFrom(json: string, nestMaxChars: number): unknown {
  const first = json.charCodeAt(0);
  if (first === OPEN_BRACE && json.length > nestMaxChars) return {};
  if (first === OPEN_BRACKET && json.length > nestMaxChars) return [];
  if (first === QUOTE && json.length > ESCAPED_MAX_CHARS && json.includes("\\")) return json.slice(1, -1);
  return JSON.parse(json);
}
