/** Rows of tables as both databases give them: texts, whole numbers as texts, and NULL. Both sides are read in the same order, that of the key. */

export type Cell = string | null;
export type Row = readonly Cell[];

/** `flag` is a BOOLEAN of PostgreSQL: "0" or "1". */
export type Kind = "text" | "integer" | "flag";

export interface Column {
  readonly name: string;
  readonly kind: Kind;
}

/** A table that rows are written to. The cells of a row are in the order of `columns`. */
export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Names of the columns that identify a row. */
  readonly key: readonly string[];
}

/** Negative if the first row comes before the second one. */
export type Order = (one: Row, other: Row) => number;

export function orderOf({ columns, key }: Pick<Table, "columns" | "key">): Order {
  const parts = key.map((name) => {
    const at = columns.findIndex((column) => column.name === name);
    return { at, compare: columns[at]?.kind === "text" ? compareTexts : compareIntegers };
  });
  return (one, other) => {
    for (const { at, compare } of parts) {
      const order = compare(one[at] ?? "", other[at] ?? "");
      if (order !== 0) return order;
    }
    return 0;
  };
}

/** By the bytes of UTF-8, as SQLite compares texts, and PostgreSQL with COLLATE "C". JavaScript compares units of UTF-16. */
export function compareTexts(one: string, other: string): number {
  if (one === other) return 0;
  const length = Math.min(one.length, other.length);
  let at = 0;
  while (at < length && one.charCodeAt(at) === other.charCodeAt(at)) at++;
  if (at === length) return one.length - other.length;
  return rankOf(one.charCodeAt(at)) - rankOf(other.charCodeAt(at));
}

/** In UTF-8, a character of two units comes behind all others. */
const rankOf = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

/** Without numbers, which are exact up to 2^53 only. */
export function compareIntegers(one: string, other: string): number {
  if (one === other) return 0;
  if (one.startsWith("-") || other.startsWith("-")) return BigInt(one) < BigInt(other) ? -1 : 1;
  return one.length - other.length || (one < other ? -1 : 1);
}

export const isSame = (one: Row, other: Row): boolean => one.every((cell, at) => cell === other[at]);

/** How much memory a row takes, about. */
export function bytesOf(row: Row): number {
  let bytes = 0;
  for (const cell of row) bytes += 16 + (cell?.length ?? 0);
  return bytes;
}
