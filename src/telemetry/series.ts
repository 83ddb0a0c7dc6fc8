/**
 * How this node's traffic has developed over the last day, in memory: for the node as a whole, and for the applications that
 * Traffic counts separately. A restart begins anew.
 */
import type { AppId } from "../base/ids.ts";
import { isQuantile, type SeriesMetric, SeriesTier, type SeriesValues } from "./series-tier.ts";
import type { Traffic, TrafficCounters } from "./traffic.ts";

/** A step of the shortest range is over when it is sampled. */
export const SAMPLE_EVERY_MS = 5000;

export const SERIES_RANGES = {
  "15m": { stepSec: 5, steps: 180 },
  "3h": { stepSec: 60, steps: 180 },
  "24h": { stepSec: 300, steps: 288 },
} as const;
export type SeriesRange = keyof typeof SERIES_RANGES;
export const SERIES_STEPS_MAX = 288;

const RANGES = Object.keys(SERIES_RANGES) as SeriesRange[];
type Tiers = Readonly<Record<SeriesRange, SeriesTier>>;

export class Series {
  private total: Tiers;
  /** Bound: TRAFFIC_APPS_MAX. */
  private readonly byApp = new Map<AppId, Tiers>();

  constructor(
    private readonly traffic: Traffic,
    nowMs: number,
  ) {
    this.total = tiersOf(traffic.total(), nowMs / 1000, false);
  }

  /** Called every SAMPLE_EVERY_MS. */
  sample(nowMs: number): void {
    const { traffic } = this;
    const nowSec = nowMs / 1000;
    traffic.forgetIdle(nowMs);
    this.total = sampled(this.total, traffic.total(), nowSec);
    for (const app of this.byApp.keys()) if (!traffic.known(app)) this.byApp.delete(app);
    for (const [app, counters] of traffic.apps()) {
      const tiers = this.byApp.get(app) ?? tiersOf(counters, nowSec - SAMPLE_EVERY_MS / 1000, true);
      this.byApp.set(app, sampled(tiers, counters, nowSec));
    }
    traffic.peaksTaken();
  }

  /** The series of one application, or of the node. An application that is counted with the rest has no values. */
  values(metric: SeriesMetric, range: SeriesRange, app?: AppId): SeriesValues {
    const node = this.total[range].values(metric);
    if (app === undefined) return node;
    const tiers = this.byApp.get(app);
    if (!tiers) return this.withoutTraffic(metric, range, app);
    const { values, byReason } = tiers[range].values(metric);
    const isKnown = this.total[range].values("connections").values.map((value) => value !== null);
    // Before its first traffic an application was at zero, wherever the node knows anything.
    const filled = (some: readonly (number | null)[]): (number | null)[] =>
      some.map((value, i) => value ?? (isKnown[i] && !isQuantile(metric) ? 0 : null));
    const reasons = Object.entries(byReason ?? {}).map(([code, some]) => [code, filled(some)]);
    return { start: node.start, values: filled(values), ...(byReason && { byReason: Object.fromEntries(reasons) }) };
  }

  /** An application without traffic is at zero wherever the node knows anything; one that has no counters of its own is unknown. */
  private withoutTraffic(metric: SeriesMetric, range: SeriesRange, app: AppId): SeriesValues {
    const { start, values } = this.total[range].values("connections");
    const isUnknown = isQuantile(metric) || (this.traffic.isFull && !this.traffic.known(app));
    const empty = values.map((value) => (value === null || isUnknown ? null : 0));
    return { start, values: empty, ...(metric === "refusals" && { byReason: {} }) };
  }
}

const tiersOf = (counters: TrafficCounters, nowSec: number, isNew: boolean): Tiers =>
  Object.fromEntries(
    RANGES.map((range) => {
      const { stepSec, steps } = SERIES_RANGES[range];
      return [range, new SeriesTier(stepSec, steps, counters, nowSec, isNew)];
    }),
  ) as Tiers;

function sampled(tiers: Tiers, counters: TrafficCounters, nowSec: number): Tiers {
  const areSampled = RANGES.map((range) => tiers[range].sample(counters, nowSec));
  return areSampled.every(Boolean) ? tiers : tiersOf(counters, nowSec, false);
}
