/**
 * What passes through this node, counted per key. A connection has the counters of its key at hand, so that a message costs one
 * addition more and no lookup.
 */
import type { AppId } from "../base/ids.ts";

/** Further keys of an application on a node are not counted separately. */
export const COUNTED_KEYS_PER_APP = 50;
/** Neither are further keys of a node. */
export const COUNTED_KEYS_MAX = 400;
/** A key without traffic for this long, the longest range of the series, makes room for another. */
const FORGOTTEN_AFTER_MS = 24 * 3600 * 1000;

export class KeyCounters {
  private open = 0;
  /** The most that were open at one time since `peakTaken`. */
  connectionsPeak = 0;
  connects = 0;
  /** Accepted publishes and sends, over connections and REST. */
  messages = 0;
  /** Error frames. */
  errors = 0;
  /** Refused connects. */
  refusedInAll = 0;

  /** Open now. */
  get connections(): number {
    return this.open;
  }

  set connections(count: number) {
    this.open = count;
    if (count > this.connectionsPeak) this.connectionsPeak = count;
  }

  peakTaken(): void {
    this.connectionsPeak = this.open;
  }
}

interface CountedKey {
  readonly app: AppId;
  readonly counters: KeyCounters;
  /** What `activity` was when it was last looked at, and since when it has been that. */
  activity: number;
  sinceMs: number;
}

export class KeyTraffic {
  /** Bound: COUNTED_KEYS_MAX, and COUNTED_KEYS_PER_APP of one application. */
  private readonly byKey = new Map<string, CountedKey>();
  /** How many of them an application has. Bound: as `byKey`. */
  private readonly perApp = new Map<AppId, number>();
  /** Keys beyond these, and connections without a key. No one reads it: what is counted needs no comparison. */
  readonly rest = new KeyCounters();

  /** The counters of a key that exists. Asked for with each connect and REST message, not with a frame. */
  of(app: AppId, keyId: string): KeyCounters {
    const known = this.byKey.get(keyId);
    if (known) return known.counters;
    if (keyId === "" || this.isFullFor(app)) return this.rest;
    const counters = new KeyCounters();
    this.byKey.set(keyId, { app, counters, activity: -1, sinceMs: 0 });
    this.perApp.set(app, (this.perApp.get(app) ?? 0) + 1);
    return counters;
  }

  /** `undefined` if the key has had no traffic, or is not counted separately. */
  known(keyId: string): KeyCounters | undefined {
    return this.byKey.get(keyId)?.counters;
  }

  *all(): Iterable<readonly [keyId: string, counters: KeyCounters]> {
    for (const [keyId, { counters }] of this.byKey) yield [keyId, counters];
  }

  *ofApp(app: AppId): Iterable<readonly [keyId: string, counters: KeyCounters]> {
    for (const [keyId, one] of this.byKey) if (one.app === app) yield [keyId, one.counters];
  }

  /** A key of it that has no counters yet gets none. */
  isFullFor(app: AppId): boolean {
    return this.byKey.size >= COUNTED_KEYS_MAX || (this.perApp.get(app) ?? 0) >= COUNTED_KEYS_PER_APP;
  }

  /** A step of the series is over. */
  peaksTaken(): void {
    for (const { counters } of this.byKey.values()) counters.peakTaken();
  }

  forgetIdle(nowMs: number): void {
    for (const [keyId, key] of this.byKey) {
      const { connects, messages, errors, refusedInAll, connections } = key.counters;
      const activity = connects + messages + errors + refusedInAll;
      if (activity !== key.activity || connections > 0) {
        key.activity = activity;
        key.sinceMs = nowMs;
      } else if (nowMs - key.sinceMs >= FORGOTTEN_AFTER_MS) {
        this.byKey.delete(keyId);
        const left = (this.perApp.get(key.app) ?? 1) - 1;
        if (left > 0) this.perApp.set(key.app, left);
        else this.perApp.delete(key.app);
      }
    }
  }
}
