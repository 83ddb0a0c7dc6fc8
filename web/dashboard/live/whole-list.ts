/** A list whose rows have the service's own order, loaded anew from its beginning without taking away rows that are shown. */

export interface ListPage<T> {
  readonly rows: readonly T[];
  /** The `after` of the next page; null: this is the last one. */
  readonly next: string | null;
}

interface Reload<T> {
  /** What is shown. Without a `next` it is the whole list. */
  readonly shown: ListPage<T>;
  readonly load: (limit: number, after: string | undefined) => Promise<ListPage<T>>;
  /** What `after` takes: `load` then begins behind that row. */
  readonly idOf: (row: T) => string;
  /** Rows that a page has at least, and that a call answers at most. */
  readonly page: number;
  readonly limitMax: number;
}

/** Rows that are loaded anew at most: each refresh costs that much traffic. */
const RELOADED_MAX = 500;

/** As many rows as are shown, and the rest of a list that was whole. Of a long one the beginning and the end; what is between them stays. */
export async function reloaded<T>({ shown, load, idOf, page, limitMax }: Reload<T>): Promise<ListPage<T>> {
  const isWhole = shown.next === null;
  const rows: T[] = [];
  let next: string | null | undefined;
  // A page of a search may be empty although others follow: calls are counted too.
  for (let calls = 0; calls * page < RELOADED_MAX && rows.length < RELOADED_MAX; calls++) {
    const wanted = Math.max(page, shown.rows.length - rows.length);
    const found: ListPage<T> = await load(Math.min(wanted, limitMax, RELOADED_MAX), next ?? undefined);
    rows.push(...found.rows);
    next = found.next;
    if (next === null || (!isWhole && rows.length >= shown.rows.length)) return { rows, next };
  }
  const edge = rows.at(-1);
  const place = edge ? shown.rows.findIndex((row) => idOf(row) === idOf(edge)) : -1;
  // The new rows do not reach those that were shown: the list begins anew.
  if (edge && place < 0) return { rows, next: next ?? null };
  const behind = shown.rows.slice(place + 1);
  const last = behind.at(-1);
  if (!isWhole || !last) return { rows: [...rows, ...behind], next: last ? shown.next : (next ?? null) };
  const rest = await load(page, idOf(last));
  return { rows: [...rows, ...behind, ...rest.rows], next: rest.next };
}
