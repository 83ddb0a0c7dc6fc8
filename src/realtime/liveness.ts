/**
 * Whether the other side is still there. Our own sends reset the runtime's idle timer, so a dead peer that is sent to would
 * never be dropped: we ping and look ourselves. Peers are spread over as many buckets as there are beats in a period.
 */
import { PING_EVERY_MS, SILENCE_MAX_MS } from "../protocol/limits.ts";
import type { Clock } from "./clock.ts";
import type { Peer } from "./peer.ts";

const BEAT_MS = 1000;
const BUCKETS = PING_EVERY_MS / BEAT_MS;
/** Timers are late by a little; a silence that is short of the limit by less than a beat counts as reached. */
const SLACK_MS = BEAT_MS;

export class Liveness {
  private readonly buckets: Set<Peer>[] = Array.from({ length: BUCKETS }, () => new Set());
  private at = 0;
  private count = 0;
  private beating = false;

  constructor(
    private readonly clock: Clock,
    private readonly drop: (peer: Peer) => void,
  ) {}

  add(peer: Peer): void {
    this.bucketOf(peer).add(peer);
    this.count++;
    this.beat();
  }

  remove(peer: Peer): void {
    if (this.bucketOf(peer).delete(peer)) this.count--;
  }

  private bucketOf(peer: Peer): Set<Peer> {
    return this.buckets[Math.floor(peer.connectedMs / BEAT_MS) % BUCKETS] as Set<Peer>;
  }

  private beat(): void {
    if (this.beating || this.count === 0) return;
    this.beating = true;
    this.clock.after(BEAT_MS, () => {
      this.beating = false;
      this.at = (this.at + 1) % BUCKETS;
      const now = this.clock.monotonicMs();
      for (const peer of this.buckets[this.at] as Set<Peer>) {
        if (now - peer.lastSeenMs >= SILENCE_MAX_MS - SLACK_MS) this.drop(peer);
        else peer.socket.ping("");
      }
      this.beat();
    });
  }
}
