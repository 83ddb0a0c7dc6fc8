/** Builds hub, dispatch, gateway and socket handlers, in the same way for a node and for tests. */
import type { WebSocketHandler } from "bun";
import { Dispatch } from "./dispatch.ts";
import { Gateway, type GatewayParts } from "./gateway.ts";
import { Hub, type HubParts } from "./hub.ts";
import { type SocketData, SocketHandlers } from "./socket-handlers.ts";

export type AssemblyParts = HubParts & Omit<GatewayParts, "hub">;

export interface AssembledRealtime {
  readonly hub: Hub;
  readonly gateway: Gateway;
  readonly handlers: WebSocketHandler<SocketData>;
}

export function assembleRealtime(parts: AssemblyParts): AssembledRealtime {
  const hub = new Hub(parts);
  const dispatch = new Dispatch({ ...parts, hub });
  const gateway = new Gateway({ ...parts, hub });
  return { hub, gateway, handlers: new SocketHandlers({ ...parts, hub, dispatch }).handlers() };
}
