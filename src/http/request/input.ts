/** Reads and checks what a request carries: its body and its query. */
import type { z } from "zod";
import { Problem } from "../../protocol/codes.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { rawValue } from "../../protocol/scan.ts";
import { QUERY_FIELDS_MAX, QUERY_MAX_CHARS, REST_BODY_MAX_BYTES } from "../limits.ts";
import { refuseManyValues } from "./body-bounds.ts";
import type { Call } from "./call.ts";
import { objectIn, type PassedBody, readPassedBody } from "./passed-body.ts";
import { isQueryTooLong, queryOf } from "./query.ts";
import { sentenceOf } from "./sentence.ts";
import { refuseUnknownFields } from "./unknown-fields.ts";

/** The connection ended before the body was complete: no response can reach the client, and nothing has failed here. */
export class ClientGone extends Error {}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

export interface ReadBody<Body> extends Pick<PassedBody, "textOf"> {
  readonly body: Body;
  /** As it was sent. */
  readonly text: string;
}

/**
 * The checked body. Fields that the schema does not know are left out, and named in X-Parley-Ignored so that typos are noticed.
 * `isPassedOn`: only the outermost object may not repeat a key; what is inside its fields is passed on unread.
 */
export async function readBody<T extends z.ZodType>(
  call: Call,
  schema: T,
  isPassedOn: boolean,
  maxBytes?: number,
): Promise<ReadBody<z.infer<T>>> {
  const text = (await readText(call, maxBytes)) || "{}";
  const { value, textOf } = isPassedOn ? readPassedBody(text, schema) : readWholeBody(text);
  refuseUnknownFields(schema, value);
  const body = check(schema, value);
  reportIgnoredFields(call, value, schema);
  return { body, text, textOf };
}

export const readText = async (call: Call, maxBytes = REST_BODY_MAX_BYTES): Promise<string> =>
  decode(await readBytes(call.request, maxBytes)).trim();

const readWholeBody = (text: string): PassedBody => ({
  value: parseObject(text),
  textOf: (field) => rawValue(text, field),
});

export function parseObject(text: string): JsonObject {
  refuseManyValues(text);
  return objectIn(text, false);
}

export function readQuery<T extends z.ZodType>(call: Call, schema: T): z.infer<T> {
  if (isQueryTooLong(call.request))
    throw new Problem(
      "invalid_request",
      `The query has over ${QUERY_MAX_CHARS} characters or ${QUERY_FIELDS_MAX} parameters.`,
    );
  const value = Object.fromEntries(queryOf(call.request));
  refuseUnknownFields(schema, value);
  return check(schema, value);
}

/** Lists in X-Parley-Ignored the query parameters that neither the endpoint nor its guard reads. Not of a long query. */
export function reportIgnoredQuery(call: Call, schema: z.ZodType | undefined, alsoKnown: readonly string[]): void {
  if (!call.request.url.includes("?")) return;
  const known = new Set([...alsoKnown, ...(schema && "shape" in schema ? Object.keys(schema.shape as object) : [])]);
  report(
    call,
    [...queryOf(call.request).keys()].filter((name) => !known.has(name)),
  );
}

/** Fields that one error names. */
const DETAILS_MAX = 20;
const DETAIL_FIELD_MAX_CHARS = 100;

export function check<T extends z.ZodType>(schema: T, value: unknown): z.infer<T> {
  const result = schema.safeParse(value, { reportInput: false, error: sentenceOf });
  if (result.success) return result.data;
  // One message per field, even if several rules fail.
  const messages = new Map<string, string>();
  for (const { path, message } of result.error.issues) {
    const field = path.map(String).join(".").slice(0, DETAIL_FIELD_MAX_CHARS);
    if (!messages.has(field)) messages.set(field, message);
  }
  const details = [...messages].slice(0, DETAILS_MAX).map(([field, message]) => ({ field, message }));
  const { field, message } = details[0] ?? { field: "", message: "not valid" };
  throw new Problem("invalid_request", `${field ? `${field}: ` : ""}${message}`, undefined, { details });
}

/** Lists in X-Parley-Ignored the fields of a body that its schema does not know. */
export function reportIgnoredFields(call: Call, body: object, schema: z.ZodType): void {
  if (!("shape" in schema)) return;
  const shape = schema.shape as object;
  report(
    call,
    Object.keys(body).filter((key) => !Object.hasOwn(shape, key)),
  );
}

const IGNORED_MAX = 20;
const IGNORED_NAME_MAX_CHARS = 64;

function report(call: Call, names: readonly string[]): void {
  if (names.length === 0) return;
  call.ignored ??= new Set();
  const { ignored, headers } = call;
  for (const name of names)
    if (ignored.size < IGNORED_MAX)
      ignored.add(encodeURIComponent(name.slice(0, IGNORED_NAME_MAX_CHARS).toWellFormed()));
  headers["X-Parley-Ignored"] = [...ignored].join(", ");
}

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new Problem("invalid_request", "The body is not valid UTF-8.");
  }
}

/** Holds at most `max` bytes, whether or not Content-Length announces the size. */
/** Throws if there are more. */
export async function readBytes(request: Request, max: number): Promise<Uint8Array> {
  const tooLarge = (): Problem => new Problem("body_too_large", `The body is over ${max} bytes.`);
  const announced = request.headers.get("content-length");
  if (announced !== null && Number(announced) > max) throw tooLarge();
  try {
    if (announced !== null) return await request.bytes();
    if (!request.body) return new Uint8Array();
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of request.body) {
      size += part.length;
      if (size > max) throw tooLarge();
      parts.push(part);
    }
    return Buffer.concat(parts);
  } catch (error) {
    throw isAborted(error) ? new ClientGone() : error;
  }
}

/** Bun throws this when the connection ends or times out before the body is complete. */
const isAborted = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";
