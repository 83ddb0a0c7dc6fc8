/** Pages of a channel's history, for frames, for REST and for operators: all reads wait in one queue, and fail if the store hangs. */
import { appOfSpace, type SpaceId } from "../../base/ids.ts";
import type { HistoryStore, Page, StoredMessage } from "../../history/contract/history.ts";
import * as encode from "../../protocol/encode.ts";
import { HISTORY_PAGE_MAX_BYTES } from "../../protocol/limits.ts";
import { utf8Bytes } from "../../protocol/names.ts";
import { positionText } from "../../protocol/position.ts";
import type { HistoryPageRequest } from "./page-request.ts";
import type { Requester } from "./read-queue.ts";
import type { Streams } from "./streams.ts";

/** What is around the messages of a page, at most: type, request id, channel, position. */
const ENVELOPE_BYTES = 2048;

export interface HistoryPage {
  /** The members `pos`, `messages` and `more`, as JSON. */
  readonly fields: string;
}

export class HistoryPages {
  constructor(
    private readonly parts: {
      readonly history: Pick<HistoryStore, "read" | "open">;
      readonly streams: Pick<Streams, "retentionOf" | "reads" | "calls">;
      /** A page is never longer than what may wait for a connection. */
      readonly maxBytes: number;
    },
  ) {}

  /** `undefined`: the channel keeps no history. Rejects if the store is unavailable. */
  async page(
    spaceId: SpaceId,
    channel: string,
    request: HistoryPageRequest,
    requester: Requester = spaceId,
  ): Promise<HistoryPage | "not here" | undefined> {
    const keep = this.parts.streams.retentionOf(spaceId, channel);
    if (!keep) return undefined;
    const maxBytes = Math.min(HISTORY_PAGE_MAX_BYTES, this.parts.maxBytes) - ENVELOPE_BYTES;
    const page = await this.read(spaceId, channel, request, maxBytes, requester);
    if (page === "not here") return page;
    if (!page) return { fields: `${positionOf(await this.open(spaceId, channel, keep))},"messages":[],"more":false` };
    const { epoch, top, topCheck } = page.state;
    const pos = positionOf({ epoch, offset: top, check: topCheck });
    const { texts, isCut } = entries(page.messages, epoch, maxBytes);
    return { fields: `${pos},"messages":[${texts.join(",")}],"more":${page.more || isCut}` };
  }

  /** As it is stored. `undefined`: a stream begins with its first subscriber or message, and there was none. */
  async read(
    spaceId: SpaceId,
    channel: string,
    { before, after, limit }: HistoryPageRequest,
    maxBytes = HISTORY_PAGE_MAX_BYTES,
    requester: Requester = spaceId,
  ): Promise<Page | "not here" | undefined> {
    const { history, streams } = this.parts;
    const named = before ?? after;
    const range = { ...(before ? { before: before.offset } : after && { after: after.offset }), limit, maxBytes };
    const read = (): Promise<Page | undefined> => streams.calls.run(history.read(spaceId, channel, range));
    const page = await streams.reads.run(appOfSpace(spaceId), requester, read);
    if (!page || !named) return named ? "not here" : page;
    // A position whose message was removed is no mistake where older ones are asked for: they are gone too.
    const isRemoved = named === before && page.check === undefined && named.offset < page.state.first;
    const isHere = named.epoch === page.state.epoch && (named.check === page.check || isRemoved);
    return isHere ? page : "not here";
  }

  private async open(spaceId: SpaceId, channel: string, keep: Parameters<HistoryStore["open"]>[2]) {
    const { history, streams } = this.parts;
    const { epoch, top, topCheck } = await streams.calls.run(history.open(spaceId, channel, keep));
    return { epoch, offset: top, check: topCheck };
  }
}

const positionOf = (position: Parameters<typeof positionText>[0]): string => `"pos":"${positionText(position)}"`;

function entries(
  messages: readonly StoredMessage[],
  epoch: string,
  maxBytes: number,
): { readonly texts: readonly string[]; readonly isCut: boolean } {
  const texts: string[] = [];
  let bytes = 0;
  for (const { offset, check, time, from, metadataJson, dataJson, id } of messages) {
    const fields = encode.storedFields({ epoch, offset, check }, time, id);
    const text = encode.historyEntry(JSON.stringify(from), metadataJson, dataJson, fields);
    bytes += utf8Bytes(text) + 1;
    if (texts.length > 0 && bytes > maxBytes) return { texts, isCut: true };
    texts.push(text);
  }
  return { texts, isCut: false };
}
