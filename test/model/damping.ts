/**
 * The damping rule as the model knows it: at most five changes of one member are shown to a channel within 10 s, and one more join
 * if a message of that member makes it necessary. Until a change that was held back is shown, receivers know an older state.
 *
 * Returns are not held back, and not counted: a call would not go on (history 4). A peer that may be in a call with the member is
 * shown two changes for each time that the member has come back, and no more: each costs the member a subscribe.
 */
import type { Connection, Subscription } from "./model.ts";
import { ruleBroken } from "./rule-broken.ts";

const CHANGES_MAX = 5;
const WINDOW_MS = 10_000;
/** Frames are read at most this long after they were written: longer than the longest wait of a walk. */
const READ_LATE_MS = 2500;
/** Rosters are read at most this long after the ack: longer than a client of a walk reads nothing. */
const ROSTER_LATE_MS = 20_000;
/** `left` and `joined`. */
const CHANGES_PER_RETURN = 2;

/** A change as one connection has read it. */
interface Shown {
  readonly connection: Connection;
  readonly atMs: number;
  /** The metadata; undefined: it left. */
  readonly entry: string | undefined;
}

export class DampingLog {
  private readonly logs = new Map<string, Shown[]>();
  /** By application, channel and peer: its subscriptions, which may each have been a return. */
  private readonly arrivals = new Map<string, Set<Subscription>>();

  constructor(private readonly nowMs: () => number) {}

  /** A subscribe was acked: the member may have come back. */
  arrived({ app, peerId }: Connection, subscription: Subscription): void {
    const name = `${app} ${subscription.channel} ${peerId}`;
    this.arrivals.set(name, (this.arrivals.get(name) ?? new Set()).add(subscription));
  }

  /** How often the member may have come back. Its return is shown with its roster, or with a message before that. */
  private returns(app: string, channel: string, peerId: string): number {
    const since = this.nowMs() - WINDOW_MS - READ_LATE_MS;
    let returns = 0;
    for (const { ackedMs, rosterMs } of this.arrivals.get(`${app} ${channel} ${peerId}`) ?? []) {
      const lastMs = Number.isFinite(rosterMs) ? Math.max(ackedMs, rosterMs) : ackedMs + ROSTER_LATE_MS;
      if (lastMs >= since) returns++;
    }
    return returns;
  }

  /** A connection was shown a change of `peerId`. `mayReturn`: it is shown its returns too. */
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
    const ofReturns = mayReturn ? CHANGES_PER_RETURN * this.returns(connection.app, channel, peerId) : 0;
    if (own.length > CHANGES_MAX + 1 + ofReturns)
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
