/**
 * JSON from outside, read strictly. JSON.parse keeps the last of two equal keys where other parsers keep the first: a text
 * that means two things is refused instead.
 */

const QUOTE = 34;
const COLON = 58;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
/** Deeper than any honest body; keeps a nest of brackets from costing more than its bytes. */
const DEPTH_MAX = 200;

export type JsonObject = { [key: string]: unknown };

export type StrictJson = { ok: true; value: unknown } | { ok: false; problem: string };

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** JSON.parse, which also refuses a key that occurs twice in one object and nesting over DEPTH_MAX. */
export function parseStrict(text: string): StrictJson {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, problem: "it is not valid JSON" };
  }
  const problem = typeof value === "object" ? flawIn(text) : undefined;
  return problem ? { ok: false, problem } : { ok: true, value };
}

/** One pass over text that is known to be valid JSON. */
function flawIn(text: string): string | undefined {
  // Keys of the objects that are open, innermost last; undefined stands for an array.
  const open: (Set<string> | undefined)[] = [];
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (open.length === DEPTH_MAX) return `it is nested deeper than ${DEPTH_MAX} levels`;
        open.push(text.charCodeAt(i) === OPEN_BRACE ? new Set() : undefined);
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        open.pop();
        break;
      case QUOTE: {
        const end = stringEnd(text, i);
        const keys = open.at(-1);
        if (keys && isKey(text, end)) {
          const raw = text.slice(i + 1, end - 1);
          const key: string = raw.includes("\\") ? JSON.parse(text.slice(i, end)) : raw;
          if (keys.has(key)) return `the key ${JSON.stringify(key.slice(0, 64))} occurs twice in one object`;
          keys.add(key);
        }
        i = end - 1;
      }
    }
  }
  return undefined;
}

/** The index behind the closing quote of the string that opens at `start`. */
function stringEnd(text: string, start: number): number {
  let i = start + 1;
  for (let unit = text.charCodeAt(i); unit !== QUOTE; unit = text.charCodeAt(i)) i += unit === BACKSLASH ? 2 : 1;
  return i + 1;
}

/** A string is a key if a colon follows it: in valid JSON nothing else can. */
function isKey(text: string, end: number): boolean {
  for (let i = end; ; i++) {
    const unit = text.charCodeAt(i);
    if (unit === COLON) return true;
    if (unit !== 32 && unit !== 9 && unit !== 10 && unit !== 13) return false;
  }
}

/** Bytes of a value as UTF-8 JSON without spaces: how sizes of objects are counted. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value), "utf8");
