/**
 * The contract of what is removed for good: the rest of deleted applications, and rows that are too old.
 *
 * - A call MUST do a bounded amount of work, however many rows there are. What it has done MUST survive the end of the process; the next call goes on.
 * - Several nodes may call at once: each row is removed once, and no two calls MUST wait for each other without end.
 * - `clear` MUST NOT remove what says which bytes are still to be removed: rows of uploads, recordings and deleted recordings with bytes, and files to
 *   remove. The sweep of recordings removes these. Nor does it remove meetings that have not ended.
 * - `before` is Unix ms of a clock for deletions by age (base/clock.ts).
 */
import type { AppId } from "../../base/ids.ts";

export interface DeletedApp {
  readonly id: AppId;
  readonly name: string;
  /** Unix ms. */
  readonly deleted: number;
}

/** Where a walk through rows that may have to stay goes on. */
export interface Walk {
  readonly at: number;
  readonly id: string;
}

export interface Walked {
  readonly removed: number;
  /** undefined: that was the end. */
  readonly next: Walk | undefined;
}

export interface ClearingStore {
  /** Deleted applications of which something may be left, behind `after` in the order of their ids. */
  uncleared(limit: number, after?: string): Promise<DeletedApp[]>;
  /** Removes some rows of a deleted application, and returns how many. 0: there are no more that it may remove. */
  clear(app: AppId, limit: number): Promise<number>;
  /** Whether no row of the application is left that has to be removed. */
  isClear(app: AppId): Promise<boolean>;
  /** From then on nothing looks for rows of the application. What is left of its own row is its id, its name and its times. */
  setCleared(app: AppId, nowMs: number): Promise<void>;

  /** Forgets the usage and the names of applications that were deleted and cleared before then. */
  forgetDeletedApps(before: number, limit: number): Promise<number>;
  /** Forgets usage of periods that began before then, in Unix seconds. */
  forgetUsage(beforePeriod: number, limit: number): Promise<number>;
  /** Forgets keys that were revoked before then, and secrets of any revoked key. */
  forgetKeys(before: number, limit: number): Promise<number>;
  /** Forgets operators that were revoked before then. */
  forgetOperators(before: number, limit: number): Promise<number>;
  /** Forgets rooms that were archived before then, unless a recording or an upload names them. */
  forgetRooms(before: number, limit: number, from?: Walk): Promise<Walked>;
  /** Forgets what belongs to no recording or upload: a node of an earlier version that removes these does not know of it. */
  forgetRecordingExtras(limit: number, from?: Walk): Promise<Walked>;
  /** Forgets the numbers of recordings whose bytes were removed before then, except the newest `kept` numbers of each application. */
  forgetRecordingNumbers(before: number, kept: number, limit: number, from?: Walk): Promise<Walked>;
}
