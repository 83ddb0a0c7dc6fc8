/**
 * Leases in rows of PostgreSQL, by its clock. One timer per process renews all leases of the process with one statement.
 *
 * A holder considers its lease valid until LEASE_MS after it last sent a renewal, by its own monotonic clock. That is never later than the time
 * from which the database lets another node take over.
 */
import { randomUUID } from "node:crypto";
import {
  type BytesState,
  LEASE_MS,
  LEASE_RENEW_EVERY_MS,
  type Lease,
  LeaseLost,
  type LeaseNote,
  type Leases,
} from "../../contract/leases.ts";
import type { Database } from "../../engines/database.ts";
import { type DbRow, toUpload } from "../../engines/rows.ts";

/** A lease of this process. */
interface HeldLease {
  readonly id: string;
  readonly generation: number;
  validUntil: number;
  isLost: boolean;
  isReleased: boolean;
  note: LeaseNote;
}

export class PostgresLeases implements Leases {
  private readonly owner = randomUUID();
  /** Bound: one entry per body or completion under way. */
  private readonly held = new Set<HeldLease>();
  private timer: Timer | undefined;

  constructor(private readonly database: Database) {}

  async take(id: string): Promise<Lease | undefined> {
    const sentAt = performance.now();
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`
        UPDATE uploads SET lease_owner = ${this.owner}, generation = generation + 1,
          lease_until = (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint + ${LEASE_MS}
        WHERE id = ${id} AND ended IS NULL AND (lease_until IS NULL
          OR lease_until < (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint)
        RETURNING *, (SELECT COUNT(*) FROM barred_stays b WHERE b.id = uploads.stay) AS is_closed,
          (SELECT s.ended FROM stays s WHERE s.id = uploads.stay) AS stay_ended`,
    );
    const [row] = rows;
    if (!row) return undefined;
    const generation = Number(row.generation);
    const one: HeldLease = {
      id,
      generation,
      validUntil: sentAt + LEASE_MS,
      isLost: false,
      isReleased: false,
      note: {},
    };
    this.held.add(one);
    // No boundary: it catches what renewing throws, and a lease that is not renewed ends.
    this.timer ??= setInterval(() => void this.renewAll(), LEASE_RENEW_EVERY_MS);
    return {
      generation,
      isTakeover: Number(row.released) !== generation - 1,
      kept: row.kept === null ? undefined : Number(row.kept),
      row: toUpload(row),
      note: (note) => {
        one.note = { ...one.note, ...note };
      },
      confirm: (isFresh) => this.confirm(one, isFresh === true),
      keep: (bytes) => this.keep(one, bytes),
      release: (isClean) => this.release(one, isClean),
    };
  }

  async look(id: string): Promise<BytesState | undefined> {
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`SELECT ticket, kept, generation, released FROM uploads WHERE id = ${id} AND ended IS NULL`,
    );
    const [row] = rows;
    if (!row) return undefined;
    const isHeld = Number(row.generation) !== Number(row.released);
    return { locator: String(row.ticket), flushed: isHeld && row.kept !== null ? Number(row.kept) : undefined };
  }

  close(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private async confirm(one: HeldLease, isFresh: boolean): Promise<void> {
    if (!one.isLost && (isFresh || performance.now() >= one.validUntil)) await this.renew([one]);
    if (one.isLost) throw new LeaseLost();
  }

  private async keep(one: HeldLease, bytes: number): Promise<void> {
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`
        UPDATE uploads SET kept = ${bytes} WHERE id = ${one.id} AND generation = ${one.generation} AND ended IS NULL
        RETURNING id`,
    );
    one.isLost ||= rows.length === 0;
    if (one.isLost) throw new LeaseLost();
  }

  private async release(one: HeldLease, isClean: boolean): Promise<boolean> {
    if (one.isReleased) return false;
    one.isReleased = true;
    // Removed from the renewals first: if the statement fails, the lease expires by itself.
    this.held.delete(one);
    if (this.held.size === 0) this.close();
    const { bytes = null, kept = null, touched = null } = one.note;
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`
        UPDATE uploads SET lease_owner = ${null}, lease_until = ${null},
          released = CASE WHEN ${isClean} THEN generation ELSE released END, bytes = COALESCE(${bytes}, bytes),
          kept = COALESCE(${kept}, kept), touched = COALESCE(${touched}, touched)
        WHERE id = ${one.id} AND generation = ${one.generation} AND lease_owner IS NOT NULL AND ended IS NULL
        RETURNING EXISTS (SELECT 1 FROM apps a WHERE a.id = uploads.app AND a.deleted IS NULL)::int AS is_live`,
    );
    return Number(rows[0]?.is_live ?? 0) === 1;
  }

  /** A failure is ignored: the next interval retries, and `confirm` renews a lease that has become too old. */
  private async renewAll(): Promise<void> {
    await this.renew([...this.held]).catch(() => undefined);
  }

  private async renew(all: readonly HeldLease[]): Promise<void> {
    const sentAt = performance.now();
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`
        UPDATE uploads SET lease_until = (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint + ${LEASE_MS}
        WHERE id IN ${sql(all.map(({ id }) => id))} AND lease_owner = ${this.owner} AND ended IS NULL
        RETURNING id, generation`,
    );
    const renewed = new Map(rows.map(({ id, generation }) => [String(id), Number(generation)]));
    for (const one of all) {
      if (renewed.get(one.id) === one.generation) one.validUntil = sentAt + LEASE_MS;
      else one.isLost = true;
    }
  }
}
