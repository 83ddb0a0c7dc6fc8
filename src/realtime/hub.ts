/**
 * Builds the parts of realtime on top of each other: connections, the fault boundary, presence, channels, and what works on all
 * of them. A part only knows those that are built before it.
 */
import type { Blocks } from "../access/blocks.ts";
import type { Keyring } from "../access/keyring.ts";
import type { Engine, NodeEnd, NodeId } from "../engine/engine.ts";
import type { FaultLog } from "../telemetry/faults.ts";
import { Boundary } from "./boundary.ts";
import { Channels } from "./channels.ts";
import type { Clock } from "./clock.ts";
import { Connections } from "./connections.ts";
import { Deadlines } from "./deadlines.ts";
import { Delivery } from "./delivery.ts";
import { EngineBoundary } from "./engine-boundary.ts";
import { EngineHandler } from "./engine-handler.ts";
import { KeyChanges } from "./key-changes.ts";
import { Kicks } from "./kicks.ts";
import { Liveness } from "./liveness.ts";
import type { RealtimeMetrics } from "./metrics.ts";
import { Occupancy } from "./occupancy.ts";
import { Presence } from "./presence.ts";
import type { Rates } from "./rates.ts";
import type { Broadcast } from "./socket.ts";
import { Spaces } from "./spaces.ts";
import type { Usage } from "./usage.ts";

export interface HubParts {
  readonly id: NodeId;
  readonly clock: Clock;
  readonly engine: Engine;
  readonly keyring: Keyring;
  readonly blocks: Blocks;
  readonly usage: Usage;
  readonly metrics: RealtimeMetrics;
  readonly faults: FaultLog;
  readonly broadcast: Broadcast;
  readonly presenceTickMs: number;
  readonly rates: Rates;
  /** Bytes that may wait for one connection before it is cut. */
  readonly maxPendingBytes: number;
  /** Another node has changed what all nodes share: it is read now; for an application, its usage is written too. */
  readonly nudged: (app?: string) => Promise<void>;
}

export class Hub {
  readonly spaces: Spaces;
  readonly connections: Connections;
  readonly boundary: Boundary;
  readonly presence: Presence;
  readonly channels: Channels;
  readonly delivery: Delivery;
  readonly occupancy: Occupancy;
  readonly kicks: Kicks;
  readonly liveness: Liveness;
  readonly deadlines: Deadlines;
  /** What the engine calls. */
  readonly nodeEnd: NodeEnd;

  constructor(parts: HubParts) {
    const { clock, engine, metrics } = parts;
    const spaces = new Spaces(engine);
    const connections = new Connections({ ...parts, spaces });
    const boundary = new Boundary({ ...parts, spaces, connections });
    const presence = new Presence({ ...parts, spaces, connections, boundary });
    // The first observer of connections: subscriptions end while their connection is still listed.
    const channels = new Channels({ engine, spaces, connections, presence, boundary });
    const delivery = new Delivery({ ...parts, spaces, presence });
    const occupancy = new Occupancy(spaces, engine);
    const kicks = new Kicks({ ...parts, spaces, connections });
    const deadlines = new Deadlines(clock, boundary, connections);
    this.liveness = new Liveness(clock, boundary, connections, metrics);
    new KeyChanges({ ...parts, deadlines, boundary, connections, channels });
    const handler = new EngineHandler({ ...parts, spaces, delivery, presence, occupancy, kicks, boundary });
    this.nodeEnd = new EngineBoundary({ ...parts, handler, boundary, spaces });
    this.spaces = spaces;
    this.connections = connections;
    this.boundary = boundary;
    this.presence = presence;
    this.channels = channels;
    this.delivery = delivery;
    this.occupancy = occupancy;
    this.kicks = kicks;
    this.deadlines = deadlines;
    engine.attach(this.nodeEnd);
  }
}
