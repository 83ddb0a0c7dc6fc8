/**
 * The contract of leases on uploads: one writer at a time, over all nodes that share the store.
 *
 * - `take` MUST give the lease of an upload to one caller at a time, however many nodes ask, until it is released or was not renewed for
 *   LEASE_MS by the store's clock. It MAY refuse an upload that is not open; the holder reads the row again.
 * - A lease that follows an expired one MUST have a higher generation and `isTakeover`: the earlier holder may only be frozen, and may
 *   continue in the middle of a write. Its changes are then refused by their `generation`.
 * - `confirm` MUST throw LeaseLost after another holder has taken over. It is cheap while the lease is known to be valid.
 * - `release` MUST NOT end a lease of another generation, MUST write what was noted, and returns whether it ended one; a second call does nothing.
 *
 * Within one process leases do not expire: if the holder freezes, all other work in the process freezes too. So an embedded store needs no
 * rows for them. Workers that use it through a server have the leases of sql/recordings/worker-leases.ts.
 */
import type { UploadRow } from "./uploads.ts";

/** Without a renewal for this long, another node may take over. */
export const LEASE_MS = 10_000;
export const LEASE_RENEW_EVERY_MS = 3000;

/** What the release of a lease writes to the row of its upload. */
export interface LeaseNote {
  /** How many bytes are stored. */
  readonly bytes?: number;
  /** How many of them are flushed. */
  readonly kept?: number;
  /** Unix ms of the last write. */
  readonly touched?: number;
}

export interface Lease {
  /** 0 where leases are not kept in the store. */
  readonly generation: number;
  readonly isTakeover: boolean;
  /** With a takeover: how many bytes the earlier holders had flushed. undefined: not known; then all bytes of the storage count. */
  readonly kept: number | undefined;
  /** Throws LeaseLost. `isFresh`: asks the store, even if the last answer is recent. */
  confirm(isFresh?: boolean): Promise<void>;
  /** The row of the upload, read by the statement that took the lease. Absent where leases are not kept in the store. */
  readonly row?: UploadRow;
  /** Stores how many bytes are flushed. Throws LeaseLost. Absent where there are no takeovers. */
  readonly keep?: (bytes: number) => Promise<void>;
  /** Remembers what `release` writes, instead of an extra statement. Absent where leases are not kept in the store. */
  readonly note?: (note: LeaseNote) => void;
  /**
   * `isClean`: neither this holder nor an earlier one still writes to its files, so the next holder can continue with them. false: nothing
   * was released or written, because the upload has ended or has another holder, or its application is deleted.
   */
  release(isClean: boolean): Promise<boolean>;
}

/** What is stored of an upload's bytes, whether or not there is a holder. */
export interface BytesState {
  readonly locator: string;
  /** A holder has not released it: it writes, or died. Then only this many bytes are flushed for certain. undefined: there is none. */
  readonly flushed: number | undefined;
}

export interface Leases {
  /** undefined: another holder has it, or the upload is not open. */
  take(id: string): Promise<Lease | undefined>;
  /** Without a lease. undefined: the upload is not open. Absent where there are no takeovers. */
  readonly look?: (id: string) => Promise<BytesState | undefined>;
  /** Stops renewing: leases that are still held expire. */
  close(): void;
}

/** Another writer has taken over. */
export class LeaseLost extends Error {
  constructor() {
    super("another writer has taken over this upload");
  }
}

/** A lease that worker processes had before this process opened the store. */
export interface EarlierLease {
  readonly generation: number;
  /** It was not released: a worker of that run may still write. */
  readonly isTakeover: boolean;
}
