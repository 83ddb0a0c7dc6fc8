/**
 * A JSON array of any length: read page by page at the pace of its reader, so that a long list neither fills the memory nor
 * keeps other requests waiting. If a page cannot be read the connection is cut, and the reader never takes a part of
 * the list for all of it.
 */
import type { Call } from "./call.ts";

/** Says why an answer that had begun could not be finished. */
export type Cut = (call: Call, error: unknown) => void;

type Pages<Item> = AsyncGenerator<readonly Item[], undefined> | Generator<readonly Item[], undefined>;

export interface Streamed<Item> {
  /** Items come in pages; only the last has less than `pageSize`. */
  readonly pages: Pages<Item>;
  /** An item as JSON. */
  readonly write: (item: Item) => string;
  readonly pageSize: number;
  /** Asked before each further page; throws where the reader may not have it any more. */
  readonly check: () => unknown;
  readonly cut: (error: unknown) => void;
  /** What stands around the array: the answer is an object with the array in it. */
  readonly around?: { readonly before: string; readonly after: string };
}

export async function streamedArray<Item>(list: Streamed<Item>): Promise<Response> {
  const { pages, write, pageSize, check, cut, around = { before: "", after: "" } } = list;
  const joined = (items: readonly Item[]): string => items.map((item) => write(item)).join(",");
  let page = await nextOf(pages);
  // A list that fits into one page is an ordinary answer.
  if (!page || page.length < pageSize) return answer(`${around.before}[${joined(page ?? [])}]${around.after}`);
  let isBegun = false;
  const stream = new ReadableStream(
    {
      async pull(controller) {
        try {
          if (isBegun) {
            // Reads of the embedded store end within their turn: others must come in between.
            await new Promise((resolve) => setImmediate(resolve));
            check();
            page = await nextOf(pages);
          }
          controller.enqueue(page ? `${isBegun ? "," : `${around.before}[`}${joined(page)}` : `]${around.after}`);
          isBegun = true;
          if (!page) controller.close();
        } catch (error) {
          cut(error);
          // Without a reason: the runtime would print it, and it is in the log already.
          controller.error();
        }
      },
      async cancel() {
        await pages.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
  return answer(stream);
}

const answer = (body: string | ReadableStream): Response =>
  new Response(body, { headers: { "Content-Type": "application/json;charset=utf-8" } });

/** undefined: there is none. */
async function nextOf<Item>(pages: Pages<Item>): Promise<readonly Item[] | undefined> {
  for (;;) {
    const { value, done } = await pages.next();
    if (done || value === undefined) return undefined;
    if (value.length > 0) return value;
  }
}
