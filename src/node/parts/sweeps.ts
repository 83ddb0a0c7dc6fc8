/** Builds the sweeps over the whole store: what deleted applications leave, and rows that are too old. */
import { systemClock } from "../../base/clock.ts";
import { AppSweep } from "../../durable/sweep/app-sweep.ts";
import { OldRows } from "../../durable/sweep/old-rows.ts";
import type { NodeContext } from "./context.ts";

export interface Sweeps {
  readonly apps: AppSweep;
  readonly oldRows: OldRows;
}

export function buildSweeps({ store, history, log }: NodeContext): Sweeps {
  const { clearing } = store;
  const { retentionMs } = systemClock;
  return {
    apps: new AppSweep({
      clearing,
      history,
      retentionMs,
      log,
      failed: (err, app) =>
        log.error({ err, app }, "rows of a deleted application could not be removed; trying again in an hour"),
    }),
    oldRows: new OldRows({
      clearing,
      retentionMs,
      log,
      failed: (err) => log.error({ err }, "expired rows could not be removed; trying again in a day"),
    }),
  };
}
