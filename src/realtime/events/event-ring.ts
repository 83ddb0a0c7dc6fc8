/**
 * The last events of all connections of a node, in one ring without an object per event. The events of one connection form a
 * chain: each entry says how far back the one before it is, and the connection knows the number of its latest.
 *
 * Memory: the ring is allocated in chunks as it fills, ENTRY_BYTES per entry. It also keeps channel names alive; their bytes are
 * counted, and the oldest entries are given up when there are too many of them.
 */

export const RING_ENTRIES_MAX = 1 << 18;
export const NAMES_MAX_BYTES = 16_000_000;
/** Time, three counts, code, kind, and the reference to a name. */
export const ENTRY_BYTES = 8 + 3 * 4 + 2 + 1 + 8;

const CHUNK_ENTRIES = 1 << 12;
/** What a text costs besides its characters, each of which may take two bytes. */
const NAME_OVERHEAD_BYTES = 64;

export const nameBytes = (name: string | undefined): number =>
  name === undefined ? 0 : NAME_OVERHEAD_BYTES + 2 * name.length;

class Chunk {
  readonly at = new Float64Array(CHUNK_ENTRIES);
  readonly published = new Uint32Array(CHUNK_ENTRIES);
  readonly repeats = new Uint32Array(CHUNK_ENTRIES);
  /** How many entries back the connection's event before this one is; 0: there is none. */
  readonly back = new Uint32Array(CHUNK_ENTRIES);
  readonly code = new Uint16Array(CHUNK_ENTRIES);
  readonly kind = new Uint8Array(CHUNK_ENTRIES);
  /** Names of channels. Bound: one per event, NAMES_MAX_BYTES in all; beyond that the oldest events are given up. */
  readonly names = new Array<string | undefined>(CHUNK_ENTRIES).fill(undefined);
}

/** An entry as it is read. */
export interface RingEntry {
  /** Unix ms. */
  readonly at: number;
  readonly kind: number;
  readonly code: number;
  readonly name: string | undefined;
  /** How many messages the connection had sent by then. */
  readonly published: number;
  /** How often the same event has happened again since. */
  readonly repeats: number;
  /** The number of the connection's event before this one; 0: there is none. */
  readonly previous: number;
}

export class EventRing {
  /** Bound: RING_ENTRIES_MAX events in chunks of CHUNK_ENTRIES; the oldest are overwritten. */
  private readonly chunks: Chunk[] = [];
  /** Entries are numbered from 1. */
  private newest = 0;
  private oldest = 1;
  private keptNameBytes = 0;

  /** Returns the number of the new entry. `previous` is the number of the connection's latest event; 0: there is none. */
  add(kind: number, at: number, previous: number, published: number, code = 0, name?: string): number {
    const number = ++this.newest;
    if (number - this.oldest >= RING_ENTRIES_MAX) this.drop();
    const chunk = this.chunkOf(number);
    const i = number % CHUNK_ENTRIES;
    chunk.at[i] = at;
    chunk.published[i] = published;
    chunk.repeats[i] = 0;
    chunk.back[i] = previous >= this.oldest ? number - previous : 0;
    chunk.code[i] = code;
    chunk.kind[i] = kind;
    chunk.names[i] = name;
    this.keptNameBytes += nameBytes(name);
    while (this.keptNameBytes > NAMES_MAX_BYTES) this.drop();
    return number;
  }

  /** The event of this number has happened again: returns false if that is no longer the same event. */
  repeat(number: number, kind: number, at: number, code: number, name: string | undefined): boolean {
    if (number < this.oldest) return false;
    const chunk = this.chunkOf(number);
    const i = number % CHUNK_ENTRIES;
    if (chunk.kind[i] !== kind || chunk.code[i] !== code || chunk.names[i] !== name) return false;
    chunk.repeats[i] = (chunk.repeats[i] as number) + 1;
    chunk.at[i] = at;
    return true;
  }

  /** `undefined` if the entry is no longer kept. */
  read(number: number): RingEntry | undefined {
    if (number < this.oldest || number > this.newest) return undefined;
    const chunk = this.chunkOf(number);
    const i = number % CHUNK_ENTRIES;
    const back = chunk.back[i] as number;
    return {
      at: chunk.at[i] as number,
      kind: chunk.kind[i] as number,
      code: chunk.code[i] as number,
      name: chunk.names[i],
      published: chunk.published[i] as number,
      repeats: chunk.repeats[i] as number,
      previous: back === 0 ? 0 : number - back,
    };
  }

  /** At most how much memory it takes now. */
  get bytes(): number {
    return this.chunks.length * CHUNK_ENTRIES * ENTRY_BYTES + this.keptNameBytes;
  }

  private drop(): void {
    const chunk = this.chunkOf(this.oldest);
    const i = this.oldest % CHUNK_ENTRIES;
    this.keptNameBytes -= nameBytes(chunk.names[i]);
    chunk.names[i] = undefined;
    this.oldest++;
  }

  private chunkOf(number: number): Chunk {
    const at = Math.floor((number % RING_ENTRIES_MAX) / CHUNK_ENTRIES);
    let chunk = this.chunks[at];
    if (!chunk) {
      chunk = new Chunk();
      this.chunks[at] = chunk;
    }
    return chunk;
  }
}
