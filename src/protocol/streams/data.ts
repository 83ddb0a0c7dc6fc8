/**
 * What a stream over HTTP holds, as data of messages: which bytes become which messages, and back, exactly. The content type decides:
 *
 *     application/json      one message per value of the outermost array, or the value; its text, byte for byte
 *     text/*                strings of at most ROW_MAX_BYTES, cut between characters; bytes that are no UTF-8 in base64, in an array of one
 *     anything else         strings of base64
 */
import { MESSAGE_MAX_BYTES } from "../limits.ts";
import { skipSpace } from "../scan.ts";
import { valueEndIn } from "../value-end.ts";

/** Bytes of one message of a stream that is not JSON: with its base64 it is within MESSAGE_MAX_BYTES. */
const ROW_MAX_BYTES = 45 * 1024;
/** Values of one JSON body. */
export const BODY_MAX_VALUES = 1000;

const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const COMMA = 44;

export type DataForm = "json" | "text" | "binary";

/** Without its parameters. */
export const mediaTypeOf = (contentType: string): string => (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();

export const isSameType = (one: string, other: string): boolean => mediaTypeOf(one) === mediaTypeOf(other);

/** `contentType` with or without parameters. */
export function dataFormOf(contentType: string): DataForm {
  const media = mediaTypeOf(contentType);
  if (media === "application/json") return "json";
  return media.startsWith("text/") ? "text" : "binary";
}

/** Why a body holds no messages. `empty`: an array without values. */
export type BodyProblem = "not JSON" | "not UTF-8" | "empty" | "too many values" | "value too long";

/** The data of the messages that a body holds. An empty body that is not JSON has none. */
export function messagesOf(body: Uint8Array, form: DataForm): readonly string[] | BodyProblem {
  return form === "json" ? valuesOf(body) : rowsOf(body, form);
}

// JSON

/** Refuses what is no UTF-8, and keeps a byte order mark, which JSON does not allow. */
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function valuesOf(body: Uint8Array): readonly string[] | BodyProblem {
  let text: string;
  try {
    text = strict.decode(body);
  } catch {
    return "not UTF-8";
  }
  const start = skipSpace(text, 0);
  const end = valueEndIn(text, start);
  if (end < 0 || skipSpace(text, end) < text.length) return "not JSON";
  if (text.charCodeAt(start) !== OPEN_BRACKET)
    return isTooLong(text.slice(start, end)) ? "value too long" : [text.slice(start, end)];
  return elementsOf(text, start);
}

/** `text` is valid JSON: the ends of values are where they seem to be. */
function elementsOf(text: string, open: number): readonly string[] | BodyProblem {
  const values: string[] = [];
  let at = skipSpace(text, open + 1);
  if (text.charCodeAt(at) === CLOSE_BRACKET) return "empty";
  for (;;) {
    const end = valueEndIn(text, at);
    const value = text.slice(at, end);
    if (values.length === BODY_MAX_VALUES) return "too many values";
    if (isTooLong(value)) return "value too long";
    values.push(value);
    at = skipSpace(text, end);
    if (text.charCodeAt(at) !== COMMA) return values;
    at = skipSpace(text, at + 1);
  }
}

const isTooLong = (value: string): boolean =>
  value.length > MESSAGE_MAX_BYTES || Buffer.byteLength(value) > MESSAGE_MAX_BYTES;

// Anything else

function rowsOf(body: Uint8Array, form: DataForm): readonly string[] {
  const rows: string[] = [];
  for (let at = 0; at < body.length; ) {
    const end = form === "text" ? textEnd(body, at) : Math.min(at + ROW_MAX_BYTES, body.length);
    rows.push(rowOf(body.subarray(at, end), form));
    at = end;
  }
  return rows;
}

function rowOf(bytes: Uint8Array, form: DataForm): string {
  const base64 = (): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  if (form === "binary") return `"${base64()}"`;
  try {
    return JSON.stringify(strict.decode(bytes));
  } catch {
    return `["${base64()}"]`;
  }
}

/** Where a row of text ends: not within a character, and before its JSON could be too long. */
function textEnd(body: Uint8Array, from: number): number {
  let end = from;
  // A control character takes six bytes as JSON, a quotation mark two.
  for (let json = 0; end < body.length && end - from < ROW_MAX_BYTES; end++) {
    const byte = body[end] ?? 0;
    json += byte < 32 ? 6 : byte === 34 || byte === 92 ? 2 : 1;
    if (json > MESSAGE_MAX_BYTES - 2) break;
  }
  if (end === body.length) return end;
  // At most three bytes of a character precede its last one.
  for (let cut = end; cut > end - 4 && cut > from; cut--) if (((body[cut] ?? 0) & 0xc0) !== 0x80) return cut;
  return end;
}

// Back

/** The bytes of one message of a stream that is not JSON. */
export function bytesOf(dataJson: string, form: DataForm): Uint8Array {
  const isBase64 = form === "binary" || dataJson.charCodeAt(0) === OPEN_BRACKET;
  if (!isBase64) return Buffer.from(JSON.parse(dataJson) as string);
  return Buffer.from(form === "binary" ? dataJson.slice(1, -1) : dataJson.slice(2, -2), "base64");
}

/** A message as those get it who read messages, not bytes: its data is a string, and `isBase64` says of what. */
export function shownOf(dataJson: string, form: DataForm): { readonly dataJson: string; readonly isBase64: boolean } {
  if (form === "binary") return { dataJson, isBase64: true };
  const isRaw = form === "text" && dataJson.charCodeAt(0) === OPEN_BRACKET;
  return isRaw ? { dataJson: dataJson.slice(1, -1), isBase64: true } : { dataJson, isBase64: false };
}
