/** The client's side of the protocol: reads frames of a service that may be broken, and makes frames for it. */
import { isObject } from "../protocol/json.ts";
import { HISTORY_PAGE_MAX } from "../protocol/limits.ts";
import type { Mark } from "./mark.ts";
import type { Stored } from "./order.ts";
import type { PresenceChange } from "./roster.ts";

export type ServerFrame =
  /** `connection`: its id, which a later connection names when it recovers. */
  | { readonly type: "welcome"; readonly connection: string }
  | ({ readonly type: "ack"; readonly requestId: string } & AckFields)
  | { readonly type: "error"; readonly requestId: string; readonly code: string; readonly message: string }
  | {
      readonly type: "message";
      readonly channel: string;
      readonly from: string;
      readonly mark: Mark;
      readonly stored: Stored | undefined;
    }
  | { readonly type: "direct"; readonly from: string; readonly mark: Mark }
  | ({ readonly type: "presence"; readonly channel: string } & PresenceChange)
  | { readonly type: "history"; readonly requestId: string; readonly entries: readonly PageEntry[] }
  | { readonly type: "going_away"; readonly retryAfterMs: number }
  /** `pong`, and frames of later versions. */
  | { readonly type: "other" };

/** A message of a page of history. */
export interface PageEntry {
  readonly from: string;
  readonly mark: Mark;
  readonly stored: Stored | undefined;
}

/** What acks say about a channel with history; undefined: the ack did not have the field. */
export interface AckFields {
  readonly pos: string | undefined;
  readonly recovered: boolean | undefined;
  readonly replay: number | undefined;
  readonly isDuplicate: boolean;
}

/** No connection has id 0, so a message with this mark counts as never sent. */
const NO_MARK: Mark = { connection: 0, number: 0 };

/** Missing fields become "" or 0, which match no expected value and are therefore reported. */
export function readFrame(text: string): ServerFrame {
  const frame = parse(text);
  switch (frame.type) {
    case "welcome":
      return { type: "welcome", connection: textOf(frame.connection) };
    case "ack":
      return {
        type: "ack",
        requestId: textOf(frame.requestId),
        pos: typeof frame.pos === "string" ? frame.pos : undefined,
        recovered: typeof frame.recovered === "boolean" ? frame.recovered : undefined,
        replay: typeof frame.replay === "number" ? frame.replay : undefined,
        isDuplicate: frame.duplicate === true,
      };
    case "error":
      return {
        type: "error",
        requestId: textOf(frame.requestId),
        code: textOf(frame.code),
        message: textOf(frame.message),
      };
    case "message":
      return {
        type: "message",
        channel: textOf(frame.channel),
        from: textOf(frame.from),
        mark: markOf(frame.data),
        stored: storedOf(frame),
      };
    case "direct":
      return { type: "direct", from: textOf(frame.from), mark: markOf(frame.data) };
    case "presence":
      return {
        type: "presence",
        channel: textOf(frame.channel),
        joined: peersOf(frame.joined),
        left: peersOf(frame.left),
        snapshot: frame.snapshot === true,
      };
    case "history":
      return {
        type: "history",
        requestId: textOf(frame.requestId),
        entries: Array.isArray(frame.messages) ? frame.messages.map(entryOf) : [],
      };
    case "going_away":
      return { type: "going_away", retryAfterMs: typeof frame.retryAfterMs === "number" ? frame.retryAfterMs : 0 };
    default:
      return { type: "other" };
  }
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** `[connection, number]`, and padding behind them if messages are to be long. */
function markOf(data: unknown): Mark {
  if (!Array.isArray(data) || data.length < 2 || data.length > 3) return NO_MARK;
  const [connection, number]: unknown[] = data;
  return Number.isSafeInteger(connection) && Number.isSafeInteger(number)
    ? { connection: connection as number, number: number as number }
    : NO_MARK;
}

const storedOf = ({ pos, time, replay }: Readonly<Record<string, unknown>>): Stored | undefined =>
  typeof pos === "string" ? { pos, timeMs: typeof time === "number" ? time : 0, isReplay: replay === true } : undefined;

function entryOf(value: unknown): PageEntry {
  const entry = isObject(value) ? value : {};
  return { from: textOf(entry.from), mark: markOf(entry.data), stored: storedOf(entry) };
}

const peersOf = (list: unknown): string[] =>
  Array.isArray(list) ? list.map((entry: unknown) => (isObject(entry) ? textOf(entry.peerId) : "")) : [];

/** `recover`: the position behind which the subscription continues; `connection`: the earlier connection, whose messages it leaves out. */
export const subscribeFrame = (
  channel: string,
  requestId: string,
  resume: { readonly recover?: string; readonly connection?: string | undefined } = {},
): string => JSON.stringify({ type: "subscribe", channel, ...resume, requestId });

/** Asks for the newest page of a channel's history. */
export const historyFrame = (channel: string, requestId: string): string =>
  JSON.stringify({ type: "history", channel, limit: HISTORY_PAGE_MAX, requestId });

export const unsubscribeFrame = (channel: string, requestId: string): string =>
  JSON.stringify({ type: "unsubscribe", channel, requestId });

export const publishFrame = (
  channel: string,
  { connection, number }: Mark,
  requestId: string,
  { id, padding }: { readonly id?: string | undefined; readonly padding?: string | undefined } = {},
): string => {
  const data = padding ? [connection, number, padding] : [connection, number];
  return JSON.stringify({ type: "publish", channel, data, id, requestId });
};

export const sendFrame = (to: string, { connection, number }: Mark, requestId: string): string =>
  JSON.stringify({ type: "send", to, data: [connection, number], requestId });

export const PING_FRAME = JSON.stringify({ type: "ping" });
