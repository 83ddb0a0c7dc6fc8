/** Builds subscriptions: how they begin, and what ends them when permissions shrink. */

import type { Keyring } from "../../access/keys/keyring.ts";
import type { Clock } from "../../base/clock.ts";
import type { Engine } from "../../engine/engine.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import { Channels } from "../subscriptions/channels.ts";
import { InSight } from "../subscriptions/in-sight.ts";
import { Narrowing } from "../subscriptions/narrowing.ts";
import type { ConnectionsBuilt } from "./connections.ts";
import type { PresenceBuilt } from "./presence.ts";
import type { StateBuilt } from "./state.ts";
import type { StreamsBuilt } from "./streams.ts";

export interface SubscriptionsOutside {
  readonly clock: Clock;
  readonly engine: Engine;
  readonly keyring: Keyring;
  readonly metrics: RealtimeMetrics;
}

export interface SubscriptionsBuilt {
  readonly channels: Channels;
  readonly narrowing: Narrowing;
  readonly inSight: InSight;
}

export function buildSubscriptions(
  { clock, engine, keyring, metrics }: SubscriptionsOutside,
  { spaces, emitter }: StateBuilt,
  { boundary }: ConnectionsBuilt,
  { presence, notes, occupancyFrames }: PresenceBuilt,
  { streams, replays }: StreamsBuilt,
): SubscriptionsBuilt {
  const channels = new Channels({
    engine,
    keyring,
    notes,
    spaces,
    presence,
    boundary,
    emitter,
    streams,
    replays,
    clock,
    occupancyFrames,
  });
  const narrowing = new Narrowing({ channels, metrics, emitter });
  return { channels, narrowing, inSight: new InSight({ narrowing, boundary, clock }) };
}
