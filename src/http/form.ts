/**
 * Bodies of the application API: JSON, or a form. A form has only texts: `true` and `false` in any case of letters, `1`, `0` and
 * decimal numbers are read as what the field takes. In JSON, null for an optional field means that it is absent.
 */
import type { z } from "zod";
import { Problem } from "../protocol/codes.ts";
import type { JsonObject } from "../protocol/json.ts";
import { type Call, check, nameIgnored, parseObject, readText } from "./call.ts";

const FORM = "application/x-www-form-urlencoded";

/** The checked body. An empty one is `{}`, whatever its content type. */
export async function readAnyBody<T extends z.ZodType>(
  call: Call,
  schema: T,
  maxBytes?: number,
): Promise<{ body: z.infer<T>; text: string }> {
  const text = await readText(call, maxBytes);
  const value = text === "" ? {} : withoutNulls(decoded(text, mediaType(call.request), schema), schema);
  const body = check(schema, value);
  nameIgnored(call, value, schema);
  return { body, text };
}

const mediaType = ({ headers }: Request): string =>
  (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

function decoded(text: string, type: string, schema: z.ZodType): JsonObject {
  if (type === "" || type === "application/json") return parseObject(text, false);
  if (type !== FORM) throw new Problem("unsupported_media_type", `The body must be application/json or ${FORM}.`);
  // `curl -d '{…}'` calls everything a form; no field begins with a brace, so this one cannot be meant as one.
  return text.startsWith("{") ? parseObject(text, false) : parseForm(text, schema);
}

type Shape = Readonly<Record<string, z.ZodType | undefined>>;
const shapeOf = (schema: z.ZodType): Shape => ("shape" in schema ? (schema.shape as Shape) : {});

/** Serialisers of several languages write absent values so. A field for which null has a meaning of its own keeps it. */
function withoutNulls(body: JsonObject, schema: z.ZodType): JsonObject {
  const shape = shapeOf(schema);
  const isAbsent = (name: string): boolean => {
    const field = Object.hasOwn(shape, name) ? shape[name] : undefined;
    return field !== undefined && !field.safeParse(null).success && field.safeParse(undefined).success;
  };
  return Object.fromEntries(Object.entries(body).filter(([name, value]) => value !== null || !isAbsent(name)));
}

export function parseForm(text: string, schema: z.ZodType): JsonObject {
  const shape = shapeOf(schema);
  const fields = new Map<string, unknown>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name)) throw new Problem("invalid_request", "The body cannot be read: a field occurs twice.");
    fields.set(name, Object.hasOwn(shape, name) ? read(value, shape[name]) : value);
  }
  return Object.fromEntries(fields);
}

/** What the field takes of all that the text may stand for; the text itself if nothing fits, for the error to name. */
function read(text: string, field: z.ZodType | undefined): unknown {
  const meanings: unknown[] = [text];
  if (/^(true|1)$/i.test(text)) meanings.push(true);
  if (/^(false|0)$/i.test(text)) meanings.push(false);
  if (/^-?\d{1,15}(\.\d{1,15})?$/.test(text)) meanings.push(Number(text));
  return meanings.find((meaning) => field?.safeParse(meaning).success) ?? text;
}
