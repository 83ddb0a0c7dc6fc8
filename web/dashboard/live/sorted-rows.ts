/** A long list that is sorted by a key, of which one page is loaded anew. */

interface Refresh<T> {
  readonly rows: readonly T[];
  /** The rows that follow the key `after`, or the first ones. */
  readonly page: readonly T[];
  readonly after: string | undefined;
  /** The page ends the list. */
  readonly isLast: boolean;
  readonly keyOf: (row: T) => string;
}

/** The rows with that part of them replaced. What the page does not reach stays as it was. */
export function refreshed<T>({ rows, page, after, isLast, keyOf }: Refresh<T>): readonly T[] {
  const before = after === undefined ? [] : rows.filter((row) => keyOf(row) <= after);
  const last = page.at(-1);
  const behind = isLast || last === undefined ? [] : rows.filter((row) => keyOf(row) > keyOf(last));
  return [...before, ...page, ...behind];
}
