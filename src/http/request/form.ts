/**
 * Bodies of the application API: JSON, or a form. A form holds only strings: `true` and `false` in any case, `1`, `0` and
 * decimal numbers are converted to the type of their field. In JSON, null for an optional field means that it is absent.
 */
import type { z } from "zod";
import { Problem } from "../../protocol/codes.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { refuseManyFormFields } from "./body-bounds.ts";
import type { Call } from "./call.ts";
import { check, parseObject, type ReadBody, readText, reportIgnoredFields } from "./input.ts";

const FORM = "application/x-www-form-urlencoded";

/** The checked body. An empty one is `{}`, whatever its content type. */
export async function readAnyBody<T extends z.ZodType>(
  call: Call,
  schema: T,
  maxBytes?: number,
): Promise<ReadBody<z.infer<T>>> {
  const text = await readText(call, maxBytes);
  const value = text === "" ? {} : withoutNulls(decoded(text, mediaType(call.request), schema), schema);
  const body = check(schema, value);
  reportIgnoredFields(call, value, schema);
  return { body, text, textOf: noText };
}

/** A form has no JSON texts, and the application API passes nothing on as it came. */
const noText = (): undefined => undefined;

const mediaType = ({ headers }: Request): string =>
  (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";

function decoded(text: string, type: string, schema: z.ZodType): JsonObject {
  if (type === "" || type === "application/json") return parseObject(text);
  if (type !== FORM) throw new Problem("unsupported_media_type", `The body must be application/json or ${FORM}.`);
  // `curl -d '{…}'` labels every body a form. No field name begins with a brace, so such a body is JSON.
  return text.startsWith("{") ? parseObject(text) : parseForm(text, schema);
}

type Shape = Readonly<Record<string, z.ZodType | undefined>>;
const shapeOf = (schema: z.ZodType): Shape => ("shape" in schema ? (schema.shape as Shape) : {});

/** Serialisers of several languages write absent values as null. Fields that accept null keep it. */
function withoutNulls(body: JsonObject, schema: z.ZodType): JsonObject {
  if (!Object.values(body).includes(null)) return body;
  const shape = shapeOf(schema);
  const isAbsent = (name: string): boolean => {
    const field = Object.hasOwn(shape, name) ? shape[name] : undefined;
    return field !== undefined && !field.safeParse(null).success && field.safeParse(undefined).success;
  };
  return Object.fromEntries(Object.entries(body).filter(([name, value]) => value !== null || !isAbsent(name)));
}

export function parseForm(text: string, schema: z.ZodType): JsonObject {
  refuseManyFormFields(text);
  const shape = shapeOf(schema);
  const fields = new Map<string, unknown>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name)) throw new Problem("invalid_request", "The body cannot be read: a field occurs twice.");
    fields.set(name, Object.hasOwn(shape, name) ? convert(value, shape[name]) : value);
  }
  return Object.fromEntries(fields);
}

/** The first reading of the text that the field accepts; the text itself if there is none, so that the check reports it. */
function convert(text: string, field: z.ZodType | undefined): unknown {
  const readings: unknown[] = [text];
  if (/^(true|1)$/i.test(text)) readings.push(true);
  if (/^(false|0)$/i.test(text)) readings.push(false);
  if (/^-?\d{1,15}(\.\d{1,15})?$/.test(text)) readings.push(Number(text));
  return readings.find((reading) => field?.safeParse(reading).success) ?? text;
}
