/**
 * `parley-client/history`: earlier messages of a channel that keeps them.
 *
 *     let page = await history(chat, { limit: 50 });        // the newest first
 *     if (page.more) page = await page.next();
 *     for await (const message of messagesOf(chat)) …
 */
import type { Channel } from "./channel.ts";
import { ParleyError } from "./events/errors.ts";
import type { Frame } from "./events/frames.ts";
import type { Message } from "./events/message.ts";

export interface HistoryOptions {
  /** 1 to 100; 50 by default. */
  readonly limit?: number;
  /** Positions of messages. With `before`, or neither: newest first. With `after`: oldest first. */
  readonly before?: string;
  readonly after?: string;
}

export interface HistoryPage<T, M = unknown> {
  readonly messages: readonly Message<T, M>[];
  /** Where the stream of the channel ends; absent on a channel without history. */
  readonly pos?: string;
  /** There is a next page. */
  readonly more: boolean;
  /** The page that follows in the same direction. Of an empty page, the same page again: there may be messages by now. */
  next(): Promise<HistoryPage<T, M>>;
}

/** The wait after `rate_limited`, repeated without end. A connection may ask for ten pages at once, then for five per second. */
const AGAIN_MS = 250;

export async function history<T, M>(channel: Channel<T, M>, options: HistoryOptions = {}): Promise<HistoryPage<T, M>> {
  const { limit, before, after } = options;
  const frame = await ask(channel, {
    type: "history",
    ...(limit !== undefined && { limit }),
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after }),
  });
  const messages = (frame.messages ?? []).map((one) => ({ channel: channel.name, ...one }) as unknown as Message<T, M>);
  const last = messages.at(-1)?.pos;
  return {
    messages,
    ...(frame.pos !== undefined && { pos: frame.pos }),
    more: frame.more === true,
    next: () =>
      history(
        channel,
        last === undefined
          ? options
          : { ...(limit !== undefined && { limit }), ...(after === undefined ? { before: last } : { after: last }) },
      ),
  };
}

/** All messages, page by page. */
export async function* messagesOf<T, M>(
  channel: Channel<T, M>,
  options: HistoryOptions = {},
): AsyncGenerator<Message<T, M>, void> {
  let page = await history(channel, options);
  for (;;) {
    yield* page.messages;
    if (!page.more) return;
    page = await page.next();
  }
}

/** Asks again when it was too often. */
async function ask<T, M>(channel: Channel<T, M>, request: { readonly type: string }): Promise<Frame> {
  for (;;) {
    try {
      return await channel.request(request);
    } catch (error) {
      if (!(error instanceof ParleyError) || error.code !== "rate_limited") throw error;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}
