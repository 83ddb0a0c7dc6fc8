/** The series of one subject (this node, an application or a key on it) at one resolution: a ring of steps per metric. */
import { LATENCY_BUCKETS, type Latency, quantileMs } from "./latency.ts";

export const SERIES_METRICS = [
  "connections",
  "connects",
  "refusals",
  "messages",
  "deliveries",
  "bytesOut",
  "p50Ms",
  "p99Ms",
  "errors",
] as const;
export type SeriesMetric = (typeof SERIES_METRICS)[number];

/** Metrics that are counted, and shown per second. */
const RATES = ["connects", "messages", "deliveries", "bytesOut", "errors"] as const;

/** What is counted of a subject. Some subjects do not count everything. */
export interface Counted extends Partial<Readonly<Record<(typeof RATES)[number], number>>> {
  readonly connectionsPeak: number;
  /** Refused connects, and the same by code. */
  readonly refusedInAll: number;
  readonly refusals?: ReadonlyMap<string, number>;
  readonly latency?: Latency;
}

/** Values by step, the newest last; `null` where nothing is known. */
export interface SeriesValues {
  /** Unix seconds at which the first step begins. */
  readonly start: number;
  readonly values: readonly (number | null)[];
  /** Only of `refusals`: the same by code. */
  readonly byReason?: Readonly<Record<string, readonly (number | null)[]>>;
}

export class SeriesTier {
  // By metric, refusals also by code. Bound: SERIES_METRICS and the codes that a connect can be refused with.
  private readonly columns = new Map<string, Float32Array>();
  /** The last step that is over; steps are numbered by their Unix time. */
  private lastStep: number;
  private readonly firstStep: number;
  private sampledSec: number;
  private readonly before: Record<(typeof RATES)[number], number>;
  /** Refused connects by code, as last sampled. Bound: the codes that a connect can be refused with. */
  private readonly refusedBefore = new Map<string, number>();
  private refusedInAllBefore = 0;
  /** Absent for a subject without latencies. */
  private readonly latencyBefore: Float64Array | undefined;
  private latencyCountBefore = 0;
  private connectionsMax = 0;

  constructor(
    readonly stepSec: number,
    readonly steps: number,
    counters: Counted,
    nowSec: number,
    /** The subject is new: it had counted nothing before its first step. */
    isNew: boolean,
  ) {
    this.lastStep = Math.floor(nowSec / stepSec) - 1;
    this.firstStep = this.lastStep + 1;
    this.sampledSec = isNew ? this.firstStep * stepSec : nowSec;
    this.before = { connects: 0, messages: 0, deliveries: 0, bytesOut: 0, errors: 0 };
    this.latencyBefore = counters.latency && new Float64Array(LATENCY_BUCKETS);
    this.column("connections");
    if (!isNew) this.keep(counters);
  }

  /** Called every few seconds. Returns false if the clock was set back: the series must be begun anew. */
  sample(counters: Counted, nowSec: number): boolean {
    this.connectionsMax = Math.max(this.connectionsMax, counters.connectionsPeak);
    const step = Math.floor(nowSec / this.stepSec) - 1;
    if (step < this.lastStep) return false;
    if (step === this.lastStep) return true;
    // Steps without a sample are a gap: the process was stopped or blocked.
    const from = Math.max(this.lastStep + 1, step - this.steps + 1);
    for (const column of this.columns.values())
      for (let missed = from; missed < step; missed++) column[missed % this.steps] = Number.NaN;
    const seconds = Math.max(1, nowSec - this.sampledSec);
    this.lastStep = step;
    this.write(counters, seconds);
    this.sampledSec = nowSec;
    this.keep(counters);
    this.connectionsMax = 0;
    return true;
  }

  values(metric: SeriesMetric): SeriesValues {
    const start = (this.lastStep - this.steps + 1) * this.stepSec;
    const values = this.read(metric);
    if (metric !== "refusals") return { start, values };
    const codes = [...this.columns.keys()].filter(isReason).map((name) => name.slice(REASON.length));
    return {
      start,
      values,
      byReason: Object.fromEntries(codes.sort().map((code) => [code, this.read(REASON + code)])),
    };
  }

  private write(counters: Counted, seconds: number): void {
    // The highest number of the step: an average would hide that a limit was reached.
    this.set("connections", this.connectionsMax);
    for (const metric of RATES) this.set(metric, ((counters[metric] ?? 0) - this.before[metric]) / seconds);
    for (const [code, count] of counters.refusals ?? [])
      this.set(REASON + code, (count - (this.refusedBefore.get(code) ?? 0)) / seconds);
    this.set("refusals", (counters.refusedInAll - this.refusedInAllBefore) / seconds);
    if (counters.latency) this.writeLatency(counters.latency);
  }

  private writeLatency(latency: Latency): void {
    const published = latency.count;
    if (published === this.latencyCountBefore) {
      this.setIfAllocated("p50Ms", Number.NaN);
      this.setIfAllocated("p99Ms", Number.NaN);
      return;
    }
    const durations = latency.counts.map((count, i) => count - (this.latencyBefore?.[i] ?? 0));
    this.set("p50Ms", quantileMs(durations, 0.5));
    this.set("p99Ms", quantileMs(durations, 0.99));
  }

  private keep(counters: Counted): void {
    for (const metric of RATES) this.before[metric] = counters[metric] ?? 0;
    for (const [code, count] of counters.refusals ?? []) this.refusedBefore.set(code, count);
    this.refusedInAllBefore = counters.refusedInAll;
    if (!counters.latency) return;
    this.latencyBefore?.set(counters.latency.counts);
    this.latencyCountBefore = counters.latency.count;
  }

  /** A column is allocated with the first value that is not zero. */
  private set(name: string, value: number): void {
    if (value === 0) return this.setIfAllocated(name, 0);
    this.column(name)[this.lastStep % this.steps] = value;
  }

  private setIfAllocated(name: string, value: number): void {
    const column = this.columns.get(name);
    if (column) column[this.lastStep % this.steps] = value;
  }

  private column(name: string): Float32Array {
    let column = this.columns.get(name);
    if (!column) {
      column = new Float32Array(this.steps).fill(Number.NaN);
      this.columns.set(name, column);
      if (name !== "connections" && !isQuantile(name)) this.fillZeros(column);
    }
    return column;
  }

  /** Before its first value a counted metric was zero, wherever anything is known. */
  private fillZeros(column: Float32Array): void {
    const connections = this.column("connections");
    for (let i = 0; i < this.steps; i++) if (!Number.isNaN(connections[i])) column[i] = 0;
  }

  private read(name: string): (number | null)[] {
    const column = this.columns.get(name);
    const known = this.column("connections");
    return Array.from({ length: this.steps }, (_, i) => {
      const step = this.lastStep - this.steps + 1 + i;
      const at = step % this.steps;
      if (step < this.firstStep || Number.isNaN(known[at])) return null;
      const value = column ? (column[at] as number) : isQuantile(name) ? Number.NaN : 0;
      return Number.isNaN(value) ? null : rounded(value);
    });
  }
}

const REASON = "refusals:";
const isReason = (name: string): boolean => name.startsWith(REASON);
/** Without messages in a step it has no value. */
export const isQuantile = (name: string): boolean => name === "p50Ms" || name === "p99Ms";
const rounded = (value: number): number => Math.round(value * 1000) / 1000;
