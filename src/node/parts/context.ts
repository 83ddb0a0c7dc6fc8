/** What every part of a node is built with. */
import type { MakeThrottle } from "../../base/shared-throttle.ts";
import type { Loaded } from "../../config/load.ts";
import type { Config } from "../../config/settings.ts";
import type { MeteredHistory } from "../../history/metered.ts";
import type { Store } from "../../store/contract/store.ts";
import type { Faults } from "../../telemetry/faults.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Metrics } from "../../telemetry/metrics.ts";
import type { Vitals } from "../../telemetry/vitals.ts";
import type { Team } from "./team.ts";

export interface NodeContext {
  readonly config: Config;
  /** Where each setting comes from. */
  readonly sources: Loaded["sources"];
  readonly nodeId: string;
  readonly log: Log;
  readonly store: Store;
  readonly history: MeteredHistory;
  readonly metrics: Metrics;
  readonly faults: Faults;
  readonly vitals: Vitals;
  /** The workers of this machine; undefined: this process is alone. */
  readonly team: Team | undefined;
  /** Makes limits by key; workers share what was taken. */
  readonly throttle: MakeThrottle;
}
