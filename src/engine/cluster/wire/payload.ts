/**
 * How long texts between nodes may be. Lists (member changes, responses, heartbeats) are split into items far below the payload
 * limit of a transport. An item that cannot be split, for example a large message, is sent in fragments (fragments.ts). All sizes
 * are bytes of UTF-8: a character may need three, and each layer of JSON around a string doubles its quotes.
 */
import type { Envelope } from "../../engine.ts";

/**
 * No node sends a longer text, and every node accepts one of this length. The longest text that clients can cause is a message of
 * 66 KiB with metadata of 4 KiB; it is twice as long when it is repeated inside a response.
 */
export const TEXT_MAX_BYTES = 1024 * 1024;

/** Lists are split at this size: half of the smallest payload limit that is advised, so that items rarely need fragments. */
export const ITEM_MAX_BYTES = 32 * 1024;

/** Bound: parts per response or heartbeat, 512 MiB of text. A longer response is not sent, and the requesting node gets none. */
export const PARTS_MAX = 16_384;

/** Data and metadata of one message, in characters: at three bytes each it still fits into a text with its envelope. */
export const MESSAGE_MAX_CHARS = TEXT_MAX_BYTES / 4;

/** Checked before a sequence number is given: a text that cannot be sent would be a gap. Limits of clients are far below this. */
export const fits = ({ metadataJson, dataJson }: Envelope): boolean =>
  dataJson.length + (metadataJson?.length ?? 0) <= MESSAGE_MAX_CHARS;

/** Text of a request that only the nodes' parts understand (requests/node-texts.ts): the longest has 1,000 channel names. It is escaped once more. */
export const REQUEST_TEXT_MAX_CHARS = 256 * 1024;

/** Text of a response to such a request, and how much of it one part carries. A longer one is not sent. */
export const RESPONSE_TEXT_MAX_CHARS = 4 * 1024 * 1024;
export const PIECE_CHARS = 8 * 1024;

/** Text of a notification: with its first line it still fits into a text. A longer one is dropped. */
export const NOTIFICATION_MAX_BYTES = TEXT_MAX_BYTES - 1024;

export const jsonBytes = (entry: unknown): number => Buffer.byteLength(JSON.stringify(entry));

/**
 * Splits a list, in order, into chunks of at most ITEM_MAX_BYTES as JSON; a larger entry is a chunk of its own. An empty list gives
 * one empty chunk.
 */
export function chunksOf<T>(entries: readonly T[], bytesOf: (entry: T) => number = jsonBytes): T[][] {
  return entries.length <= 1 ? [[...entries]] : [...chunked(entries, bytesOf)];
}

/** The same, one chunk at a time. */
export function* chunked<T>(entries: Iterable<T>, bytesOf: (entry: T) => number = jsonBytes): Generator<T[]> {
  let chunk: T[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const size = bytesOf(entry) + 1;
    if (chunk.length > 0 && bytes + size > ITEM_MAX_BYTES) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(entry);
    bytes += size;
  }
  yield chunk;
}
