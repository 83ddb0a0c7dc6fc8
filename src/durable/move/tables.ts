/** What a move needs of a database: its rows in order, a page at a time, and changes in batches. */
import type { Column, Row, Table } from "./cells.ts";

/** How the rows of a table are read. */
export interface Reading {
  /** What each row has, in this order. */
  readonly columns: readonly Column[];
  /** A table, or a query in parentheses with a name. */
  readonly from: string;
  /** In the order of an index of `from`. */
  readonly key: readonly string[];
  /** Expressions for columns that `from` does not have. */
  readonly select?: Readonly<Record<string, string>>;
  /** Only rows that meet it. */
  readonly where?: string;
}

export interface Changes {
  /** Rows that are missing, or that differ. */
  readonly put: readonly Row[];
  /** Rows that are too much. */
  readonly drop: readonly Row[];
}

export type Pages = AsyncIterable<readonly Row[]>;

export interface Tables {
  /** None: there is no such table. */
  columnsOf(table: string): Promise<readonly Column[]>;
  /** In the order of the key. Pages are not empty, and of about PAGE_BYTES. */
  pages(reading: Reading): Pages;
  /** In one transaction. Throws RowsCollide if other rows of the table are in the way, which are too much themselves. */
  apply(table: Table, changes: Changes): Promise<void>;
  /**
   * Empties these tables in one transaction. They are in the order of inventory.ts: later ones refer to earlier ones. Pages that are being read end.
   */
  clear(tables: readonly string[]): Promise<void>;
  /** The result of a statement that returns one text or number. */
  value(statement: string, ...values: readonly string[]): Promise<string | undefined>;
}

/** A row of the target that is still to be removed or changed has a value that a new row needs, or is needed by one. */
export class RowsCollide extends Error {}

/** So that a page of long rows behind short ones is bounded, too. */
const ROWS_MAX = 500;
const PAGE_BYTES = 1 << 20;

/** How many rows the next page should have, after one of these rows. */
export function nextPageRows(rows: number, bytes: number): number {
  return Math.max(1, Math.min(ROWS_MAX, Math.floor((PAGE_BYTES * rows) / Math.max(bytes, 1))));
}

/** Rows are of unknown length at first: one of a history may have two megabytes. */
export const FIRST_PAGE_ROWS = 8;
