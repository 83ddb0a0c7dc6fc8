/**
 * Whether there can be anything to derive. In an embedded store only this process writes: nothing has changed since it has looked, and nothing has come due.
 * It looks every second nevertheless, for nodes that have fallen silent. In a shared store it is never quiet.
 *
 * `end` MUST be called within the work that writes, so that the two come in the order in which the database runs them.
 */
import type { SQL } from "bun";
import type { DeriveOptions } from "../../contract/tracking.ts";
import type { WebhookLease } from "../../contract/webhooks.ts";
import type { Database } from "../../engines/database.ts";
import { type DbRow, numberOrNull } from "../../engines/rows.ts";

const QUIET_MAX_MS = 1000;

/** What a caller of `derive` has, and what it asks with. */
type Asking = Pick<DeriveOptions, "silentMs" | "vacatedMs"> & Pick<WebhookLease, "number">;

interface Quiet extends Asking {
  readonly sinceMs: number;
  readonly untilMs: number;
}

export class QuietTime {
  private quiet: Quiet | undefined;

  constructor(
    private readonly database: Pick<Database, "isShared">,
    private readonly wallMs: () => number,
  ) {}

  end(): void {
    this.quiet = undefined;
  }

  lastsFor({ number, silentMs, vacatedMs }: Asking): boolean {
    const { quiet } = this;
    if (!quiet || quiet.number !== number || quiet.silentMs !== silentMs || quiet.vacatedMs !== vacatedMs) return false;
    const nowMs = this.wallMs();
    // Before `sinceMs`: the clock was set back.
    return nowMs >= quiet.sinceMs && nowMs < quiet.untilMs;
  }

  /** Nothing is left to derive at `nowMs`. */
  async begin(tx: SQL, nowMs: number, { number, silentMs, vacatedMs }: Asking): Promise<void> {
    if (this.database.isShared) return;
    const rows: DbRow[] = await tx`
      SELECT (SELECT MIN(until) FROM tracked_members WHERE until IS NOT NULL) AS leaves,
        (SELECT MIN(vacated_at) FROM said_channels WHERE vacated_at IS NOT NULL) AS vacated`;
    const leavesMs = numberOrNull(rows[0]?.leaves) ?? Number.POSITIVE_INFINITY;
    const vacatedAtMs = (numberOrNull(rows[0]?.vacated) ?? Number.POSITIVE_INFINITY) + vacatedMs;
    const untilMs = Math.min(nowMs + QUIET_MAX_MS, leavesMs, vacatedAtMs);
    this.quiet = { number, silentMs, vacatedMs, sinceMs: nowMs, untilMs };
  }
}
