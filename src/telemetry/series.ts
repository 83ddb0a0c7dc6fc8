/**
 * How this node's traffic has developed over the last day, in memory: for the node as a whole, and for the applications and keys
 * that Traffic counts separately. A restart begins anew.
 */
import type { AppId } from "../base/ids.ts";
import { type Counted, isQuantile, type SeriesMetric, SeriesTier, type SeriesValues } from "./series-tier.ts";
import type { Traffic } from "./traffic.ts";

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

/** Whose series: of the whole node, if nothing is named. */
export interface SeriesSubject {
  readonly app?: AppId | undefined;
  /** A key of this application. */
  readonly keyId?: string | undefined;
  /** Only the refused connects of which the application is not known. */
  readonly isUnknown?: boolean | undefined;
}

export class Series {
  private total: Tiers;
  private unknown: Tiers;
  /** Bound: TRAFFIC_APPS_MAX. */
  private readonly byApp = new Map<AppId, Tiers>();
  /** Bound: COUNTED_KEYS_MAX. */
  private readonly byKey = new Map<string, Tiers>();

  constructor(
    private readonly traffic: Traffic,
    nowMs: number,
  ) {
    this.total = tiersOf(traffic.total(), nowMs / 1000, false);
    this.unknown = tiersOf(traffic.unknown, nowMs / 1000, false);
  }

  /** Called every SAMPLE_EVERY_MS. */
  sample(nowMs: number): void {
    const { traffic } = this;
    const nowSec = nowMs / 1000;
    traffic.forgetIdle(nowMs);
    this.total = sampled(this.total, traffic.total(), nowSec);
    this.unknown = sampled(this.unknown, traffic.unknown, nowSec);
    sampleAll(this.byApp, traffic.apps(), nowSec);
    sampleAll(this.byKey, traffic.keys.all(), nowSec);
    for (const app of this.byApp.keys()) if (!traffic.known(app)) this.byApp.delete(app);
    for (const keyId of this.byKey.keys()) if (!traffic.keys.known(keyId)) this.byKey.delete(keyId);
    traffic.peaksTaken();
  }

  /** An application or key that is counted with the rest has no values. */
  values(metric: SeriesMetric, range: SeriesRange, { app, keyId, isUnknown }: SeriesSubject = {}): SeriesValues {
    if (isUnknown) return this.unknown[range].values(metric);
    const node = this.total[range].values(metric);
    if (app === undefined) return node;
    const tiers = keyId === undefined ? this.byApp.get(app) : this.byKey.get(keyId);
    if (!tiers) return this.withoutTraffic(metric, range, app, keyId);
    const { values, byReason } = tiers[range].values(metric);
    const isKnown = this.total[range].values("connections").values.map((value) => value !== null);
    // Before its first traffic it was at zero, wherever the node knows anything.
    const filled = (some: readonly (number | null)[]): (number | null)[] =>
      some.map((value, i) => value ?? (isKnown[i] && !isQuantile(metric) ? 0 : null));
    const reasons = Object.entries(byReason ?? {}).map(([code, some]) => [code, filled(some)]);
    return { start: node.start, values: filled(values), ...(byReason && { byReason: Object.fromEntries(reasons) }) };
  }

  /** What has no traffic is at zero wherever the node knows anything; what has no counters of its own is unknown. */
  private withoutTraffic(metric: SeriesMetric, range: SeriesRange, app: AppId, keyId?: string): SeriesValues {
    const { traffic } = this;
    const { start, values } = this.total[range].values("connections");
    const hasRoom = keyId === undefined ? !traffic.isFull : !traffic.keys.isFullFor(app);
    const isCounted = hasRoom || (keyId === undefined ? traffic.known(app) : traffic.keys.known(keyId)) !== undefined;
    const isUnknown = isQuantile(metric) || !isCounted;
    const empty = values.map((value) => (value === null || isUnknown ? null : 0));
    return { start, values: empty, ...(metric === "refusals" && { byReason: {} }) };
  }
}

const tiersOf = (counters: Counted, nowSec: number, isNew: boolean): Tiers =>
  Object.fromEntries(
    RANGES.map((range) => {
      const { stepSec, steps } = SERIES_RANGES[range];
      return [range, new SeriesTier(stepSec, steps, counters, nowSec, isNew)];
    }),
  ) as Tiers;

function sampleAll<Id>(all: Map<Id, Tiers>, counted: Iterable<readonly [Id, Counted]>, nowSec: number): void {
  for (const [id, counters] of counted) {
    const tiers = all.get(id) ?? tiersOf(counters, nowSec - SAMPLE_EVERY_MS / 1000, true);
    all.set(id, sampled(tiers, counters, nowSec));
  }
}

function sampled(tiers: Tiers, counters: Counted, nowSec: number): Tiers {
  const areSampled = RANGES.map((range) => tiers[range].sample(counters, nowSec));
  return areSampled.every(Boolean) ? tiers : tiersOf(counters, nowSec, false);
}
