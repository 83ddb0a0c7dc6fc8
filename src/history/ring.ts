/**
 * The newest messages of one stream, in memory: a client that was away for a moment gets what it missed without a read of the store.
 * A ring holds the messages behind its base, without gaps. It needs no more than one replay may have.
 *
 * All rings of a node share one budget. The ring that was used least recently is emptied first: its next reader fills it again.
 */
import { REPLAY_MAX_BYTES, REPLAY_MAX_MESSAGES } from "../protocol/limits.ts";
import type { StoredMessage } from "./contract/history.ts";

/** All rings of a node. */
const RINGS_MAX_BYTES = 64 * 1024 * 1024;
/** Removed messages stay in the list until there are this many, so that removing one does not move all others. */
const COMPACT_AT = 256;

/** Bound: `maxBytes` over all rings; a ring without messages is not listed. */
export class RingBudget {
  /** In the order of use. Bound: RINGS_MAX_BYTES over all of them; the one used least recently is emptied. */
  private readonly rings = new Set<Ring>();
  private total = 0;
  private newest: Ring | undefined;

  constructor(private readonly maxBytes = RINGS_MAX_BYTES) {}

  get bytes(): number {
    return this.total;
  }

  /** `ring` was used, and has grown by this many bytes. */
  used(ring: Ring, grownBytes: number): void {
    this.total += grownBytes;
    // Most messages are of the channel that the one before was of.
    if (this.newest !== ring || !this.rings.has(ring)) {
      this.rings.delete(ring);
      if (ring.bytes > 0) this.rings.add(ring);
      this.newest = ring;
    }
    while (this.total > this.maxBytes) {
      const [oldest] = this.rings;
      if (!oldest) return;
      oldest.clear();
    }
  }

  shrunk(ring: Ring, bytes: number): void {
    this.total -= bytes;
    if (ring.bytes > 0) return;
    this.rings.delete(ring);
    if (this.newest === ring) this.newest = undefined;
  }
}

export class Ring {
  /** Bound: REPLAY_MAX_MESSAGES and REPLAY_MAX_BYTES, and COMPACT_AT empty places. */
  private messages: (StoredMessage | undefined)[] = [];
  private head = 0;
  private size = 0;
  /** It has removed messages because it holds as many as a replay may have: the store would add nothing. */
  isFull = false;

  /** The ring holds the messages behind this offset; `check` is that of the message at it, which the ring does not hold. */
  constructor(
    private readonly budget: RingBudget,
    private base: number,
    private baseCheck: string,
  ) {}

  get bytes(): number {
    return this.size;
  }

  /** The offset of the newest message. */
  get top(): number {
    return this.base + this.messages.length - this.head;
  }

  /** The offset behind which all messages up to the newest are held. */
  get reachesBackTo(): number {
    return this.base;
  }

  /** The check at this offset; `undefined` if the ring does not know it. */
  checkAt(offset: number): string | undefined {
    return offset === this.base ? this.baseCheck : this.at(offset)?.check;
  }

  at(offset: number): StoredMessage | undefined {
    return offset > this.base ? this.messages[this.head + offset - this.base - 1] : undefined;
  }

  /** The message behind the newest. */
  add(message: StoredMessage): void {
    this.messages.push(message);
    this.size += message.bytes;
    this.budget.used(this, message.bytes);
    this.keepWithinLimits();
  }

  /**
   * Reaches further back: these messages end at the base, newest first. `check` is that of the message before the oldest of them;
   * if it is not known, the oldest becomes the base.
   */
  fill(newestFirst: readonly StoredMessage[], check: string | undefined): void {
    const oldest = newestFirst.at(-1);
    if (!oldest || newestFirst[0]?.offset !== this.base || newestFirst[0].check !== this.baseCheck) return;
    const older = (check === undefined ? newestFirst.slice(0, -1) : [...newestFirst]).reverse();
    this.base = check === undefined ? oldest.offset : oldest.offset - 1;
    this.baseCheck = check ?? oldest.check;
    this.messages = [...older, ...this.messages.slice(this.head)];
    this.head = 0;
    const bytes = older.reduce((sum, message) => sum + message.bytes, 0);
    this.size += bytes;
    this.budget.used(this, bytes);
    this.keepWithinLimits();
  }

  /** A reader has used it. */
  touch(): void {
    this.budget.used(this, 0);
  }

  /** Forgets all messages; the newest becomes the base. */
  clear(): void {
    const newest = this.at(this.top);
    if (newest) {
      this.base = newest.offset;
      this.baseCheck = newest.check;
    }
    const { size } = this;
    this.messages = [];
    this.head = 0;
    this.size = 0;
    this.isFull = false;
    this.budget.shrunk(this, size);
  }

  private keepWithinLimits(): void {
    while (this.top - this.base > REPLAY_MAX_MESSAGES || this.size > REPLAY_MAX_BYTES) {
      this.isFull = true;
      this.removeOldest();
    }
  }

  private removeOldest(): void {
    const oldest = this.messages[this.head];
    if (!oldest) return;
    this.base = oldest.offset;
    this.baseCheck = oldest.check;
    this.messages[this.head++] = undefined;
    this.size -= oldest.bytes;
    this.budget.shrunk(this, oldest.bytes);
    if (this.head < COMPACT_AT) return;
    this.messages = this.messages.slice(this.head);
    this.head = 0;
  }
}
