/** The format of a file by its first bytes: what the sender calls it is not trusted. */
import type { RecordingFormat, RecordingType } from "../../store/contract/recordings.ts";

/** Enough for the signatures below: WebM's document type is within these bytes. */
export const SIGNATURE_BYTES = 64;

export function formatOf(head: Uint8Array): RecordingFormat {
  const text = Buffer.from(head).toString("latin1");
  // Matroska files begin with the same four bytes; WebM has its name in the element 0x4282.
  if (text.startsWith("\x1a\x45\xdf\xa3") && /\x42\x82.{1,8}webm/s.test(text)) return "webm";
  if (text.startsWith("OggS\0")) return "ogg";
  if (text.slice(4, 8) === "ftyp") return "mp4";
  return "other";
}

/** All content types that a link can have. A browser executes none of them. */
const CONTENT_TYPES: Readonly<Record<RecordingFormat, { readonly video: string; readonly audio: string } | undefined>> =
  {
    webm: { video: "video/webm", audio: "audio/webm" },
    ogg: { video: "video/ogg", audio: "audio/ogg" },
    mp4: { video: "video/mp4", audio: "audio/mp4" },
    other: undefined,
  };

/** undefined: the file is only offered as a download. */
export const contentTypeOf = (format: RecordingFormat, type: RecordingType): string | undefined =>
  CONTENT_TYPES[format]?.[type === "audio" ? "audio" : "video"];

/** Existing clients expect `.webm` for an unknown format. */
export const extensionOf = (format: RecordingFormat): string => (format === "other" ? "webm" : format);
