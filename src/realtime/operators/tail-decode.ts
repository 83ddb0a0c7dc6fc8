/** What nodes send each other about the tail, checked: none of it is trusted. */
import { type AppId, asAppId } from "../../base/ids.ts";
import { isObject } from "../../protocol/json.ts";
import { TAIL_KINDS, type TailEvent } from "../../telemetry/tail/event.ts";
import { BATCH_EVENTS_MAX, LINE_MAX_CHARS, READERS_MAX } from "../../telemetry/tail/limits.ts";
import { decodeTailQuery, type TailQuery } from "./tail-filter.ts";

/** All readers of one node. Readers that are not in it have ended. */
export interface WatchRequest {
  readonly from: string;
  /** Higher in every request of that node. */
  readonly version: number;
  readonly readers: readonly { readonly id: string; readonly query: TailQuery }[];
}

/** Events that a node has gathered for one reader of another. */
export interface GatheredEvents {
  readonly reader: string;
  readonly lines: readonly string[];
  /** How many events this node has had for that reader, since it began to gather for it. */
  readonly total: number;
}

const NAME_MAX_CHARS = 64;

export function decodeWatchRequest(value: unknown): WatchRequest {
  if (!isObject(value) || !Array.isArray(value.readers) || value.readers.length > READERS_MAX)
    throw new Error("a malformed request of the tail");
  const readers = value.readers.map((one: unknown) => {
    if (!isObject(one)) throw new Error("a reader that is no object");
    return { id: nameOf(one.id), query: decodeTailQuery(one.query) };
  });
  return { from: nameOf(value.from), version: countOf(value.version), readers };
}

/** The ids of the readers that a node gathers for. */
export function decodeWatching(value: unknown): ReadonlySet<string> {
  if (!isObject(value) || !Array.isArray(value.watching) || value.watching.length > READERS_MAX)
    throw new Error("a malformed response of the tail");
  return new Set(value.watching.map(nameOf));
}

export function decodeGathered(value: unknown): GatheredEvents {
  if (!isObject(value) || !Array.isArray(value.lines) || value.lines.length > BATCH_EVENTS_MAX)
    throw new Error("a malformed batch of the tail");
  const lines = value.lines.map((line: unknown) => {
    if (typeof line !== "string" || line.length > LINE_MAX_CHARS) throw new Error("a malformed line of the tail");
    return line;
  });
  return { reader: nameOf(value.reader), lines, total: countOf(value.total) };
}

type Field = Exclude<keyof TailEvent, "kind">;

/** In the order in which they are written. */
const FIELDS: Readonly<Record<Field, "text" | "number" | "either">> = {
  at: "number",
  app: "text",
  channel: "text",
  peerId: "text",
  to: "text",
  change: "text",
  keyId: "text",
  connectionId: "text",
  address: "text",
  origin: "text",
  nodeId: "text",
  code: "either",
  bytes: "number",
};
const TEXT_MAX_CHARS = 256;

/** Written anew from the known fields: whatever else another node has put into it is left out. */
export function checkedLine(line: string, showsData: (app: AppId) => boolean): string {
  const value: unknown = JSON.parse(line);
  if (!isObject(value) || !TAIL_KINDS.some((kind) => kind === value.kind)) throw new Error("an unknown event");
  const event: Record<string, unknown> = { at: 0, kind: value.kind };
  for (const [name, form] of Object.entries(FIELDS)) if (isOfForm(value[name], form)) event[name] = value[name];
  if (typeof event.nodeId !== "string" || typeof value.at !== "number")
    throw new Error("an event without node or time");
  if (value.data !== undefined && typeof event.app === "string" && showsData(asAppId(event.app))) {
    event.data = value.data;
    if (value.truncated === true) event.truncated = true;
  }
  return JSON.stringify(event);
}

const isOfForm = (value: unknown, form: "text" | "number" | "either"): boolean =>
  (form !== "number" && typeof value === "string" && value.length <= TEXT_MAX_CHARS) ||
  (form !== "text" && typeof value === "number" && Number.isFinite(value));

function nameOf(value: unknown): string {
  if (typeof value !== "string" || value === "" || value.length > NAME_MAX_CHARS) throw new Error("a malformed name");
  return value;
}

function countOf(value: unknown): number {
  if (!Number.isSafeInteger(value) || Number(value) < 0) throw new Error("a malformed count");
  return Number(value);
}
