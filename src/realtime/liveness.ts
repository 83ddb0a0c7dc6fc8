/**
 * Whether the other side is still there. Our own sends reset the runtime's idle timer, so a dead peer that is sent to would
 * never be dropped: we ping and look ourselves. Peers are spread over as many buckets as there are beats in a period.
 */
import { PING_EVERY_MS, SILENCE_MAX_MS } from "../protocol/limits.ts";
import type { Boundary } from "./boundary.ts";
import type { Clock } from "./clock.ts";
import type { ConnectionObserver, Connections } from "./connections.ts";
import type { RealtimeMetrics } from "./metrics.ts";
import type { Peer } from "./peer.ts";

const BEAT_MS = 1000;
const BUCKETS = PING_EVERY_MS / BEAT_MS;
/** Timers are late by a little: a ping is unanswered if its silence is a period but for a beat. */
const SLACK_MS = BEAT_MS;

export class Liveness implements ConnectionObserver {
  private readonly buckets: Set<Peer>[] = Array.from({ length: BUCKETS }, () => new Set());
  /** Those that left a whole ping unanswered: looked at every beat, so that silence ends on time. */
  private readonly suspects = new Set<Peer>();
  private at = 0;
  private count = 0;
  private beating = false;

  constructor(
    private readonly clock: Clock,
    private readonly boundary: Boundary,
    private readonly connections: Connections,
    private readonly metrics: RealtimeMetrics,
  ) {
    connections.observe(this);
  }

  connected(peer: Peer): void {
    this.bucketOf(peer).add(peer);
    this.count++;
    this.beat();
  }

  disconnected(peer: Peer): void {
    this.suspects.delete(peer);
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
      try {
        this.look();
      } finally {
        // Whatever happened: without the next beat dead peers would stay.
        this.beat();
      }
    });
  }

  private look(): void {
    this.at = (this.at + 1) % BUCKETS;
    const now = this.clock.monotonicMs();
    for (const peer of this.buckets[this.at] as Set<Peer>) {
      if (now - peer.lastSeenMs >= PING_EVERY_MS - SLACK_MS) this.suspects.add(peer);
      this.boundary.forPeer("timer", peer, ping);
    }
    for (const peer of this.suspects) this.judge(peer, now - peer.lastSeenMs);
  }

  private drop(peer: Peer): void {
    this.metrics.silentDrops.inc();
    this.connections.cut(peer);
  }

  private judge(peer: Peer, silenceMs: number): void {
    if (silenceMs >= SILENCE_MAX_MS) this.boundary.forPeer("timer", peer, () => this.drop(peer));
    else if (silenceMs < PING_EVERY_MS - SLACK_MS) this.suspects.delete(peer);
  }
}

const ping = (peer: Peer): void => void peer.socket.ping("");
