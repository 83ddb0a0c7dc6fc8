/**
 * The contract of leases on uploads: one writer at a time, over all nodes that share the store.
 *
 * - `take` MUST give a lease to one caller only, however many nodes ask, until it is released or its holder has been silent for
 *   LEASE_MS by the store's clock. It MAY refuse an upload that is not open; whoever holds a lease reads the row again.
 * - A lease that is given after another has lapsed MUST have a higher generation and `isTakeover`: the earlier holder may only have
 *   been frozen, and may wake up in the middle of a write. `generation` is what its changes are refused by.
 * - `confirm` MUST throw LeaseLost when another has taken over. It is cheap while the lease is known to be good.
 * - `release` MUST NOT end a lease of another generation, and says whether there was one to end.
 *
 * Within one process nothing lapses: a holder that is frozen freezes everybody. That is why an embedded store needs no rows for it.
 */

/** How long a holder may be silent before another may take over. */
export const LEASE_MS = 10_000;
export const LEASE_RENEW_EVERY_MS = 3000;

export interface Lease {
  /** 0 where leases are not kept in the store. */
  readonly generation: number;
  readonly isTakeover: boolean;
  /** With a takeover: how many bytes the earlier holders had flushed. undefined: not known, and what the storage has counts. */
  readonly kept: number | undefined;
  /** Throws LeaseLost. `isFresh`: the store is asked, however young the last answer is. */
  confirm(isFresh?: boolean): Promise<void>;
  /** Notes that so many bytes are flushed. Absent where nothing can be taken over. Throws LeaseLost. */
  readonly keep?: (bytes: number) => Promise<void>;
  /** `isClean`: nothing of this holder writes any more, and the next one may go on with its files. */
  release(isClean: boolean): Promise<boolean>;
}

export interface Leases {
  /** undefined: another holds it, or the upload is not open. */
  take(id: string): Promise<Lease | undefined>;
  /** Stops renewing; what is held lapses. */
  close(): void;
}

/** Another writer has taken over. */
export class LeaseLost extends Error {
  constructor() {
    super("another writer has taken over this upload");
  }
}

/** Where one process has the store to itself. */
export class LocalLeases implements Leases {
  /** Bound: one entry per body or completion under way. */
  private readonly held = new Set<string>();

  async take(id: string): Promise<Lease | undefined> {
    if (this.held.has(id)) return undefined;
    this.held.add(id);
    return {
      generation: 0,
      isTakeover: false,
      kept: undefined,
      confirm: async () => undefined,
      release: async () => this.held.delete(id),
    };
  }

  close(): void {}
}
