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
  const { keys, start, end } = scanObject(text, "data");
  // JSON.parse kept one of two equal keys: the text means two things.
  if (keys !== Object.keys(parsed).length) return undefined;
  return {
    type: parsed.type,
    requestId,
    channel: parsed.channel,
    to: parsed.to,
    includeSenderMetadata: parsed.includeSenderMetadata,
    data: start < 0 ? undefined : text.slice(start, end),
  };
}

const isRequestId = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= REQUEST_ID_MAX_CHARS;

/** Exactly what existing clients send to keep a connection alive: recognised before anything is decoded. */
export const PLAIN_PING = '{"type":"ping"}';
