/** Builds who is shown to whom: presence, states, counts, and members of nodes that have stopped. */
import type { Keyring } from "../../access/keys/keyring.ts";
import type { Clock } from "../../base/clock.ts";
import type { Engine, NodeName } from "../../engine/engine.ts";
import type { NodeRequests } from "../../engine/node-requests.ts";
import type { HeldMemberStore } from "../../store/contract/held-members.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import type { RoomHooks } from "../connections/room-hooks.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import { Notes } from "../presence/notes.ts";
import { Occupancy } from "../presence/occupancy.ts";
import { OccupancyFrames } from "../presence/occupancy-frames.ts";
import { Presence } from "../presence/presence.ts";
import { States } from "../presence/states.ts";
import type { Broadcast } from "../state/socket.ts";
import type { ConnectionsBuilt } from "./connections.ts";
import type { StateBuilt } from "./state.ts";

export interface PresenceOutside {
  readonly id: NodeName;
  readonly clock: Clock;
  readonly engine: Engine;
  readonly keyring: Keyring;
  readonly metrics: RealtimeMetrics;
  readonly faults: FaultLog;
  readonly broadcast: Broadcast;
  readonly presenceTickMs: number;
  /** Bytes that may wait for one connection before it is cut. */
  readonly maxPendingBytes: number;
  /** Where members are noted that this node holds when it stops; absent in tests that do not restart. */
  readonly heldMembers?: HeldMemberStore | undefined;
  readonly roomHooks: RoomHooks;
}

export interface PresenceBuilt {
  readonly presence: Presence;
  /** Held members over the end of a node. */
  readonly notes: Notes;
  readonly occupancy: Occupancy;
  readonly occupancyFrames: OccupancyFrames;
  readonly states: States;
}

export function buildPresence(
  outside: PresenceOutside,
  nodeRequests: NodeRequests,
  { spaces, emitter }: StateBuilt,
  { holds, connections, boundary }: ConnectionsBuilt,
): PresenceBuilt {
  const { id, clock, engine, keyring, metrics, faults, broadcast, presenceTickMs, maxPendingBytes } = outside;
  const { heldMembers, roomHooks } = outside;
  const presence = new Presence({
    clock,
    engine,
    keyring,
    broadcast,
    presenceTickMs,
    maxPendingBytes,
    spaces,
    connections,
    boundary,
    metrics,
    emitter,
    holds,
  });
  const { lingering } = presence;
  return {
    presence,
    notes: new Notes({ id, heldMembers, clock, spaces, holds, lingering, faults, nodeRequests }),
    occupancy: new Occupancy(spaces, engine, clock),
    occupancyFrames: new OccupancyFrames({ clock, broadcast, nodeRequests, spaces, metrics, faults }),
    states: new States({ spaces, nodeRequests, presence, emitter, roomHooks }),
  };
}
