/** What a file is by its own first bytes: what its sender calls it is not believed. */
import type { RecordingFormat, RecordingType } from "../store/recordings.ts";

/** Enough for the signatures below: the document type of WebM stands within its header. */
export const SIGNATURE_BYTES = 64;

export function formatOf(head: Uint8Array): RecordingFormat {
  const text = Buffer.from(head).toString("latin1");
  // Matroska files begin with the same four bytes; WebM says its name behind the element 0x4282.
  if (text.startsWith("\x1a\x45\xdf\xa3") && /\x42\x82.{1,8}webm/s.test(text)) return "webm";
  if (text.startsWith("OggS\0")) return "ogg";
  if (text.slice(4, 8) === "ftyp") return "mp4";
  return "other";
}

/** The whole of what a link may say about a file. Nothing here is run by a browser. */
const CONTENT_TYPES: Readonly<Record<RecordingFormat, { readonly seen: string; readonly heard: string } | undefined>> =
  {
    webm: { seen: "video/webm", heard: "audio/webm" },
    ogg: { seen: "video/ogg", heard: "audio/ogg" },
    mp4: { seen: "video/mp4", heard: "audio/mp4" },
    other: undefined,
  };

/** undefined: not for looking at, only for keeping. */
export const contentTypeOf = (format: RecordingFormat, type: RecordingType): string | undefined =>
  CONTENT_TYPES[format]?.[type === "audio" ? "heard" : "seen"];

/** Existing clients expect `.webm` of what nobody can name. */
export const extensionOf = (format: RecordingFormat): string => (format === "other" ? "webm" : format);
