/**
 * Rows of uploads that parts come to, for a store that one process uses alone: a part is accepted without a statement.
 *
 * A row is put here by the statement that read it, and dropped after each statement that changes it. Statements run one after the other, so a row
 * that was read before a change is dropped with it. What is said of people who were removed comes from other rows: then all are dropped, and those that
 * are being read are not put here (`epoch`). That a stay has ended comes from another row too, but in no hurry: a row is read again after ROW_MAX_AGE_MS.
 */
import type { AppId } from "../../../base/ids.ts";
import type { UploadRow } from "../../contract/uploads.ts";

/** Bound: beyond this many, the row that was used least recently is dropped. */
const ROWS_MAX = 2000;
const ROW_MAX_AGE_MS = 60_000;

interface Cached {
  readonly row: UploadRow;
  readonly untilMs: number;
}

export class UploadCache {
  /** Bound: ROWS_MAX, the one used least recently is read again. */
  private readonly rows = new Map<string, Cached>();

  /** Another one after each `clear`. */
  epoch = 0;

  constructor(
    private readonly max = ROWS_MAX,
    private readonly nowMs = (): number => performance.now(),
  ) {}

  get(app: AppId, id: string): UploadRow | undefined {
    const cached = this.rows.get(id);
    if (!cached || cached.row.app !== app || cached.untilMs <= this.nowMs()) return undefined;
    this.rows.delete(id);
    this.rows.set(id, cached);
    return cached.row;
  }

  set(row: UploadRow): void {
    this.rows.delete(row.id);
    this.rows.set(row.id, { row, untilMs: this.nowMs() + ROW_MAX_AGE_MS });
    if (this.rows.size <= this.max) return;
    const [oldest] = this.rows.keys();
    if (oldest !== undefined) this.rows.delete(oldest);
  }

  drop(id: string): void {
    this.rows.delete(id);
  }

  clear(): void {
    this.rows.clear();
    this.epoch++;
  }
}
