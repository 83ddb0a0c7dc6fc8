/** What a move copies, in steps: one per table of the target, with the rows that the source has for it. */
import type { Row, Table } from "./cells.ts";
import type { Pages, Tables } from "./tables.ts";

export interface Step {
  /** As results name it, in both directions. */
  readonly name: string;
  readonly table: Table;
  /** Where the table is. */
  readonly into: Tables;
  /** If rows collide, the tables of this group are emptied, and its steps repeated. */
  readonly group: string;
  readonly source: () => Pages;
  readonly target: () => Pages;
  /** How many a row counts as; 1 by default. */
  readonly weight?: (row: Row) => number;
  /** How many the source has, about. */
  readonly count: () => Promise<number>;
}

/** A step of a table that the two databases lay out differently. */
export interface Converted extends Pick<Step, "name" | "weight"> {
  readonly table: Table;
  readonly source: () => Pages;
  readonly count: string;
}
