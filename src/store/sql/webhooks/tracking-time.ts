/** The clock of the store for what is tracked, and the check of the lease. */
import type { SQL } from "bun";
import type { WebhookLease } from "../../contract/webhooks.ts";
import type { Database } from "../../engines/database.ts";
import type { DbRow } from "../../engines/rows.ts";

const POSTGRES_NOW = "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint";

export class StoreTime {
  constructor(
    private readonly database: Pick<Database, "isShared">,
    private readonly wallMs: () => number,
  ) {}

  /** An expression. */
  get now(): string {
    return this.database.isShared ? POSTGRES_NOW : String(Math.floor(this.wallMs()));
  }

  /** The time, if the lease is held still; it stays so until the transaction ends. */
  async heldAt(tx: SQL, { holder, number }: WebhookLease): Promise<number | undefined> {
    const lock = this.database.isShared ? " FOR UPDATE" : "";
    const rows: DbRow[] = await tx.unsafe(
      `SELECT ${this.now} AS now FROM webhook_lease WHERE id = 1 AND number = $1 AND holder = $2${lock}`,
      [number, holder],
    );
    return rows[0] && Number(rows[0].now);
  }
}
