/** How long an upgrade takes. What was measured is in docs/upgrading.md, with the machine; a slow disk takes longer. */
import type { Plan } from "./plan.ts";
import { isUpgrade } from "./plan.ts";

/** A copy is written, read again to check it, and synced. */
const COPIED_BYTES_PER_SECOND = 100_000_000;
/** Migrations that read every row of a table, or write an index over it. */
const MIGRATED_BYTES_PER_SECOND = 400_000_000;
/** Opening and closing; the migrations of an empty store. */
const LEAST_SECONDS = 0.2;

/** 0: there is nothing to do. With PostgreSQL, of the migrations alone. */
export function estimatedSeconds({ store, history, bytes }: Plan): number {
  const copied = [store, history].reduce(
    (sum, { copy }) => sum + (copy?.lack === undefined ? (copy?.bytes ?? 0) : 0),
    0,
  );
  if (!isUpgrade(store) && !isUpgrade(history)) return 0;
  const migrated = isUpgrade(store) ? bytes : 0;
  return LEAST_SECONDS + copied / COPIED_BYTES_PER_SECOND + migrated / MIGRATED_BYTES_PER_SECOND;
}
