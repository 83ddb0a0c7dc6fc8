/** Builds the life of connections: they begin, are watched and end; faults of our own cost one of them, or a channel. */
import type { Clock } from "../../base/clock.ts";
import type { Engine } from "../../engine/engine.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import { Boundary } from "../connections/boundary.ts";
import { Connections } from "../connections/connections.ts";
import { Deadlines } from "../connections/deadlines.ts";
import { Holds } from "../connections/holds.ts";
import type { IceServersOf } from "../connections/ice-servers.ts";
import { Liveness } from "../connections/liveness.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { Usage } from "../counting/usage.ts";
import type { StateBuilt } from "./state.ts";

export interface ConnectionsOutside {
  readonly clock: Clock;
  readonly engine: Engine;
  readonly usage: Usage;
  readonly metrics: RealtimeMetrics;
  readonly faults: FaultLog;
  /** For keys with `turn` and for people in rooms; absent: there are none. */
  readonly iceServersOf?: IceServersOf | undefined;
}

export interface ConnectionsBuilt {
  /** Peers that are expected back. */
  readonly holds: Holds;
  readonly connections: Connections;
  readonly boundary: Boundary;
  readonly deadlines: Deadlines;
  readonly liveness: Liveness;
}

/** The observers of connections are registered in follow.ts, where their order shows. */
export function buildConnections(outside: ConnectionsOutside, { spaces, emitter }: StateBuilt): ConnectionsBuilt {
  const { clock, engine, usage, metrics, faults, iceServersOf } = outside;
  const holds = new Holds({ clock, engine, spaces, faults });
  const connections = new Connections({
    spaces,
    clock,
    engine,
    usage,
    metrics,
    faults,
    emitter,
    holds,
    iceServersOf,
  });
  const boundary = new Boundary({ faults, engine, spaces, connections });
  const deadlines = new Deadlines(clock, boundary, connections);
  const liveness = new Liveness(clock, boundary, connections, metrics);
  return { holds, connections, boundary, deadlines, liveness };
}
