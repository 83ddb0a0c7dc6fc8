/** Decodes large frames without building what is passed on unread. */
import type { JsonObject } from "./json.ts";
import { FRAME_FIELDS_MAX } from "./limits.ts";
import { builtFrom, LARGE_TEXT_CHARS, outermostOf } from "./outermost.ts";
import { valueEndIn } from "./value-end.ts";

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
  /** Of FRAME_FIELDS, those that it has. `data` is null here, and objects and arrays are empty: nothing reads what is in them. */
  readonly fields: JsonObject;
  /** The text of `data`; `undefined` if there is none. */
  readonly data: string | undefined;
}

/** `undefined`: not the JSON of an object, ambiguous because a key occurs twice, or of too many fields. */
export function decodeLargeFrame(text: string): LargeFrame | undefined {
  const found = outermostOf(text, FRAME_FIELDS, FRAME_FIELDS_MAX);
  if (typeof found === "string") return undefined;
  const fields: JsonObject = {};
  for (const [key, json] of found.texts) fields[key] = key === "data" ? null : builtFrom(json, 0);
  return { fields, data: found.texts.get("data") };
}

/** Whether the whole text is one JSON value, without blanks around it. Nothing long is built. */
export const isJsonValue = (text: string): boolean =>
  text.length > LARGE_TEXT_CHARS ? valueEndIn(text, 0) === text.length : isJson(text);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
