/** When channels tick: which ones are to be visited, and how far apart the ticks of one channel are. */
import type { Clock } from "../../base/clock.ts";
import type { Channel } from "../state/channel.ts";

/**
 * A tick writes one frame to each member: larger channels tick less often, so that the cost of many joins in a short time
 * stays linear. A roster does not wait for that: one that is due before the next tick is written ahead of it.
 */
const SPACING_MS_PER_MEMBER = 0.5;
const SPACING_MAX_MS = 500;

export class Ticks {
  /** Channels that the next tick visits. Bound: channels in use here. */
  private readonly dirty = new Set<Channel>();
  private isTimerSet = false;

  constructor(
    private readonly clock: Clock,
    private readonly everyMs: number,
    /** Ticks a channel, and calls `ticked` for it. */
    private readonly visit: (channel: Channel) => void,
  ) {}

  schedule(channel: Channel): void {
    this.dirty.add(channel);
    if (!this.isTimerSet) this.setTimer();
  }

  mayTick(channel: Channel): boolean {
    const spacing = Math.min(SPACING_MAX_MS, channel.members.size * SPACING_MS_PER_MEMBER);
    return channel.lastTickMs === 0 || this.clock.monotonicMs() - channel.lastTickMs >= spacing;
  }

  /** The channel ticks now, whether this timer or a message is the cause. */
  ticked(channel: Channel): void {
    this.dirty.delete(channel);
    channel.lastTickMs = this.clock.monotonicMs();
  }

  private setTimer(): void {
    this.isTimerSet = true;
    this.clock.after(this.everyMs, () => {
      this.isTimerSet = false;
      this.visitAll();
    });
  }

  private visitAll(): void {
    for (const channel of [...this.dirty]) {
      if (this.mayTick(channel)) this.visit(channel);
      else this.schedule(channel);
    }
  }
}
