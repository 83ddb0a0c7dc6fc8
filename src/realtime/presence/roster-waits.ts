/** Subscriptions whose roster waits for the pong of the ping after their ack, and the timeout of that wait. */
import type { Clock } from "../../base/clock.ts";
import { ROSTER_WAIT_MS } from "../../protocol/limits.ts";
import type { Subscription } from "../state/subscription.ts";

/** A roster is due ROSTER_WAIT_MS after its ack; the wait for the pong ends this much earlier, because timers can be late. */
const PONG_WAIT_MS = ROSTER_WAIT_MS - 50;
/** Rosters that become due within this time are written together: each of them is as long as the channel is large. */
const WATCH_GAP_MS = 10;

interface Waiting {
  readonly subscription: Subscription;
  readonly ping: number;
  readonly untilMs: number;
}

export class RosterWaits {
  /** In the order of their deadlines, because all wait equally long. Bound: the rate of frames for 500 ms. */
  private waiting: Waiting[] = [];
  private watching = false;

  constructor(
    private readonly clock: Clock,
    /** Rosters that are not written at their deadline, whether or not the pong has come. */
    private readonly onOverdue: (subscriptions: readonly Subscription[]) => void,
  ) {}

  /** From now on the roster tied to this ping has a deadline. */
  add(subscription: Subscription, ping: number): void {
    const untilMs = this.clock.monotonicMs() + PONG_WAIT_MS;
    this.waiting.push({ subscription, ping, untilMs });
    if (!this.watching) this.watch();
  }

  private watch(): void {
    const [first] = this.waiting;
    if (!first) return;
    this.watching = true;
    this.clock.after(Math.max(WATCH_GAP_MS, first.untilMs - this.clock.monotonicMs()), () => {
      this.watching = false;
      this.onOverdue(this.takeOverdue());
      if (!this.watching) this.watch();
    });
  }

  private takeOverdue(): Subscription[] {
    const nowMs = this.clock.monotonicMs();
    const overdue: Subscription[] = [];
    let passed = 0;
    for (const { subscription, ping, untilMs } of this.waiting) {
      const isUnsent = subscription.awaitsRosterFor(ping);
      if (isUnsent && untilMs > nowMs) break;
      passed++;
      if (isUnsent) overdue.push(subscription);
    }
    this.waiting.splice(0, passed);
    return overdue;
  }
}
