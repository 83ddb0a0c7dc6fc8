/**
 * What passes through this node, counted per application. The hot path adds to an object that it has at hand; sums over all
 * applications are made when they are read.
 */
import type { AppId } from "../base/ids.ts";
import { KeyTraffic } from "./key-traffic.ts";
import { Latency } from "./latency.ts";

/** Further applications of a node are counted together, and have no series of their own. */
export const TRAFFIC_APPS_MAX = 100;
/** An application without traffic for this long, the longest range of the series, makes room for another. */
const FORGOTTEN_AFTER_MS = 24 * 3600 * 1000;

export class TrafficCounters {
  private open = 0;
  /** The most that were open at one time since `peakTaken`. */
  connectionsPeak = 0;
  connects = 0;
  /** Accepted publishes and sends. */
  messages = 0;
  deliveries = 0;
  bytesOut = 0;
  /** Error frames. */
  errors = 0;
  /** Refused connects by code. Bound: the codes that a connect can be refused with. */
  readonly refusals = new Map<string, number>();
  /** Time from a publish frame's arrival to the end of its fan-out; with history, to its ack, including the store. */
  readonly latency = new Latency();

  /** `whole`: counts the connections of all applications. */
  constructor(private readonly whole?: TrafficCounters) {}

  /** Open now. */
  get connections(): number {
    return this.open;
  }

  set connections(count: number) {
    if (this.whole) this.whole.connections += count - this.open;
    this.open = count;
    if (count > this.connectionsPeak) this.connectionsPeak = count;
  }

  peakTaken(): void {
    this.connectionsPeak = this.open;
  }

  refused(code: string, by = 1): void {
    this.refusals.set(code, (this.refusals.get(code) ?? 0) + by);
  }

  get refusedInAll(): number {
    let sum = 0;
    for (const count of this.refusals.values()) sum += count;
    return sum;
  }

  add(other: TrafficCounters): void {
    this.connections += other.connections;
    this.connects += other.connects;
    this.messages += other.messages;
    this.deliveries += other.deliveries;
    this.bytesOut += other.bytesOut;
    this.errors += other.errors;
    for (const [code, count] of other.refusals) this.refused(code, count);
    this.latency.add(other.latency);
  }
}

interface AppTraffic {
  readonly counters: TrafficCounters;
  /** What `activity` was when it was last looked at, and since when it has been that. */
  activity: number;
  sinceMs: number;
}

export class Traffic {
  /** Bound: TRAFFIC_APPS_MAX; further applications are counted together. */
  private readonly byApp = new Map<AppId, AppTraffic>();
  /** Only its connections are counted: the peaks of applications, added up, are not the peak of all. */
  private readonly whole = new TrafficCounters();
  /** Applications beyond TRAFFIC_APPS_MAX. */
  readonly rest = new TrafficCounters(this.whole);
  /** Refused connects of which the application is not known. */
  readonly unknown = new TrafficCounters();
  readonly keys = new KeyTraffic();

  /** The counters of an application. They stay the same for at least as long as it has traffic. */
  of(app: AppId): TrafficCounters {
    const known = this.byApp.get(app);
    if (known) return known.counters;
    if (this.isFull) return this.rest;
    const counters = new TrafficCounters(this.whole);
    this.byApp.set(app, { counters, activity: -1, sinceMs: 0 });
    return counters;
  }

  /** `undefined` if the application has had no traffic, or is counted with the rest. */
  known(app: AppId): TrafficCounters | undefined {
    return this.byApp.get(app)?.counters;
  }

  *apps(): Iterable<readonly [AppId, TrafficCounters]> {
    for (const [app, { counters }] of this.byApp) yield [app, counters];
  }

  get isFull(): boolean {
    return this.byApp.size >= TRAFFIC_APPS_MAX;
  }

  total(): TrafficCounters {
    const sum = new TrafficCounters();
    sum.add(this.rest);
    sum.add(this.unknown);
    for (const { counters } of this.byApp.values()) sum.add(counters);
    sum.connectionsPeak = this.whole.connectionsPeak;
    return sum;
  }

  /** A step of the series is over. */
  peaksTaken(): void {
    for (const counters of [this.whole, this.rest]) counters.peakTaken();
    for (const { counters } of this.byApp.values()) counters.peakTaken();
    this.keys.peaksTaken();
  }

  /** Forgets applications that have had no traffic for a day; what they counted stays in the total. */
  forgetIdle(nowMs: number): void {
    this.keys.forgetIdle(nowMs);
    for (const [app, traffic] of this.byApp) {
      const activity = activityOf(traffic.counters);
      if (activity !== traffic.activity || traffic.counters.connections > 0) {
        traffic.activity = activity;
        traffic.sinceMs = nowMs;
      } else if (nowMs - traffic.sinceMs >= FORGOTTEN_AFTER_MS) {
        this.rest.add(traffic.counters);
        this.byApp.delete(app);
      }
    }
  }
}

/** Grows with everything that is counted. */
const activityOf = ({ connects, messages, deliveries, errors, refusedInAll }: TrafficCounters): number =>
  connects + messages + deliveries + errors + refusedInAll;
