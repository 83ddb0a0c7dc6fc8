/** What the live tail shows of one event. It never holds a secret, a token or a query string: the events have none. */
import type { AppId } from "../../base/ids.ts";
import { DATA_MAX_CHARS } from "./limits.ts";

/** In the stream there is also `dropped`, which is no event: it counts those that the reader did not get. */
export const TAIL_KINDS = [
  "connect",
  "refuse",
  "subscribe",
  "unsubscribe",
  "publish",
  "send",
  "presence",
  "error",
  "close",
  // New kinds at the end: nodes send each other the kinds that a reader wants as bits.
  "state",
  "renew",
] as const;

export type TailKind = (typeof TAIL_KINDS)[number];

/** A set of kinds: one bit per kind. */
export type KindSet = number;

export const kindBit = (kind: TailKind): KindSet => 1 << TAIL_KINDS.indexOf(kind);

export const kindSet = (kinds: readonly TailKind[]): KindSet => kinds.reduce((set, kind) => set | kindBit(kind), 0);

export interface TailEvent {
  /** Unix ms. */
  readonly at: number;
  readonly kind: TailKind;
  /** The id of the application; absent for a refused connect whose key is unknown. */
  readonly app?: AppId | undefined;
  readonly channel?: string | undefined;
  /** For `send` the sender. */
  readonly peerId?: string | undefined;
  /** The receiver of a `send`. */
  readonly to?: string | undefined;
  readonly change?: "joined" | "left" | undefined;
  readonly keyId?: string | undefined;
  readonly connectionId?: string | undefined;
  readonly address?: string | undefined;
  /** The origin of the web page, of a refused connect. */
  readonly origin?: string | undefined;
  readonly nodeId: string;
  /** The code of an error or refusal, or the WebSocket close code. */
  readonly code?: string | number | undefined;
  /** The size of the payload. */
  readonly bytes?: number | undefined;
}

/**
 * An event as one line of JSON, with its payload if that may be shown. A payload that is too long becomes a text with its beginning,
 * and `truncated`.
 */
export function lineOf(eventJson: string, dataJson: string | undefined): string {
  if (dataJson === undefined) return eventJson;
  const open = eventJson.slice(0, -1);
  if (dataJson.length <= DATA_MAX_CHARS) return `${open},"data":${onOneLine(dataJson)}}`;
  const beginning = dataJson.slice(0, DATA_MAX_CHARS).toWellFormed();
  return `${open},"data":${JSON.stringify(beginning)},"truncated":true}`;
}

/** Clients may send JSON with line breaks between its parts; inside its texts there are none. A line break would end the line. */
const onOneLine = (json: string): string => json.replace(/[\r\n]/g, " ");

/** What stands in the stream for events that a reader did not get. */
export const droppedLine = (at: number, count: number): string => JSON.stringify({ at, kind: "dropped", count });
