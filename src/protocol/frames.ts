/** Decodes client frames: checks their shape only. What a frame may do is decided in realtime/frames/dispatch.ts. */
import { isObject, type JsonObject } from "./json.ts";
import { decodeLargeFrame } from "./large-frames.ts";
import { FRAME_FIELDS_MAX, REQUEST_ID_MAX_CHARS } from "./limits.ts";
import { LARGE_TEXT_CHARS } from "./outermost.ts";
import { scanObject } from "./scan.ts";

/** Fields as they were received: channel names and peer ids are not checked yet. */
export interface ClientFrame {
  readonly type: string;
  readonly requestId: string | undefined;
  readonly channel: unknown;
  readonly to: unknown;
  /** The JSON text of `data`, byte for byte; undefined if there is none. */
  readonly data: string | undefined;
  /** The fields as parsed, for those that few frames have. Unknown ones are here only if the frame is short (large-frames.ts). */
  readonly fields: Readonly<JsonObject>;
}

/** undefined: malformed, so that not even its request id can be echoed. */
export function decodeFrame(text: string): ClientFrame | undefined {
  if (text.length > LARGE_TEXT_CHARS) {
    const large = decodeLargeFrame(text);
    return large && frameOf(large.fields, large.data);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(parsed)) return undefined;
  const plain = plainData(text, parsed);
  let data = plain ?? undefined;
  if (plain === undefined) {
    const { keys, start, end } = scanObject(text, "data");
    // JSON.parse keeps one of two equal keys: a text with more keys than the object is ambiguous.
    if (keys !== Object.keys(parsed).length || keys > FRAME_FIELDS_MAX) return undefined;
    if (start >= 0) data = text.slice(start, end);
  }
  return frameOf(parsed, data);
}

function frameOf(fields: JsonObject, data: string | undefined): ClientFrame | undefined {
  const { type, requestId, channel, to } = fields;
  if (typeof type !== "string") return undefined;
  if (requestId !== undefined && !isRequestId(requestId)) return undefined;
  return { type, requestId, channel, to, data, fields };
}

const DATA = '"data":"';
/** The characters of a member `"key":"value",` that belong neither to the key nor to the value. */
const MEMBER_MARKS = 6;

/**
 * The common case without a scan: all values are strings, and the text has exactly the length that these make. Then it contains no
 * blank, no escape and no key twice, because each of them would make it longer; and without escapes `"data"` can only be the key.
 * Returns null if such a text has no data, undefined if it has to be scanned.
 */
function plainData(text: string, parsed: Readonly<Record<string, unknown>>): string | null | undefined {
  let length = 1;
  let at = -1;
  let fields = 0;
  for (const key in parsed) {
    const value = parsed[key];
    // The scan refuses too many fields.
    if (typeof value !== "string" || ++fields > FRAME_FIELDS_MAX) return undefined;
    if (key === "data") at = length;
    length += key.length + value.length + MEMBER_MARKS;
  }
  if (length !== text.length) return undefined;
  if (at < 0) return null;
  // Keys that look like numbers are enumerated first, wherever they are in the text: then `at` is wrong, and this check fails.
  if (!text.startsWith(DATA, at)) return undefined;
  const start = at + DATA.length - 1;
  return text.slice(start, start + (parsed.data as string).length + 2);
}

const isRequestId = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= REQUEST_ID_MAX_CHARS;

/** The exact text that existing clients send to keep a connection alive. It is recognised without decoding. */
export const PLAIN_PING = '{"type":"ping"}';
