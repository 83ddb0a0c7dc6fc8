/**
 * Leases of worker processes that use one embedded store through a server (remote/). This process decides who holds a lease, and a lease ends when it
 * is released or the connection of its worker closes. A closed connection does not mean that the worker is dead: it may be frozen, or its
 * connection was cut, and it may continue in the middle of a write. So the next lease has a higher generation in the row of the upload, and
 * `isTakeover` unless the one before was released; the row also shows that after a restart, when workers of the earlier run may still write.
 *
 * `kept` is not used: workers are on one machine, and what one of them has written to a file is seen by all others, flushed or not.
 */
import type { BytesState, EarlierLease, LeaseNote } from "../../contract/leases.ts";
import type { UploadRow } from "../../contract/uploads.ts";
import type { Database } from "../../engines/database.ts";
import { type DbRow, toUpload } from "../../engines/rows.ts";

export interface TakenLease {
  readonly generation: number;
  readonly isTakeover: boolean;
  readonly row: UploadRow;
}

interface HeldLease {
  readonly owner: object;
  /** undefined: its statement is under way. */
  generation: number | undefined;
}

export class WorkerLeases {
  /** Bound: one entry per body or completion under way. */
  private readonly held = new Map<string, HeldLease>();

  /** `changed`: the row of this upload is another one now. */
  constructor(
    private readonly database: Database,
    private readonly changed: (id: string) => void,
  ) {}

  async take(id: string, owner: object): Promise<TakenLease | undefined> {
    if (this.held.has(id)) return undefined;
    const one: HeldLease = { owner, generation: undefined };
    this.held.set(id, one);
    try {
      const rows: DbRow[] = await this.database.quickRun(
        (sql) => sql`
          UPDATE uploads SET generation = generation + 1 WHERE id = ${id} AND ended IS NULL
          RETURNING *, (SELECT COUNT(*) FROM barred_stays b WHERE b.id = uploads.stay) AS is_closed,
            (SELECT s.ended FROM stays s WHERE s.id = uploads.stay) AS stay_ended`,
      );
      const [row] = rows;
      // Its owner may be gone meanwhile; then another may have the lease by now.
      if (!row || this.held.get(id) !== one) return undefined;
      const generation = Number(row.generation);
      one.generation = generation;
      return { generation, isTakeover: Number(row.released) !== generation - 1, row: toUpload(row) };
    } finally {
      if (one.generation === undefined) this.free(id, one);
    }
  }

  isHeld(id: string, generation: number): boolean {
    return this.held.get(id)?.generation === generation;
  }

  async release(id: string, generation: number, isClean: boolean, note: LeaseNote): Promise<boolean> {
    const one = this.held.get(id);
    if (one?.generation !== generation) return false;
    // From here on it counts as released for its owner; the next holder waits until the statement has ended.
    one.generation = undefined;
    const { bytes = null, touched = null } = note;
    try {
      const rows: DbRow[] = await this.database.quickRun(
        (sql) => sql`
          UPDATE uploads SET released = CASE WHEN ${isClean ? 1 : 0} = 1 THEN generation ELSE released END,
            bytes = COALESCE(${bytes}, bytes), touched = COALESCE(${touched}, touched)
          WHERE id = ${id} AND generation = ${generation} AND ended IS NULL
          RETURNING EXISTS (SELECT 1 FROM apps a WHERE a.id = uploads.app AND a.deleted IS NULL) AS is_live`,
      );
      return Number(rows[0]?.is_live ?? 0) === 1;
    } finally {
      this.changed(id);
      // Also if the statement has failed: then the next holder takes over.
      this.free(id, one);
    }
  }

  async look(id: string): Promise<BytesState | undefined> {
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`SELECT ticket FROM uploads WHERE id = ${id} AND ended IS NULL`,
    );
    return rows[0] && { locator: String(rows[0].ticket), flushed: undefined };
  }

  /** The connection of a worker is closed: its leases end, and the next holder of one takes over. */
  end(owner: object): void {
    for (const [id, one] of this.held) if (one.owner === owner) this.held.delete(id);
  }

  private free(id: string, one: HeldLease): void {
    if (this.held.get(id) === one) this.held.delete(id);
  }
}

/**
 * For a process that uses the store alone, and keeps no leases in rows: what workers have left there. A lease that was not released gets a new
 * generation, so that its holder can change nothing any more.
 */
export function earlierLeases(database: Database): Promise<Map<string, EarlierLease>> {
  return database.transaction(async (tx) => {
    await tx`UPDATE uploads SET generation = generation + 1 WHERE generation <> released AND ended IS NULL`;
    const rows: DbRow[] = await tx`
      SELECT id, generation, released FROM uploads WHERE generation <> 0 AND ended IS NULL`;
    return new Map(
      rows.map(({ id, generation, released }) => [
        String(id),
        { generation: Number(generation), isTakeover: Number(generation) !== Number(released) },
      ]),
    );
  });
}
