/** For tests: one node without a network. Sockets, clock and usage are stand-ins, everything else is built as in production. */
import type { WebSocketHandler } from "bun";
import { Blocks } from "../../access/admission/blocks.ts";
import type { Follower } from "../../access/admission/store-follower.ts";
import type { Keyring } from "../../access/keys/keyring.ts";
import type { Clock } from "../../base/clock.ts";
import { steadyClock } from "../../base/clock.ts";
import { Throttle } from "../../base/throttle.ts";
import type { Engine } from "../../engine/engine.ts";
import type { HistoryStore } from "../../history/contract/history.ts";
import type { HeldMemberStore } from "../../store/contract/held-members.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { assembleRealtime } from "../build.ts";
import type { Rates } from "../connections/rates.ts";
import { NO_ROOMS, type RoomHooks } from "../connections/room-hooks.ts";
import { RealtimeMetrics } from "../counting/metrics.ts";
import { Usage } from "../counting/usage.ts";
import type { Gateway, Room } from "../frames/gateway.ts";
import type { SocketData, SocketEvents } from "../frames/socket-handlers.ts";
import type { Hub } from "../hub.ts";
import { FakeServer } from "./fake-socket.ts";
import { ROOM_TOKENS } from "./keys.ts";
import { MemoryUsage, noFaults, noHistory, silentLog } from "./stubs.ts";

export interface NodeOptions {
  readonly tickMs?: number;
  readonly rates?: Rates;
  /** From one address; absent: no limit. */
  readonly connectsPerMinute?: number;
  readonly storeFollower?: Follower;
  /** Absent: a fault fails the test. */
  readonly faults?: FaultLog;
  readonly maxPendingBytes?: number;
  /** Absent: one that no channel may need. */
  readonly history?: HistoryStore;
  /** Absent: nothing is noted when a node stops. */
  readonly heldMembers?: HeldMemberStore;
  /** Absent: there are no rooms. */
  readonly roomHooks?: RoomHooks;
  /** Absent: there is always room for one more connection. */
  readonly room?: Room;
}

interface NodeParts {
  readonly id: string;
  readonly clock: NodeClock;
  readonly keyring: Keyring;
  readonly engine: Engine;
  readonly blocks?: Blocks;
  readonly metrics?: RealtimeMetrics;
}

export interface TestNode {
  readonly clock: NodeClock;
  readonly server: FakeServer;
  readonly hub: Hub;
  readonly gateway: Gateway;
  readonly handlers: WebSocketHandler<SocketData> & SocketEvents;
  readonly engine: Engine;
  readonly usage: Usage;
  readonly usageRows: MemoryUsage;
  readonly metrics: RealtimeMetrics;
}

/** A node's own view of the clock, which ends when the node does. */
export class NodeClock implements Clock {
  private steady: (() => number) | undefined;
  isStopped = false;
  /** By how much the wall clock of this node differs from that of the others. */
  skewMs = 0;

  constructor(private readonly clock: Clock) {}

  wallMs = (): number => this.clock.wallMs() + this.skewMs;
  monotonicMs = (): number => this.clock.monotonicMs();
  retentionMs = this.wallMs;
  steadyMs = (): number => {
    this.steady ??= steadyClock(this.wallMs, this.monotonicMs);
    return this.steady();
  };
  after = (ms: number, callback: () => void): void =>
    this.clock.after(ms, () => {
      if (!this.isStopped) callback();
    });
}

export function buildNode(parts: NodeParts, options: NodeOptions = {}): TestNode {
  const { clock, engine, blocks = new Blocks(), metrics = new RealtimeMetrics(new Metrics()) } = parts;
  const { tickMs = 10, connectsPerMinute = 0, faults = noFaults, maxPendingBytes = 1 << 20, storeFollower } = options;
  const server = new FakeServer();
  const usageRows = new MemoryUsage();
  const usage = new Usage(usageRows.store, clock, silentLog);
  const { hub, gateway, handlers } = assembleRealtime({
    ...parts,
    blocks,
    metrics,
    usage,
    faults,
    storeFollower,
    maxPendingBytes,
    history: options.history ?? noHistory,
    heldMembers: options.heldMembers,
    broadcast: server.broadcast,
    presenceTickMs: tickMs,
    rates: options.rates ?? { framesPerSecond: 0, framesBurst: 500 },
    connects: new Throttle(connectsPerMinute, connectsPerMinute / 60, clock.monotonicMs),
    keyRate: new Throttle(0, 0, clock.monotonicMs),
    invalidated: async () => {},
    roomHooks: options.roomHooks ?? NO_ROOMS,
    roomTokens: ROOM_TOKENS,
    room: options.room ?? { hasRoom: () => true },
  });
  return { clock, server, hub, gateway, handlers, engine, usage, usageRows, metrics };
}
