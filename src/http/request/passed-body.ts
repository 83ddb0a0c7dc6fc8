/** Reads bodies of which parts are passed on as they came: of a long one, nothing is built that is not needed. */
import type { z } from "zod";
import { Problem } from "../../protocol/codes.ts";
import { isObject, type JsonObject, parseStrict } from "../../protocol/json.ts";
import { isJsonValue } from "../../protocol/large-frames.ts";
import { builtFrom, LARGE_TEXT_CHARS, outermostOf } from "../../protocol/outermost.ts";
import { rawValue } from "../../protocol/scan.ts";
import { BODY_FIELDS_MAX } from "../limits.ts";

/** The longest object that is read, besides being passed on: a member's state or metadata. Longer ones are refused by their texts. */
const BUILT_MAX_CHARS = 4096;

export interface PassedBody {
  /** The fields. Of a long body, unknown ones are null, and objects and arrays longer than BUILT_MAX_CHARS are empty. */
  readonly value: JsonObject;
  /** The text of a field's value, as it was sent. */
  readonly textOf: (field: string) => string | undefined;
}

export const cannotBeRead = (why: string): Problem =>
  new Problem("invalid_request", `The body cannot be read: ${why}.`);
const notAnObject = (): Problem => new Problem("invalid_request", "The body must be a JSON object.");

/** Throws a Problem also if the outermost object repeats a key. A short body has no more than BODY_FIELDS_MAX fields. */
export function readPassedBody(text: string, schema: z.ZodType): PassedBody {
  if (text.length <= LARGE_TEXT_CHARS) {
    const value = objectIn(text, true);
    return { value, textOf: (field) => rawValue(text, field) };
  }
  const found = outermostOf(text, fieldsOf(schema), BODY_FIELDS_MAX);
  if (typeof found === "string") throw !text.startsWith("{") && isJsonValue(text) ? notAnObject() : cannotBeRead(found);
  const { texts, unknown } = found;
  // Not by assignment, which would take `__proto__` for the prototype.
  const value = Object.fromEntries([
    ...Array.from(texts, ([key, json]) => [key, builtFrom(json, BUILT_MAX_CHARS)]),
    ...unknown.map((key) => [key, null]),
  ]);
  return { value, textOf: (field) => texts.get(field) };
}

const fieldsOf = (schema: z.ZodType): ReadonlySet<string> =>
  new Set("shape" in schema ? Object.keys(schema.shape as object) : []);

/** `outermostOnly`: the inside of its fields is not checked. */
export function objectIn(text: string, outermostOnly: boolean): JsonObject {
  const parsed = parseStrict(text, outermostOnly);
  if (!parsed.ok) throw cannotBeRead(parsed.problem);
  if (!isObject(parsed.value)) throw notAnObject();
  return parsed.value;
}
