/**
 * A JSON array of any length: read page by page and sent in small pieces at the client's pace, so that a long list neither fills
 * the memory nor delays other requests. If a page cannot be read, or the client reads too slowly, the connection is cut, so
 * that a client never takes a part of the list for all of it.
 */
import { STREAM_PIECE_CHARS, STREAM_WHOLE_MAX_CHARS } from "../limits.ts";
import type { Call } from "../request/call.ts";
import { jsonTextResponse } from "./json.ts";
import type { StreamedResponses } from "./streamed-responses.ts";

/** Logs why a response that had begun could not be finished. */
export type LogIncomplete = (call: Call, error: unknown) => void;

type Pages<Item> = AsyncGenerator<readonly Item[], undefined> | Generator<readonly Item[], undefined>;

export interface Streamed<Item> {
  /** Only the last page has fewer than `pageSize` items. */
  readonly pages: Pages<Item>;
  /** Returns an item as JSON. */
  readonly write: (item: Item) => string;
  readonly pageSize: number;
  /** Called before each piece; throws if the client may not read it any more. */
  readonly check: () => unknown;
  /** Logs why the list could not be sent to its end. */
  readonly logIncomplete: (error: unknown) => void;
  /** The key or the application that reads the list, of which each has a limit of concurrent streams. */
  readonly owner: string;
  readonly responses: StreamedResponses;
  /** Text before and after the array, where the response is an object that holds it. */
  readonly around?: { readonly before: string; readonly after: string };
}

export async function streamedArray<Item>(list: Streamed<Item>): Promise<Response> {
  const { pages, write, pageSize, check, logIncomplete, owner, responses, around = { before: "", after: "" } } = list;
  const first = await nextOf(pages);
  const pieces = piecesOf(first, pages, write);
  // A short list is not streamed.
  const isOnePage = !first || first.length < pageSize;
  const beginning = isOnePage ? await collect(pieces, STREAM_WHOLE_MAX_CHARS) : { text: "", isAll: false };
  if (beginning.isAll) return jsonTextResponse(`${around.before}[${beginning.text}]${around.after}\n`);
  let next = `${around.before}[${beginning.text}`;
  let fail: () => void = () => undefined;
  let isOver = false;
  const end = async (): Promise<void> => {
    isOver = true;
    stream.end();
    await pages.return(undefined);
  };
  const stream = responses.begin(owner, (reason) => {
    logIncomplete(reason);
    fail();
    // A page that is being read from the store is dropped when it arrives.
    void end();
  });
  const body = new ReadableStream(
    {
      start(controller) {
        // Without a reason: Bun would print it, and the log has it already.
        fail = () => controller.error();
      },
      async pull(controller) {
        try {
          // SQLite reads and writing a piece are synchronous: give other requests a turn in between.
          await new Promise((resolve) => setImmediate(resolve));
          check();
          const piece = (await pieces.next()).value;
          if (isOver) return;
          const text = next + (piece ?? `]${around.after}\n`);
          next = "";
          stream.sent(text.length);
          controller.enqueue(text);
          if (piece !== undefined) return;
          stream.end();
          controller.close();
        } catch (error) {
          if (isOver) return;
          stream.end();
          logIncomplete(error);
          controller.error();
        }
      },
      async cancel() {
        await end();
      },
    },
    { highWaterMark: 0 },
  );
  return jsonTextResponse(body);
}

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

/** Joins pieces until there are none left, or they exceed `maxChars`. */
async function collect(
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

/** The next page that is not empty; undefined if there is none. */
async function nextOf<Item>(pages: Pages<Item>): Promise<readonly Item[] | undefined> {
  for (;;) {
    const { value, done } = await pages.next();
    if (done || value === undefined) return undefined;
    if (value.length > 0) return value;
  }
}
