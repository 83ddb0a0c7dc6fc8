/** The lease of the process that gives events to endpoints and sends them, by the clock of the store. */
import type { SQL } from "bun";
import { LEASE_MS } from "../../contract/leases.ts";
import type { Lost, WebhookLease } from "../../contract/webhooks.ts";
import type { Database } from "../../engines/database.ts";
import type { DbRow } from "../../engines/rows.ts";

export class SqlWebhookLease {
  /** Only this process has an embedded store open: until it gives the lease, one in the row is of a process that has ended. */
  private isOfEarlierProcess: boolean;

  constructor(
    protected readonly database: Database,
    /** Where the store has no clock of its own. */
    private readonly wallMs: () => number,
  ) {
    this.isOfEarlierProcess = !database.isShared;
  }

  async takeLease(holder: string): Promise<WebhookLease | undefined> {
    const rows: DbRow[] = await this.database.quickTransaction(async (tx) => {
      const nowMs = await this.nowMs(tx);
      const overMs = this.isOfEarlierProcess ? Number.MAX_SAFE_INTEGER : nowMs;
      this.isOfEarlierProcess = false;
      return tx`
        INSERT INTO webhook_lease (id, holder, number, until) VALUES (1, ${holder}, 1, ${nowMs + LEASE_MS})
        ON CONFLICT (id) DO UPDATE
        SET holder = excluded.holder, number = webhook_lease.number + 1, until = excluded.until
        WHERE webhook_lease.until <= ${overMs} OR webhook_lease.until > ${nowMs + LEASE_MS}
          OR webhook_lease.holder = ${holder}
        RETURNING number`;
    });
    return rows[0] && { holder, number: Number(rows[0].number) };
  }

  renewLease({ holder, number }: WebhookLease): Promise<boolean> {
    return this.database.quickTransaction(async (tx) => {
      const until = (await this.nowMs(tx)) + LEASE_MS;
      const rows: DbRow[] = await tx`
        UPDATE webhook_lease SET until = ${until} WHERE id = 1 AND number = ${number} AND holder = ${holder}
        RETURNING number`;
      return rows.length > 0;
    });
  }

  async releaseLease({ holder, number }: WebhookLease): Promise<void> {
    await this.database.quickRun(
      (sql) => sql`
        UPDATE webhook_lease SET until = 0, holder = '' WHERE id = 1 AND number = ${number} AND holder = ${holder}`,
    );
  }

  /** Work on the queue, unless another process has taken over. Until it ends, no one takes over, and no one else changes the queue. */
  protected whileHeld<T>(lease: WebhookLease, work: (tx: SQL) => Promise<T>): Promise<T | Lost> {
    return this.whileLocked(async (tx, number) => (number === lease.number ? work(tx) : "lost"));
  }

  /** The same for work that any process may do. All that changes the queue is in this order: lease, then everything else. */
  protected whileLocked<T>(work: (tx: SQL, number: number) => Promise<T>): Promise<T> {
    return this.database.quickTransaction(async (tx) => {
      const rows: DbRow[] = this.database.isShared
        ? await tx`SELECT number FROM webhook_lease WHERE id = 1 FOR UPDATE`
        : await tx`SELECT number FROM webhook_lease WHERE id = 1`;
      return work(tx, Number(rows[0]?.number ?? 0));
    });
  }

  protected async nowMs(tx: SQL): Promise<number> {
    if (!this.database.isShared) return this.wallMs();
    const rows: DbRow[] = await tx`SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint AS now`;
    return Number(rows[0]?.now);
  }
}
