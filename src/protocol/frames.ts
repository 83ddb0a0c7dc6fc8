/** Client frames: text → a frame whose shape is known. What a frame may do is decided elsewhere. */
import { isObject } from "./json.ts";
import { REQUEST_ID_MAX_CHARS } from "./limits.ts";
import { scanObject } from "./scan.ts";

/** Fields as they came: names are not checked yet. */
export interface ClientFrame {
  readonly type: string;
  readonly requestId: string | undefined;
  readonly channel: unknown;
  readonly to: unknown;
  readonly includeSenderMetadata: unknown;
  /** The JSON text of `data`, byte for byte; undefined if there is none. */
  readonly data: string | undefined;
}

/** undefined: malformed, and nothing of it can be trusted enough to echo. */
export function decodeFrame(text: string): ClientFrame | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(parsed) || typeof parsed.type !== "string") return undefined;
  const requestId = parsed.requestId;
  if (requestId !== undefined && !isRequestId(requestId)) return undefined;
  let data = plainData(text, parsed);
  if (data === undefined) {
    const { keys, start, end } = scanObject(text, "data");
    // JSON.parse kept one of two equal keys: the text means two things.
    if (keys !== Object.keys(parsed).length) return undefined;
    if (start >= 0) data = text.slice(start, end);
  }
  return {
    type: parsed.type,
    requestId,
    channel: parsed.channel,
    to: parsed.to,
    includeSenderMetadata: parsed.includeSenderMetadata,
    data,
  };
}

const DATA = '"data":"';
/** Of a member `"key":"value",` with its comma or brace: what is neither key nor value. */
const MEMBER_MARKS = 6;

/**
 * The usual case without a scan: all values are strings, and the text is exactly as long as they make it. Then it has no blank,
 * no escape and no key twice, for each of them makes it longer; and without escapes a quoted `data` can only be the key.
 */
function plainData(text: string, parsed: Readonly<Record<string, unknown>>): string | undefined {
  let length = 1;
  let at = -1;
  for (const key in parsed) {
    const value = parsed[key];
    if (typeof value !== "string") return undefined;
    if (key === "data") at = length;
    length += key.length + value.length + MEMBER_MARKS;
  }
  // Keys that look like numbers come first here, wherever they stand in the text.
  if (length !== text.length || at < 0 || !text.startsWith(DATA, at)) return undefined;
  const start = at + DATA.length - 1;
  return text.slice(start, start + (parsed.data as string).length + 2);
}

const isRequestId = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= REQUEST_ID_MAX_CHARS;

/** Exactly what existing clients send to keep a connection alive: recognised before anything is decoded. */
export const PLAIN_PING = '{"type":"ping"}';
