/** The engine's timer: its steps run several times per heartbeat. */
import type { ControlMessages } from "./control-messages.ts";
import type { NodeCallbacks } from "./nodes/callbacks.ts";
import type { FailureBoundary } from "./nodes/failure-boundary.ts";
import type { Heartbeats } from "./nodes/heartbeats.ts";
import type { Nodes } from "./nodes/nodes.ts";
import type { OtherWires } from "./nodes/other-wires.ts";
import type { CapacityClaims } from "./requests/capacity-claims.ts";
import type { PendingRequests } from "./requests/pending-requests.ts";
import type { ChannelSubscriptions } from "./sequences/channel-subscriptions.ts";
import type { Openings } from "./sequences/openings.ts";
import type { OutgoingSequences } from "./sequences/outgoing-sequences.ts";
import { tail } from "./wire/encode.ts";
import type { Wire } from "./wire/wire.ts";

const TICKS_PER_HEARTBEAT = 8;
/** Over a transport that reports losses there is nothing to repeat soon, and idle processes wake up less often. */
const TICKS_WHERE_LOSSES_ARE_REPORTED = 4;

interface TickerParts {
  readonly wire: Wire;
  readonly local: NodeCallbacks;
  readonly nodes: Nodes;
  readonly otherWires: OtherWires;
  readonly heartbeats: Heartbeats;
  readonly claims: CapacityClaims;
  readonly pendingRequests: PendingRequests;
  readonly openings: Openings;
  readonly control: ControlMessages;
  readonly outgoing: OutgoingSequences;
  readonly subscriptions: ChannelSubscriptions;
  readonly boundary: FailureBoundary;
}

/** A tick that comes this much later than the one before means that the process was suspended, or very busy. */
const LATE_TICKS = 3;

export class Ticker {
  private timer: ReturnType<typeof setInterval> | undefined;
  private lateMs = Number.POSITIVE_INFINITY;
  private lastMs = performance.now();
  private wasLate = false;

  constructor(private readonly parts: TickerParts) {}

  start(heartbeatMs: number): void {
    const { reportsLosses } = this.parts.wire;
    const ticks = reportsLosses ? TICKS_WHERE_LOSSES_ARE_REPORTED : TICKS_PER_HEARTBEAT;
    this.lateMs = (heartbeatMs / ticks) * LATE_TICKS;
    this.timer = setInterval(() => this.tick(), heartbeatMs / ticks);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Each step has its own boundary: a step that throws must not stop the others, in particular not the heartbeat. */
  private tick(): void {
    const { wire, nodes, otherWires, heartbeats, claims, pendingRequests, openings, control, subscriptions, boundary } =
      this.parts;
    const run = (step: string, work: () => void): void => boundary.run({ in: "timer", step }, work);
    // While this node receives nothing it considers no other gone: what it misses is replayed after the outage.
    if (!wire.isUp) nodes.startGrace();
    const isHeartbeat = heartbeats.isDue;
    const nowMs = performance.now();
    // Not twice in a row: under lasting overload every tick is late, and nothing would time out.
    const isLate = !this.wasLate && nowMs - this.lastMs > this.lateMs;
    this.wasLate = isLate;
    this.lastMs = nowMs;
    if (isHeartbeat) run("heartbeat", () => heartbeats.send(false));
    run("nodes", () => nodes.removeSilent());
    run("other wires", () => otherWires.sweep());
    run("fragments", () => wire.sweep());
    // After a suspension the responses may be there already, and are read after this timer: they are not missing yet.
    if (!isLate) {
      run("requests", () => pendingRequests.sweep());
      run("openings", () => openings.sweep());
      run("direct messages", () => control.sweepDirectMessages());
    }
    run("claims", () => claims.sweep());
    run("streams", () => this.repeatTails());
    if (!isHeartbeat) return;
    run("resync", () => this.resyncStale());
    run("absent nodes", () => subscriptions.sweep());
  }

  private repeatTails(): void {
    const { outgoing, local, wire } = this.parts;
    for (const { spaceId, channel, epoch, n, subject } of outgoing.tick(wire.isUp))
      wire.publish(subject, tail({ node: local.id, app: spaceId, channel, epoch, n }));
  }

  /** Repairs what an error has left undone since the last heartbeat. */
  private resyncStale(): void {
    const { nodes, subscriptions, local, boundary } = this.parts;
    local.retryNodeGone();
    for (const node of boundary.takeStale(nodes.all)) subscriptions.resync(node);
  }
}
