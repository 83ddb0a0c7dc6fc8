/**
 * Rates that several processes of one machine share: each process has the whole limit, and tells the others every SHARE_EVERY_MS what
 * was taken. A key can therefore exceed its rate by what the processes take within that time.
 */
import { BUCKETS_MAX, Throttle } from "./throttle.ts";

export const SHARE_EVERY_MS = 100;
/** Bound of what is shared at once, per throttle. What further keys take is not shared. */
const SHARED_KEYS_MAX = 1000;
/** Longer keys, such as a room's name that a client has made up, count by their digest: what is shared has a bound in bytes. */
const KEY_MAX_CHARS = 64;

/** By the name of a throttle and the key: what was taken. */
export type Rates = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Makes the throttles of a node. Their names are the same in all processes. */
export type MakeThrottle = (name: string, burst: number, perSecond: number) => Throttle;

class SharedThrottle extends Throttle {
  /** By key, long ones by their digest. Bound: SHARED_KEYS_MAX since it was last shared; what further keys take is not shared. */
  private taken = new Map<string, number>();

  constructor(
    burst: number,
    perSecond: number,
    monotonicMs: () => number,
    private readonly noted: () => void,
  ) {
    super(burst, perSecond, monotonicMs);
  }

  override take(given: string): number {
    const key = bounded(given);
    const wait = super.take(key);
    if (wait === 0) this.note(key, 1);
    return wait;
  }

  override charge(given: string, cost: number): void {
    const key = bounded(given);
    super.charge(key, cost);
    this.note(key, cost);
  }

  override debt(key: string): number {
    return super.debt(bounded(key));
  }

  override wait(key: string): number {
    return super.wait(bounded(key));
  }

  /** What was taken here since the last call. */
  takeNotes(): Readonly<Record<string, number>> | undefined {
    if (this.taken.size === 0) return undefined;
    const notes = Object.fromEntries(this.taken);
    this.taken = new Map();
    return notes;
  }

  /** What another process has taken. */
  takenElsewhere(key: string, cost: number): void {
    // Also where nothing is taken here: otherwise keys of long ago would keep all later ones out.
    this.sweepSometimes();
    if (this.size < BUCKETS_MAX || this.has(key)) super.charge(key, cost);
  }

  private note(key: string, cost: number): void {
    if (this.taken.size === 0) this.noted();
    const before = this.taken.get(key);
    if (before !== undefined || this.taken.size < SHARED_KEYS_MAX) this.taken.set(key, (before ?? 0) + cost);
  }
}

const bounded = (key: string): string =>
  key.length <= KEY_MAX_CHARS ? key : `#${new Bun.CryptoHasher("sha256").update(key).digest("base64url")}`;

export class SharedRates {
  // Bound: one entry per limit of the node, all made at the start.
  private readonly throttles = new Map<string, SharedThrottle>();

  /** `noted`: there is something to share, for the first time since it was last taken. A node without traffic has nothing to do. */
  constructor(
    private readonly monotonicMs: () => number,
    private readonly noted: () => void,
  ) {}

  readonly make: MakeThrottle = (name, burst, perSecond) => {
    const throttle = new SharedThrottle(burst, perSecond, this.monotonicMs, () => this.noted());
    // Without a limit nothing is taken.
    if (perSecond > 0) this.throttles.set(name, throttle);
    return throttle;
  };

  /** What was taken here since the last call; undefined: nothing. */
  takeNotes(): Rates | undefined {
    const rates: Record<string, Readonly<Record<string, number>>> = {};
    for (const [name, throttle] of this.throttles) {
      const notes = throttle.takeNotes();
      if (notes) rates[name] = notes;
    }
    return Object.keys(rates).length === 0 ? undefined : rates;
  }

  takenElsewhere(rates: Rates): void {
    for (const [name, notes] of Object.entries(rates))
      for (const [key, cost] of Object.entries(notes)) this.throttles.get(name)?.takenElsewhere(key, cost);
  }
}
