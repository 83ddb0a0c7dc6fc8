/** Pages of a channel's history, for frames, for REST and for operators: all reads wait in one queue, and fail if the store hangs. */
import { appOfSpace, type SpaceId, streamSpaceOf } from "../../base/ids.ts";
import type { CreatedPage } from "../../history/contract/created-streams.ts";
import type { HistoryStore, Page, Range, StoredMessage } from "../../history/contract/history.ts";
import * as encode from "../../protocol/encode.ts";
import { HISTORY_PAGE_MAX_BYTES } from "../../protocol/limits.ts";
import { utf8Bytes } from "../../protocol/names.ts";
import { positionText } from "../../protocol/position.ts";
import { type DataForm, dataFormOf, shownOf } from "../../protocol/streams/data.ts";
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
      readonly history: Pick<HistoryStore, "read" | "open" | "created">;
      readonly streams: Pick<Streams, "ruleOf" | "reads" | "calls">;
      /** A page is never longer than what may wait for a connection. */
      readonly maxBytes: number;
    },
  ) {}

  /** `undefined`: the channel keeps no history, or is a stream that does not exist. Rejects if the store is unavailable. */
  async page(
    spaceId: SpaceId,
    channel: string,
    request: HistoryPageRequest,
    requester: Requester = spaceId,
  ): Promise<HistoryPage | "not here" | undefined> {
    const rule = this.parts.streams.ruleOf(spaceId, channel);
    const maxBytes = Math.min(HISTORY_PAGE_MAX_BYTES, this.parts.maxBytes) - ENVELOPE_BYTES;
    if (rule?.stream) return this.createdPage(spaceId, channel, request, maxBytes, requester);
    const keep = rule?.history;
    if (!keep) return undefined;
    const page = await this.read(spaceId, channel, request, maxBytes, requester);
    if (page === "not here") return page;
    if (!page) return { fields: `${positionOf(await this.open(spaceId, channel, keep))},"messages":[],"more":false` };
    return shown(page, "json", maxBytes);
  }

  private async createdPage(
    spaceId: SpaceId,
    channel: string,
    request: HistoryPageRequest,
    maxBytes: number,
    requester: Requester,
  ): Promise<HistoryPage | "not here" | undefined> {
    const found = await this.readCreated(spaceId, channel, request, maxBytes, requester);
    if (!found || found === "not here") return found;
    return shown(found.page, dataFormOf(found.stream.config.contentType), maxBytes);
  }

  /** A page of a created stream, and the stream. `undefined`: there is none. */
  async readCreated(
    spaceId: SpaceId,
    channel: string,
    request: HistoryPageRequest,
    maxBytes = HISTORY_PAGE_MAX_BYTES,
    requester: Requester = spaceId,
  ): Promise<CreatedPage | "not here" | undefined> {
    const { history, streams } = this.parts;
    const app = appOfSpace(spaceId);
    const name = { spaceId: streamSpaceOf(app), channel };
    const read = (): Promise<CreatedPage | "gone" | undefined> =>
      streams.calls.run(history.created.read(name, rangeOf(request, maxBytes)));
    const found = await streams.reads.run(app, requester, read);
    if (!found || found === "gone") return undefined;
    return isHere(found.page, request) ? found : "not here";
  }

  /** As it is stored. `undefined`: a stream begins with its first subscriber or message, and there was none. */
  async read(
    spaceId: SpaceId,
    channel: string,
    request: HistoryPageRequest,
    maxBytes = HISTORY_PAGE_MAX_BYTES,
    requester: Requester = spaceId,
  ): Promise<Page | "not here" | undefined> {
    const { history, streams } = this.parts;
    const range = rangeOf(request, maxBytes);
    const read = (): Promise<Page | undefined> => streams.calls.run(history.read(spaceId, channel, range));
    const page = await streams.reads.run(appOfSpace(spaceId), requester, read);
    if (!page) return request.before || request.after ? "not here" : undefined;
    return isHere(page, request) ? page : "not here";
  }

  private async open(spaceId: SpaceId, channel: string, keep: Parameters<HistoryStore["open"]>[2]) {
    const { history, streams } = this.parts;
    const { epoch, top, topCheck } = await streams.calls.run(history.open(spaceId, channel, keep));
    return { epoch, offset: top, check: topCheck };
  }
}

const rangeOf = ({ before, after, limit }: HistoryPageRequest, maxBytes: number): Range => ({
  ...(before ? { before: before.offset } : after && { after: after.offset }),
  limit,
  maxBytes,
});

/** Whether the position that was asked for is one of this stream. */
function isHere({ state, check }: Page, { before, after }: HistoryPageRequest): boolean {
  const named = before ?? after;
  if (!named) return true;
  // A position whose message was removed is no mistake where older ones are asked for: they are gone too.
  const isRemoved = named === before && check === undefined && named.offset < state.first;
  return named.epoch === state.epoch && (named.check === check || isRemoved);
}

function shown({ state, messages, more }: Page, form: DataForm, maxBytes: number): HistoryPage {
  const { epoch, top, topCheck } = state;
  const pos = positionOf({ epoch, offset: top, check: topCheck });
  const { texts, isCut } = entries(messages, epoch, form, maxBytes);
  return { fields: `${pos},"messages":[${texts.join(",")}],"more":${more || isCut}` };
}

const positionOf = (position: Parameters<typeof positionText>[0]): string => `"pos":"${positionText(position)}"`;

/** A stored message as those get it who read messages. */
export function entry(
  { offset, check, time, from, metadataJson, dataJson: stored, id }: StoredMessage,
  epoch: string,
  form: DataForm,
): string {
  const { dataJson, isBase64 } = shownOf(stored, form);
  const fields = `${encode.storedFields({ epoch, offset, check }, time, id)}${isBase64 ? encode.BASE64_FIELD : ""}`;
  return encode.historyEntry(JSON.stringify(from), metadataJson, dataJson, fields);
}

function entries(
  messages: readonly StoredMessage[],
  epoch: string,
  form: DataForm,
  maxBytes: number,
): { readonly texts: readonly string[]; readonly isCut: boolean } {
  const texts: string[] = [];
  let bytes = 0;
  for (const message of messages) {
    const text = entry(message, epoch, form);
    bytes += utf8Bytes(text) + 1;
    if (texts.length > 0 && bytes > maxBytes) return { texts, isCut: true };
    texts.push(text);
  }
  return { texts, isCut: false };
}
