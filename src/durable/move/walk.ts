/**
 * Walks over the rows of a table in the source and in the target at the same time, in the order of the key, and compares them. With `write`, what
 * differs is written to the target, so that an interrupted walk can simply begin anew; without, it is counted.
 */
import { bytesOf, isSame, orderOf, type Row, type Table } from "./cells.ts";
import type { Changes, Pages } from "./tables.ts";

/** A batch is written in one transaction. */
const BATCH_ROWS = 2000;
const BATCH_BYTES = 2 << 20;

export interface Walk {
  readonly table: Table;
  readonly source: Pages;
  readonly target: Pages;
  readonly write?: (changes: Changes) => Promise<void>;
  /** How many a row counts as; 1 by default. */
  readonly weight?: ((row: Row) => number) | undefined;
  /** Called with the number of rows of the source that were compared since the last call. */
  readonly seen: (rows: number) => void;
}

export interface Walked {
  /** Rows of the source. */
  readonly rows: number;
  /** Rows that were missing in the target, or differed. */
  readonly put: number;
  /** Rows that only the target had. */
  readonly dropped: number;
}

export async function walk({ table, source: from, target: to, write, weight = () => 1, seen }: Walk): Promise<Walked> {
  const order = orderOf(table);
  await using source = new Reader(from);
  await using target = new Reader(to);
  const batch = new Batch(write, weight);
  let rows = 0;
  let reported = 0;
  for (;;) {
    if (source.isAtEnd) {
      seen(rows - reported);
      reported = rows;
      await source.read();
    }
    if (target.isAtEnd) await target.read();
    const [wanted, found] = [source.row, target.row];
    if (!wanted && !found) break;
    const place = !found ? -1 : !wanted ? 1 : order(wanted, found);
    if (place <= 0 && wanted) {
      rows += weight(wanted);
      if (place < 0 || !found || !isSame(wanted, found)) batch.put.push(wanted);
      source.next();
    }
    if (place >= 0 && found) {
      if (place > 0) batch.drop.push(found);
      target.next();
    }
    if (batch.isFull) await batch.flush();
  }
  await batch.flush();
  seen(rows - reported);
  return { rows, put: batch.putCount, dropped: batch.dropCount };
}

/** One row after another, a page at a time. */
class Reader implements AsyncDisposable {
  private readonly pages: AsyncIterator<readonly Row[]>;
  /** Bound: one page. */
  private page: readonly Row[] = [];
  private at = 0;
  private isDone = false;

  constructor(pages: Pages) {
    this.pages = pages[Symbol.asyncIterator]();
  }

  /** The page is used up, and there may be another one. */
  get isAtEnd(): boolean {
    return this.at >= this.page.length && !this.isDone;
  }

  /** undefined: there are no more. */
  get row(): Row | undefined {
    return this.page[this.at];
  }

  next(): void {
    this.at++;
  }

  async read(): Promise<void> {
    const { value, done } = await this.pages.next();
    this.page = done ? [] : value;
    this.at = 0;
    this.isDone = done === true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pages.return?.();
  }
}

class Batch implements Changes {
  /** Bound: BATCH_ROWS. */
  put: Row[] = [];
  /** Bound: BATCH_ROWS. */
  drop: Row[] = [];
  putCount = 0;
  dropCount = 0;
  private measured = 0;
  private bytes = 0;

  constructor(
    private readonly write: Walk["write"],
    private readonly weight: (row: Row) => number,
  ) {}

  get isFull(): boolean {
    for (; this.measured < this.put.length; this.measured++) this.bytes += bytesOf(this.put[this.measured] ?? []);
    return this.put.length + this.drop.length >= BATCH_ROWS || this.bytes >= BATCH_BYTES;
  }

  async flush(): Promise<void> {
    const { put, drop } = this;
    if (put.length + drop.length > 0) await this.write?.({ put, drop });
    for (const row of put) this.putCount += this.weight(row);
    for (const row of drop) this.dropCount += this.weight(row);
    [this.put, this.drop] = [[], []];
    [this.measured, this.bytes] = [0, 0];
  }
}
