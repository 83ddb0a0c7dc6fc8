/** What a node holds of a stream behind a place, made once for all readers that are there. */
import type { StoredMessage } from "../../../history/contract/history.ts";
import type { Position } from "../../../protocol/position.ts";
import { offsetText } from "../../../protocol/streams/offset.ts";
import type { Stream } from "../../../realtime/state/stream.ts";
import { bodyOf, eventOf } from "../bodies.ts";
import { cursorFor } from "../cursor.ts";
import { PAGE_MAX_BYTES } from "../limits.ts";
import type { View } from "../read-query.ts";

/** Places that readers are at while messages come: nearly all are at the end. */
const KEPT_MAX = 8;

export interface Batch {
  readonly messages: readonly StoredMessage[];
  readonly next: Position;
  readonly isUpToDate: boolean;
  readonly isClosed: boolean;
}

export class Batches {
  /** By place and view, as long as nothing has come. Bound: KEPT_MAX. */
  private readonly kept = new Map<string, SharedBatch>();
  private delivered = -1;
  private isClosed = false;

  constructor(
    private readonly stream: Stream,
    private readonly wallMs: () => number,
    private readonly maxBytes: number,
  ) {}

  /** `undefined`: this node does not hold what is behind the place, or another message is there. */
  at(place: Position, view: View): SharedBatch | undefined {
    const { stream } = this;
    const isClosed = stream.isClosed && !stream.hasGap;
    if (stream.delivered !== this.delivered || isClosed !== this.isClosed) {
      this.kept.clear();
      this.delivered = stream.delivered;
      this.isClosed = isClosed;
    }
    const key = `${place.offset} ${place.check} ${view}`;
    const known = this.kept.get(key);
    if (known) return known;
    const batch = this.collect(place);
    if (!batch) return undefined;
    const shared = new SharedBatch(batch, stream.epoch, stream.form, view, cursorFor(undefined, this.wallMs()));
    if (this.kept.size < KEPT_MAX) this.kept.set(key, shared);
    return shared;
  }

  private collect({ offset, check }: Position): Batch | undefined {
    const { ring, delivered, epoch } = this.stream;
    if (ring.checkAt(offset) !== check) return undefined;
    const messages: StoredMessage[] = [];
    const maxBytes = Math.min(PAGE_MAX_BYTES, this.maxBytes);
    let bytes = 0;
    for (let at = offset + 1; at <= delivered; at++) {
      const message = ring.at(at);
      if (!message) return undefined;
      bytes += message.bytes;
      if (messages.length > 0 && bytes > maxBytes) break;
      messages.push(message);
    }
    const last = messages.at(-1);
    const next = { epoch, offset: last?.offset ?? offset, check: last?.check ?? check };
    const isUpToDate = next.offset === delivered && !this.stream.hasGap;
    return { messages, next, isUpToDate, isClosed: isUpToDate && this.isClosed };
  }
}

/** A batch as it is sent. Its texts are made when they are needed. */
export class SharedBatch {
  private event: string | undefined;
  private text: string | undefined;
  private bytes: string | Uint8Array<ArrayBuffer> | undefined;

  constructor(
    readonly batch: Batch,
    private readonly epoch: string,
    private readonly form: Stream["form"],
    private readonly view: View,
    private readonly cursor: number,
  ) {}

  /** For a reader whose cursor must be above another one than most. */
  textFor(cursor: number | undefined): string {
    this.event ??= eventOf(this.batch.messages, this.batch.next, this.form, this.view);
    if (cursor !== undefined && cursor > this.cursor) return this.event + controlOf(this.batch, cursor);
    this.text ??= this.event + controlOf(this.batch, this.cursor);
    return this.text;
  }

  get body(): string | Uint8Array<ArrayBuffer> {
    this.bytes ??= bodyOf(this.batch.messages, this.epoch, this.form, this.view);
    return this.bytes;
  }
}

/** It has the `id` of the data before it. */
export function controlOf({ next, isUpToDate, isClosed }: Omit<Batch, "messages">, cursor: number): string {
  const offset = offsetText(next);
  const control = {
    streamNextOffset: offset,
    ...(!isClosed && { streamCursor: String(cursor) }),
    ...(isUpToDate && { upToDate: true }),
    ...(isClosed && { streamClosed: true }),
  };
  return `event: control\ndata:${JSON.stringify(control)}\nid: ${offset}\n\n`;
}
