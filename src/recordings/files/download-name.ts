/**
 * The name of a downloaded recording, wherever it is downloaded: who, what, when, and the id that lists show. `fileName` is a random one that
 * existing clients expect; a folder full of those says nothing.
 */
import type { RecordingRow, RecordingType } from "../../store/contract/recordings.ts";
import { extensionOf } from "./signature.ts";

const WHO_MAX_CHARS = 40;

/** What the page of a meeting records, as lists call it. A backend's upload may be any video or audio. */
const SOURCES: Readonly<Record<RecordingType, string>> = {
  video: "camera",
  audio: "microphone",
  screen: "screen",
  composition: "composition",
};

type Named = Pick<RecordingRow, "id" | "participantUsername" | "type" | "mended" | "startTime" | "format">;

export function downloadName({ id, participantUsername, type, mended, startTime, format }: Named): string {
  const source = mended === null ? type : SOURCES[type];
  return `${[...namesIn(participantUsername), source, timeOf(startTime), id].join("-")}.${extensionOf(format)}`;
}

/** Letters and digits of any script: nothing that a file system, a shell or a header could take for something else. */
function namesIn(name: string): string[] {
  const text = [...name.normalize("NFC").replace(/[^\p{L}\p{N}\p{M}]+/gu, "-")].slice(0, WHO_MAX_CHARS).join("");
  return text.split("-").filter((part) => part !== "");
}

/** 20261117T102100Z. */
const timeOf = (seconds: number): string => new Date(seconds * 1000).toISOString().replace(/[-:]|\.\d+/g, "");

/** The value of Content-Disposition (RFC 6266): older clients read `filename`, which is ASCII only. */
export function dispositionOf(how: "inline" | "attachment", name: string): string {
  const plain = name
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .replace(/[^\x20-\x7e]/gu, "_");
  return `${how}; filename="${plain}"${plain === name ? "" : `; filename*=UTF-8''${encodeURIComponent(name)}`}`;
}
