/**
 * The damping rule as the model knows it: at most five changes of one member are shown to a channel within 10 s, and one more join
 * if a message of that member makes it necessary. Until a change that was held back is shown, receivers know an older state.
 */

import type { Connection } from "./model.ts";
import { ruleBroken } from "./rule-broken.ts";

const CHANGES_MAX = 5;
const WINDOW_MS = 10_000;
/** Frames are read at most this long after they were written: longer than the longest wait of a walk. */
const READ_LATE_MS = 2500;

/** A change as one connection has read it. */
interface Shown {
  readonly connection: Connection;
  readonly atMs: number;
  /** The metadata; undefined: it left. */
  readonly entry: string | undefined;
}

export class DampingLog {
  private readonly logs = new Map<string, Shown[]>();

  constructor(private readonly nowMs: () => number) {}

  /** A connection was shown a change of `peerId`. `mayReturn`: it is shown its returns too, however many there are. */
  add(connection: Connection, channel: string, peerId: string, entry: string | undefined, mayReturn: boolean): void {
    const name = nameOf(connection, channel, peerId);
    const since = this.nowMs() - WINDOW_MS - READ_LATE_MS;
    const log = (this.logs.get(name) ?? []).filter(({ atMs }) => atMs >= since);
    log.push({ connection, atMs: this.nowMs(), entry });
    this.logs.set(name, log);
    // A roster begins anew: what was shown before it does not count.
    const from = Math.max(
      this.nowMs() - WINDOW_MS + READ_LATE_MS,
      connection.subscriptions.get(channel)?.rosterMs ?? 0,
    );
    const own = log.filter((one) => one.connection === connection && one.atMs > from);
    if (own.length > CHANGES_MAX + 1 && !mayReturn)
      ruleBroken(connection, `${own.length} changes of ${peerId} on ${channel} within 10 s`);
  }

  /** Whether further changes may be held back on this connection's node, because of those shown already. */
  isDamped(connection: Connection, channel: string, peerId: string): boolean {
    const since = this.nowMs() - WINDOW_MS - READ_LATE_MS;
    const log = (this.logs.get(nameOf(connection, channel, peerId)) ?? []).filter(({ atMs }) => atMs >= since);
    // The same change read by several connections at one time counts once; read several times by one connection, it counts each time.
    let changes = 0;
    for (const same of Map.groupBy(log, ({ atMs, entry }) => `${atMs} ${entry}`).values()) {
      const perConnection = Map.groupBy(same, (one) => one.connection);
      changes += Math.max(...[...perConnection.values()].map((some) => some.length));
    }
    return changes >= CHANGES_MAX;
  }

  /** Whether this connection was shown since then that `peerId` left. Others may not have been, and still know it. */
  hasLeft(connection: Connection, channel: string, peerId: string, sinceMs: number): boolean {
    const log = this.logs.get(nameOf(connection, channel, peerId)) ?? [];
    return log.some((one) => one.connection === connection && one.entry === undefined && one.atMs >= sinceMs);
  }

  /** Whether any change may be held back. */
  get isAnythingDamped(): boolean {
    const since = this.nowMs() - WINDOW_MS - READ_LATE_MS;
    return [...this.logs.values()].some((log) => log.filter(({ atMs }) => atMs >= since).length >= CHANGES_MAX);
  }
}

const nameOf = ({ app, node }: Connection, channel: string, peerId: string): string =>
  `${app} ${node} ${channel} ${peerId}`;
