/**
 * The contract of how much a store holds, for people.
 *
 * - A call MUST cost the same whether a table has a thousand rows or a billion: beyond COUNTED_ROWS a number is an estimate, or one that the store keeps anyway.
 * - `names` are tables of the store. Others MUST be refused.
 */
import type { AppId } from "../../base/ids.ts";

/** A table with more rows is not counted: their number is estimated. */
export const COUNTED_ROWS = 10_000;

export interface Amount {
  readonly count: number;
  /** It is an estimate; of an application: there are at least as many. */
  readonly isAbout: boolean;
  /** Absent: the database does not say it of one table. */
  readonly bytes?: number;
}

export interface AmountStore {
  ofTables(names: readonly string[]): Promise<ReadonlyMap<string, Amount>>;
  /** Rows of one application. */
  ofApp(app: AppId, names: readonly string[]): Promise<ReadonlyMap<string, Amount>>;
  /** What the recordings of all applications take. */
  recordedBytes(): Promise<number>;
  /** Bytes of the whole database on disk, with its indexes. */
  bytes(): Promise<number>;
}
