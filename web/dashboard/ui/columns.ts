/** What a table shows of its rows. */
import type { ComponentChildren } from "preact";
import type { Value } from "../text/csv.ts";

export interface Column<T> {
  readonly title: string;
  /** What the title means, for those who do not know. */
  readonly meaning?: string;
  readonly cell: (row: T) => ComponentChildren;
  /** What the column is sorted by, and what a CSV file has. A column without it has neither. */
  readonly value?: (row: T) => Value;
  /** `value` is in Unix seconds. */
  readonly isTime?: boolean;
  /** Aligned right. */
  readonly isNumber?: boolean;
  /** Left out first, where the table is narrow. */
  readonly isMinor?: boolean;
  /** Left out next, where the table is as narrow as on a phone. */
  readonly isMedium?: boolean;
  /** A second line of the cell on phones: the most important of what is left out. One line, as all rows have the same height. */
  readonly below?: (row: T) => ComponentChildren;
  /** Percent of the whole. Columns without a width share the rest. */
  readonly width?: number;
  /** In rem: for what is always about as long, such as times, numbers and buttons. */
  readonly rem?: number;
}
