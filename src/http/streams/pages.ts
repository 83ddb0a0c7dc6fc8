/** A page of a stream: what is stored behind a place, as of one moment. */

import type { CreatedStream } from "../../history/contract/created-streams.ts";
import { isPlaceOf } from "../../history/contract/fork-point.ts";
import type { StoredMessage } from "../../history/contract/history.ts";
import { Problem } from "../../protocol/codes.ts";
import type { Position } from "../../protocol/position.ts";
import { type DataForm, dataFormOf } from "../../protocol/streams/data.ts";
import type { CreatedStreams, Kept, Reading } from "../../realtime/streams/created.ts";
import type { ReadQueue } from "../../realtime/streams/read-queue.ts";
import { inHistory } from "../shared/history-pages.ts";
import type { Caller } from "./caller.ts";
import { PAGE_MAX_BYTES, PAGE_MAX_MESSAGES, STREAM_BODY_MAX_BYTES, WHOLE_MAX_BYTES } from "./limits.ts";
import type { Place } from "./read-query.ts";

const JSON_TYPE = "application/json";

export interface StreamPage {
  readonly contentType: string;
  readonly form: DataForm;
  readonly epoch: string;
  readonly messages: readonly StoredMessage[];
  /** Where it begins. */
  readonly from: number;
  /** Where the next read begins. */
  readonly next: Position;
  /** There is nothing behind it. */
  readonly isUpToDate: boolean;
  /** Nor will there be. */
  readonly isClosed: boolean;
  /** What was written first is not kept any more. */
  readonly isTrimmed: boolean;
  /** Absent for a channel with history. */
  readonly stream: CreatedStream | undefined;
  /** Its messages as they are sent, if that is known already. */
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

interface PagesParts {
  readonly created: Pick<CreatedStreams, "kindOf" | "read">;
  readonly reads: ReadQueue;
  readonly maxBytes: number;
}

/** What the rule of the channel makes of it. Throws if it keeps nothing. */
export function keptOf(created: Pick<CreatedStreams, "kindOf">, { app }: Caller, channel: string): Kept {
  const kept = created.kindOf(app, channel);
  if (!kept) throw new Problem("stream_not_found", NO_RULE);
  return kept;
}

const NO_RULE = "No channel rule of the application makes this channel a stream, or gives it history.";

export class StreamPages {
  constructor(private readonly parts: PagesParts) {}

  /** What the rule of the channel makes of it now. Throws if it keeps nothing. */
  keptNow(caller: Caller, channel: string): Kept {
    return keptOf(this.parts.created, caller, channel);
  }

  /** Throws if there is no such stream, or no such place in it. */
  async read(caller: Caller, channel: string, kept: Kept, place: Place, isWhole = false): Promise<StreamPage> {
    const { created, reads } = this.parts;
    const { app, owner } = caller;
    const range = place === "now" ? { limit: 0, maxBytes: 0 } : { after: afterOf(place), ...this.most(isWhole) };
    const read = (): ReturnType<CreatedStreams["read"]> => created.read(app, channel, kept, range);
    const found = await inHistory(reads.run(app, owner, read));
    if (found === "gone") throw new Problem("stream_gone");
    if (!found) throw new Problem("stream_not_found");
    return pageOf(found, place);
  }

  private most(isWhole: boolean) {
    const { maxBytes } = this.parts;
    const stored = (maxBytes * WHOLE_MAX_BYTES) / STREAM_BODY_MAX_BYTES;
    return {
      limit: PAGE_MAX_MESSAGES,
      maxBytes: isWhole ? Math.min(WHOLE_MAX_BYTES, stored) : Math.min(PAGE_MAX_BYTES, maxBytes),
    };
  }
}

const afterOf = (place: Position | "start"): number => (place === "start" ? 0 : place.offset);

function pageOf({ page, stream }: Reading, place: Place): StreamPage {
  const { epoch, top, topCheck, first } = page.state;
  const contentType = stream?.config.contentType ?? JSON_TYPE;
  if (typeof place !== "string") {
    const isHere =
      isPlaceOf(place, { epoch, first, top, lineage: stream?.lineage ?? [] }) && page.check === place.check;
    if (!isHere) throw new Problem("offset_gone");
  }
  const messages = place === "now" ? [] : page.messages;
  const isUpToDate = place === "now" || !page.more;
  const last = messages.at(-1);
  const end = { epoch, offset: top, check: topCheck };
  return {
    contentType,
    form: dataFormOf(contentType),
    epoch,
    messages,
    from: place === "now" ? top : Math.max(afterOf(place), first - 1),
    next: last ? { epoch, offset: last.offset, check: last.check } : end,
    isUpToDate,
    isClosed: isUpToDate && stream?.isClosed === true,
    isTrimmed: place === "start" && first > 1,
    stream,
  };
}
