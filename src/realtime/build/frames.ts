/** Builds the way of a client: its connect, Bun's socket events, and its frames. */
import type { WebSocketHandler } from "bun";
import type { AdmitParts } from "../../access/admission/admit.ts";
import type { Follower } from "../../access/admission/store-follower.ts";
import type { Clock } from "../../base/clock.ts";
import type { Throttle } from "../../base/throttle.ts";
import type { Engine } from "../../engine/engine.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import type { Rates } from "../connections/rates.ts";
import type { RoomHooks } from "../connections/room-hooks.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { Usage } from "../counting/usage.ts";
import { ChannelFrames } from "../frames/channel-frames.ts";
import { Dispatch } from "../frames/dispatch.ts";
import { Gateway, type Room } from "../frames/gateway.ts";
import { MessageFrames } from "../frames/message-frames.ts";
import { Renewals } from "../frames/renewals.ts";
import { Replies } from "../frames/replies.ts";
import { type SocketData, type SocketEvents, SocketHandlers } from "../frames/socket-handlers.ts";
import type { ConnectionsBuilt } from "./connections.ts";
import type { ControlBuilt } from "./control.ts";
import type { MessagesBuilt } from "./messages.ts";
import type { PresenceBuilt } from "./presence.ts";
import type { StateBuilt } from "./state.ts";
import type { StreamsBuilt } from "./streams.ts";
import type { SubscriptionsBuilt } from "./subscriptions.ts";

export interface FramesOutside extends AdmitParts {
  readonly clock: Clock;
  readonly engine: Engine;
  readonly metrics: RealtimeMetrics;
  readonly faults: FaultLog;
  readonly rates: Rates;
  readonly maxPendingBytes: number;
  readonly roomHooks: RoomHooks;
  readonly usage: Usage;
  readonly connects: Throttle;
  /** `undefined` if no other node can change keys. */
  readonly storeFollower: Follower | undefined;
  readonly room: Room;
}

/** What frames need of the folders below them. */
type FramesNeeds = Pick<StateBuilt, "emitter" | "rateWindow"> &
  Pick<ConnectionsBuilt, "connections" | "boundary" | "deadlines"> &
  Pick<PresenceBuilt, "presence" | "states"> &
  MessagesBuilt &
  Pick<StreamsBuilt, "streams" | "publishing" | "replays" | "historyFrames"> &
  SubscriptionsBuilt &
  Pick<ControlBuilt, "expectedBack">;

export interface FramesBuilt {
  readonly gateway: Gateway;
  readonly handlers: WebSocketHandler<SocketData> & SocketEvents;
}

export function buildFrames(outside: FramesOutside, needs: FramesNeeds): FramesBuilt {
  const { keyring, blocks, keyRate, roomTokens, engine, connects, clock, storeFollower, roomHooks } = outside;
  const { metrics, faults, maxPendingBytes, usage, room } = outside;
  const { boundary, connections, delivery, emitter, presence, replays, expectedBack } = needs;
  const gateway = new Gateway({
    keyring,
    blocks,
    keyRate,
    roomTokens,
    connections,
    emitter,
    expectedBack,
    engine,
    connects,
    metrics,
    faults,
    clock,
    storeFollower,
    roomHooks,
    reachedQuotas: usage.reached,
    room,
  });
  const sockets = new SocketHandlers({
    boundary,
    connections,
    delivery,
    emitter,
    presence,
    replays,
    dispatch: buildDispatch(outside, needs),
    metrics,
    faults,
    maxPendingBytes,
    roomHooks,
  });
  return { gateway, handlers: sockets.handlers() };
}

function buildDispatch(outside: FramesOutside, needs: FramesNeeds): Dispatch {
  const { keyring, blocks, keyRate, roomTokens, connects, storeFollower, roomHooks, metrics, clock, rates } = outside;
  const { boundary, connections, deadlines, delivery, emitter, presence, rateWindow } = needs;
  const { directs, publishing, streams, channels, narrowing, inSight, states, historyFrames } = needs;
  const replies = new Replies({ delivery, emitter, metrics });
  const renewals = new Renewals({
    keyring,
    blocks,
    keyRate,
    roomTokens,
    boundary,
    connections,
    deadlines,
    emitter,
    narrowing,
    presence,
    clock,
    rates,
    connects,
    storeFollower,
    replies,
    roomHooks,
  });
  return new Dispatch({
    replies,
    messages: new MessageFrames({
      boundary,
      delivery,
      directs,
      publishing,
      streams,
      clock,
      replies,
      inSight,
      roomHooks,
    }),
    channels: new ChannelFrames({ channels, states, replies, historyFrames, inSight, roomHooks }),
    renewals,
    connections,
    presence,
    clock,
    metrics,
    rates,
    shownRates: rateWindow,
  });
}
