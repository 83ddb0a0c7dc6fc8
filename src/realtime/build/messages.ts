/** Builds delivery: messages of channels, and direct messages. */
import type { Keyring } from "../../access/keys/keyring.ts";
import type { Clock } from "../../base/clock.ts";
import type { Engine } from "../../engine/engine.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { Usage } from "../counting/usage.ts";
import { Delivery } from "../messages/delivery.ts";
import { Directs } from "../messages/directs.ts";
import type { Broadcast } from "../state/socket.ts";
import type { ConnectionsBuilt } from "./connections.ts";
import type { PresenceBuilt } from "./presence.ts";
import type { StateBuilt } from "./state.ts";

export interface MessagesOutside {
  readonly clock: Clock;
  readonly engine: Engine;
  readonly keyring: Keyring;
  readonly usage: Usage;
  readonly metrics: RealtimeMetrics;
  readonly broadcast: Broadcast;
  readonly faults: FaultLog;
}

export interface MessagesBuilt {
  readonly delivery: Delivery;
  readonly directs: Directs;
}

export function buildMessages(
  { clock, engine, keyring, usage, metrics, broadcast, faults }: MessagesOutside,
  { spaces, emitter }: StateBuilt,
  { holds }: ConnectionsBuilt,
  { presence }: PresenceBuilt,
): MessagesBuilt {
  const delivery = new Delivery({ spaces, presence, engine, broadcast, keyring, usage, metrics, clock, emitter });
  const directs = new Directs({ spaces, presence, engine, metrics, clock, emitter, holds, delivery, faults });
  return { delivery, directs };
}
