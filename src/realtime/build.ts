/** The realtime half of a node from its parts: the same for a node and for tests. */
import { Dispatch } from "./dispatch.ts";
import { Gateway, type GatewayParts } from "./gateway.ts";
import { Hub, type HubParts } from "./hub.ts";

export type HubAndGatewayParts = HubParts & Omit<GatewayParts, "hub" | "dispatch">;

export function buildHubAndGateway(parts: HubAndGatewayParts): { hub: Hub; gateway: Gateway } {
  const hub = new Hub(parts);
  const dispatch = new Dispatch({ ...parts, hub });
  return { hub, gateway: new Gateway({ ...parts, hub, dispatch }) };
}
