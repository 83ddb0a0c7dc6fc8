/**
 * How large a text between nodes may be. Lists (announcements, answers, beats) are split into items far below what NATS carries in
 * one payload; one that cannot be split further, a large message for example, travels in fragments (fragments.ts). All sizes are
 * bytes of UTF-8: a character may need three, and a quote in a string doubles with each layer of JSON around it.
 */

/**
 * No node sends a longer text, and every node takes one of this length. The longest that clients can cause: a message of 66 KiB with
 * metadata of 4 KiB, twice as long when it is repeated inside an answer.
 */
export const TEXT_MAX_BYTES = 1024 * 1024;

/** Where lists are split. Half of the smallest payload limit that we advise, so that most items need no fragments anywhere. */
export const ITEM_MAX_BYTES = 32 * 1024;

/** Items of one answer or one beat. Beyond it (512 MiB of text) the answer is not sent, and whoever has asked hears of no answer. */
export const PARTS_MAX = 16_384;

/** What a client said, in characters: at three bytes each it fits into a text also with its envelope. */
export const WORDS_MAX_CHARS = TEXT_MAX_BYTES / 4;

/** With a smaller payload limit of the server everything still works, at the price of very many fragments. */
export const PAYLOAD_ADVISED_BYTES = 64 * 1024;
/** Below it fragments would be mostly head. */
export const PAYLOAD_MIN_BYTES = 1024;

export const jsonBytes = (entry: unknown): number => Buffer.byteLength(JSON.stringify(entry));

/** In order, each at most ITEM_MAX_BYTES as JSON unless it is a single entry; at least one, perhaps empty. */
export function chunksOf<T>(entries: readonly T[], bytesOf: (entry: T) => number = jsonBytes): T[][] {
  if (entries.length <= 1) return [[...entries]];
  let chunk: T[] = [];
  const chunks = [chunk];
  let bytes = 0;
  for (const entry of entries) {
    const size = bytesOf(entry) + 1;
    if (chunk.length > 0 && bytes + size > ITEM_MAX_BYTES) {
      chunk = [];
      chunks.push(chunk);
      bytes = 0;
    }
    chunk.push(entry);
    bytes += size;
  }
  return chunks;
}
