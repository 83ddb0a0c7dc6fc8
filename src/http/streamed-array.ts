/**
 * A JSON array of any length: read page by page and sent in small pieces at the pace of its reader, so that a long list neither
 * fills the memory nor keeps other requests waiting. If a page cannot be read, or the reader is too slow, the connection is
 * cut, and the reader never takes a part of the list for all of it.
 */

import type { Call } from "./call.ts";
import { STREAM_PIECE_CHARS, STREAM_WHOLE_MAX_CHARS } from "./limits.ts";
import type { Streams } from "./streams.ts";

/** Says why an answer that had begun could not be finished. */
export type Cut = (call: Call, error: unknown) => void;

type Pages<Item> = AsyncGenerator<readonly Item[], undefined> | Generator<readonly Item[], undefined>;

export interface Streamed<Item> {
  /** Items come in pages; only the last has less than `pageSize`. */
  readonly pages: Pages<Item>;
  /** An item as JSON. */
  readonly write: (item: Item) => string;
  readonly pageSize: number;
  /** Asked before each further piece; throws where the reader may not have it any more. */
  readonly check: () => unknown;
  readonly cut: (error: unknown) => void;
  /** The key or the application that reads it: each may read so many at once. */
  readonly owner: string;
  readonly streams: Streams;
  /** What stands around the array: the answer is an object with the array in it. */
  readonly around?: { readonly before: string; readonly after: string };
}

export async function streamedArray<Item>(list: Streamed<Item>): Promise<Response> {
  const { pages, write, pageSize, check, cut, owner, streams, around = { before: "", after: "" } } = list;
  const first = await nextOf(pages);
  const pieces = piecesOf(first, pages, write);
  // A short list is an ordinary answer.
  const isOnePage = !first || first.length < pageSize;
  const beginning = isOnePage ? await upTo(pieces, STREAM_WHOLE_MAX_CHARS) : { text: "", isAll: false };
  if (beginning.isAll) return answer(`${around.before}[${beginning.text}]${around.after}`);
  let next = `${around.before}[${beginning.text}`;
  let fail: () => void = () => undefined;
  let isOver = false;
  const end = async (): Promise<void> => {
    isOver = true;
    stream.end();
    await pages.return(undefined);
  };
  const stream = streams.begin(owner, (reason) => {
    cut(reason);
    fail();
    // Its page may be on its way from the store: then it is dropped when it comes.
    void end();
  });
  const body = new ReadableStream(
    {
      start(controller) {
        // Without a reason: the runtime would print it, and it is in the log already.
        fail = () => controller.error();
      },
      async pull(controller) {
        try {
          // Reads of the embedded store, and writing a piece, end within their turn: others must come in between.
          await new Promise((resolve) => setImmediate(resolve));
          check();
          const piece = (await pieces.next()).value;
          if (isOver) return;
          const text = next + (piece ?? `]${around.after}`);
          next = "";
          stream.sent(text.length);
          controller.enqueue(text);
          if (piece !== undefined) return;
          stream.end();
          controller.close();
        } catch (error) {
          if (isOver) return;
          stream.end();
          cut(error);
          controller.error();
        }
      },
      async cancel() {
        await end();
      },
    },
    { highWaterMark: 0 },
  );
  return answer(body);
}

const answer = (body: string | ReadableStream): Response =>
  new Response(body, { headers: { "Content-Type": "application/json;charset=utf-8" } });

/** The items of all pages as JSON, with commas, in pieces of about STREAM_PIECE_CHARS. */
async function* piecesOf<Item>(
  first: readonly Item[] | undefined,
  pages: Pages<Item>,
  write: (item: Item) => string,
): AsyncGenerator<string, undefined> {
  let comma = "";
  for (let page = first; page; page = await nextOf(pages)) {
    let text = "";
    for (const item of page) {
      text += comma + write(item);
      comma = ",";
      if (text.length < STREAM_PIECE_CHARS) continue;
      yield text;
      text = "";
    }
    if (text !== "") yield text;
  }
}

/** Pieces together until there are none, or they have more than so many characters. */
async function upTo(
  pieces: AsyncGenerator<string, undefined>,
  maxChars: number,
): Promise<{ text: string; isAll: boolean }> {
  let text = "";
  while (text.length <= maxChars) {
    const piece = (await pieces.next()).value;
    if (piece === undefined) return { text, isAll: true };
    text += piece;
  }
  return { text, isAll: false };
}

/** undefined: there is none. */
async function nextOf<Item>(pages: Pages<Item>): Promise<readonly Item[] | undefined> {
  for (;;) {
    const { value, done } = await pages.next();
    if (done || value === undefined) return undefined;
    if (value.length > 0) return value;
  }
}
