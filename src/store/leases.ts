/**
 * The contract of leases on uploads: one writer at a time, over all nodes that share the store.
 *
 * - `take` MUST give the lease of an upload to one caller at a time, however many nodes ask, until it is released or was not renewed for
 *   LEASE_MS by the store's clock. It MAY refuse an upload that is not open; the holder reads the row again.
 * - A lease that follows an expired one MUST have a higher generation and `isTakeover`: the earlier holder may only be frozen, and may
 *   continue in the middle of a write. Its changes are then refused by their `generation`.
 * - `confirm` MUST throw LeaseLost after another holder has taken over. It is cheap while the lease is known to be valid.
 * - `release` MUST NOT end a lease of another generation, and returns whether it ended one.
 *
 * Within one process leases do not expire: if the holder freezes, all other work in the process freezes too. So an embedded store needs no
 * rows for them.
 */

/** Without a renewal for this long, another node may take over. */
export const LEASE_MS = 10_000;
export const LEASE_RENEW_EVERY_MS = 3000;

export interface Lease {
  /** 0 where leases are not kept in the store. */
  readonly generation: number;
  readonly isTakeover: boolean;
  /** With a takeover: how many bytes the earlier holders had flushed. undefined: not known; then all bytes of the storage count. */
  readonly kept: number | undefined;
  /** Throws LeaseLost. `isFresh`: asks the store, even if the last answer is recent. */
  confirm(isFresh?: boolean): Promise<void>;
  /** Stores how many bytes are flushed. Throws LeaseLost. Absent where there are no takeovers. */
  readonly keep?: (bytes: number) => Promise<void>;
  /** `isClean`: neither this holder nor an earlier one still writes to its files, so the next holder can continue with them. */
  release(isClean: boolean): Promise<boolean>;
}

export interface Leases {
  /** undefined: another holder has it, or the upload is not open. */
  take(id: string): Promise<Lease | undefined>;
  /** Stops renewing: leases that are still held expire. */
  close(): void;
}

/** Another writer has taken over. */
export class LeaseLost extends Error {
  constructor() {
    super("another writer has taken over this upload");
  }
}

/** For a store that one process uses alone. */
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
