/** Items of one incoming sequence that cannot be processed yet: an earlier item is missing, or the sequence is not synchronised. */
import type { SequenceItem, SequencePlace } from "../wire/messages.ts";

/** Bounds of one buffer: per other node and channel. Above them it is dropped and the sequence synchronised anew. */
export const BUFFERED_MAX = 10_000;
export const BUFFERED_MAX_CHARS = 16 * 1024 * 1024;

export class ItemBuffer {
  /** Items behind a gap. Bound: BUFFERED_MAX and BUFFERED_MAX_CHARS, then the sequence is resynchronised. */
  private items: SequenceItem[] = [];
  private chars = 0;
  /** Known without a search: it is read after each delivered item, and a long gap has thousands of items on both sides. */
  private earliest: SequencePlace | undefined;

  /** Place of the earliest item. */
  get first(): SequencePlace | undefined {
    return this.earliest;
  }

  get isAboveBounds(): boolean {
    return this.items.length > BUFFERED_MAX || this.chars > BUFFERED_MAX_CHARS;
  }

  add(item: SequenceItem): void {
    this.items.push(item);
    this.chars += charsOf(item);
    if (!this.earliest || compare(item.place, this.earliest) < 0) this.earliest = item.place;
  }

  /** The lowest sequence number of an epoch; undefined when the buffer has no item of it. */
  firstOf(epoch: number): number | undefined {
    let first: number | undefined;
    for (const { place } of this.items)
      if (place.epoch === epoch && (first === undefined || place.n < first)) first = place.n;
    return first;
  }

  keepOnly(isKept: (place: SequencePlace) => boolean): void {
    const kept = this.items.filter(({ place }) => isKept(place));
    this.clear();
    for (const item of kept) this.add(item);
  }

  clear(): void {
    this.items = [];
    this.chars = 0;
    this.earliest = undefined;
  }

  /** Empties the buffer. The items are returned as a stack: `pop` takes the earliest first. */
  takeAll(): SequenceItem[] {
    const items = this.items.sort((a, b) => compare(a.place, b.place));
    this.clear();
    return items.reverse();
  }
}

/** By epoch, then by sequence number. */
const compare = (a: SequencePlace, b: SequencePlace): number => a.epoch - b.epoch || a.n - b.n;

/** Characters of data and metadata; the rest of an item is small. */
function charsOf(item: SequenceItem): number {
  if (item.kind === "message") return item.envelope.dataJson.length + (item.envelope.metadataJson?.length ?? 0);
  if (item.kind === "tail") return 0;
  return item.change.joined.reduce((sum, { metadataJson }) => sum + (metadataJson?.length ?? 0), 0);
}
