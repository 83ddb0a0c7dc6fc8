/**
 * Strict parsing of JSON from clients. JSON.parse keeps the last of two equal keys where other parsers keep the first, so such an
 * ambiguous text is refused.
 */
import { scanObject, stringEnd } from "./scan.ts";

const QUOTE = 34;
const COLON = 58;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
/** Deeper than any real body. Bounds the memory that a text of nested brackets takes. */
export const DEPTH_MAX = 200;

/** The key is not named, because a body may contain secrets. */
export const KEY_TWICE = "a key occurs twice in one object";
export const NOT_JSON = "it is not valid JSON";
export const TOO_DEEP = `it is nested deeper than ${DEPTH_MAX} levels`;

export type JsonObject = { [key: string]: unknown };

/** `isCanonical`: `JSON.stringify` is known to write the value, and so each part of it, as it was in the text. */
export type StrictJson = { ok: true; value: unknown; isCanonical: boolean } | { ok: false; problem: string };

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * JSON.parse that also refuses a key that occurs twice in one object, and nesting over DEPTH_MAX. With `outermostOnly` nested values
 * are not checked, because they are passed on unchanged.
 */
export function parseStrict(text: string, outermostOnly = false): StrictJson {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, problem: NOT_JSON };
  }
  const isCanonical = !outermostOnly && isWrittenAgain(text, value);
  if (isCanonical || typeof value !== "object") return { ok: true, value, isCanonical };
  const problem = outermostOnly ? duplicateKey(text, value) : findProblem(text, value);
  return problem ? { ok: false, problem } : { ok: true, value, isCanonical };
}

/** JSON.parse keeps one of two equal keys: then the text has more keys than the object. */
const duplicateKey = (text: string, value: unknown): string | undefined =>
  isObject(value) && scanObject(text, "").keys !== Object.keys(value).length ? KEY_TWICE : undefined;

/**
 * A text that is written again exactly as it was has no key twice, and each level takes two characters: so most short texts need
 * no pass over their characters.
 */
const isWrittenAgain = (text: string, value: unknown): boolean =>
  text.length <= 2 * DEPTH_MAX && JSON.stringify(value) === text;

/**
 * `value` is what JSON.parse made of the text. It keeps one of two equal keys: then the text has more keys than the value. So no key needs
 * to be decoded, or remembered.
 */
function findProblem(text: string, value: unknown): string | undefined {
  let depth = 0;
  let keys = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++depth > DEPTH_MAX) return TOO_DEEP;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--;
        break;
      case COLON:
        keys++;
        break;
      case QUOTE:
        i = stringEnd(text, i) - 1;
    }
  }
  return keys === keysIn(value) ? undefined : KEY_TWICE;
}

/** The keys of all objects in a value, which is not nested deeper than DEPTH_MAX. */
function keysIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let keys = 0;
  if (Array.isArray(value)) for (const one of value) keys += keysIn(one);
  else for (const key in value) keys += 1 + keysIn((value as JsonObject)[key]);
  return keys;
}
