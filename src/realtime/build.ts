/** Builds hub, dispatch, gateway and socket handlers, in the same way for a node and for tests. */
import type { WebSocketHandler } from "bun";
import { Dispatch } from "./frames/dispatch.ts";
import { Gateway, type GatewayParts } from "./frames/gateway.ts";
import { type SocketData, SocketHandlers } from "./frames/socket-handlers.ts";
import { Hub, type HubParts } from "./hub.ts";

export type AssemblyParts = HubParts & Omit<GatewayParts, "connections" | "emitter" | "holdUntilMs">;

export interface AssembledRealtime {
  readonly hub: Hub;
  readonly gateway: Gateway;
  readonly handlers: WebSocketHandler<SocketData>;
}

export function assembleRealtime(parts: AssemblyParts): AssembledRealtime {
  const hub = new Hub(parts);
  const { boundary, connections, deadlines, delivery, directs, emitter, narrowing, presence } = hub;
  const { channels, historyFrames, publishing, rateWindow, replays, states, streams } = hub;
  const dispatch = new Dispatch({
    ...parts,
    boundary,
    channels,
    connections,
    deadlines,
    delivery,
    directs,
    emitter,
    historyFrames,
    narrowing,
    presence,
    publishing,
    rateWindow,
    states,
    streams,
  });
  const gateway = new Gateway({ ...parts, connections, emitter, holdUntilMs: (ms) => hub.holdUntilMs(ms) });
  const handlers = new SocketHandlers({
    ...parts,
    boundary,
    connections,
    delivery,
    dispatch,
    emitter,
    presence,
    replays,
  }).handlers();
  return { hub, gateway, handlers };
}
