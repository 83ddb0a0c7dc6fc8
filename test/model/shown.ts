/**
 * The damping rule, as the model knows it: of one member of a channel at most five changes are shown within 10 s, and one join
 * more where a message of that member makes it necessary. Until the held-back change is shown, receivers know an older state.
 */
import { broken } from "./ears.ts";
import type { Line } from "./truth.ts";

const CHANGES_MAX = 5;
const WINDOW_MS = 10_000;
/** Frames are read up to so long after they were written: as long as the longest wait is. */
const READ_LATE_MS = 2500;

/** A change as one connection has read it. */
interface Shown {
  readonly line: Line;
  readonly atMs: number;
  /** The metadata; undefined: it left. */
  readonly entry: string | undefined;
}

export class ShownLog {
  private readonly logs = new Map<string, Shown[]>();

  constructor(private readonly nowMs: () => number) {}

  /** A connection was shown a change of `peerId`. */
  add(line: Line, channel: string, peerId: string, entry: string | undefined): void {
    const name = nameOf(line, channel, peerId);
    const since = this.nowMs() - WINDOW_MS - READ_LATE_MS;
    const log = (this.logs.get(name) ?? []).filter(({ atMs }) => atMs >= since);
    log.push({ line, atMs: this.nowMs(), entry });
    this.logs.set(name, log);
    // A roster says everything anew: what was shown before it does not count.
    const from = Math.max(this.nowMs() - WINDOW_MS + READ_LATE_MS, line.held.get(channel)?.rosterMs ?? 0);
    const own = log.filter((one) => one.line === line && one.atMs > from);
    if (own.length > CHANGES_MAX + 1) broken(line, `${own.length} changes of ${peerId} on ${channel} within 10 s`);
  }

  /** Whether so many changes were shown on this connection's node that further ones may be held back. */
  isDamped(line: Line, channel: string, peerId: string): boolean {
    const since = this.nowMs() - WINDOW_MS - READ_LATE_MS;
    const log = (this.logs.get(nameOf(line, channel, peerId)) ?? []).filter(({ atMs }) => atMs >= since);
    // What several have read at one moment is one change; what one has read several times then are several.
    let changes = 0;
    for (const same of Map.groupBy(log, ({ atMs, entry }) => `${atMs} ${entry}`).values()) {
      const perLine = Map.groupBy(same, (one) => one.line);
      changes += Math.max(...[...perLine.values()].map((some) => some.length));
    }
    return changes >= CHANGES_MAX;
  }

  /** Whether a connection was shown since then that `peerId` left: the others may not have been, and keep it as it was. */
  hasLeft(line: Line, channel: string, peerId: string, sinceMs: number): boolean {
    const log = this.logs.get(nameOf(line, channel, peerId)) ?? [];
    return log.some((one) => one.line === line && one.entry === undefined && one.atMs >= sinceMs);
  }

  /** Whether anything may be held back anywhere. */
  get isAnythingDamped(): boolean {
    const since = this.nowMs() - WINDOW_MS - READ_LATE_MS;
    return [...this.logs.values()].some((log) => log.filter(({ atMs }) => atMs >= since).length >= CHANGES_MAX);
  }
}

const nameOf = ({ app, node }: Line, channel: string, peerId: string): string => `${app} ${node} ${channel} ${peerId}`;
