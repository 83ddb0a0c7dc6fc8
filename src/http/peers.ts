/** Peers over REST: send to one, disconnect one. */
import type { Credential } from "../access/credential.ts";
import { type DisconnectParts, disconnected, disconnectPeer, disconnectQuery } from "./disconnecting.ts";
import { type Endpoint, endpoint, type Guard } from "./endpoint.ts";
import { delivered, message, permit, readMessage, sendMessage } from "./messages.ts";
import { peerIn } from "./path-names.ts";

export function peerEndpoints(guard: Guard<Credential>, parts: DisconnectParts): Endpoint[] {
  const base = { tag: "peers", guard } as const;
  return [
    endpoint({
      ...base,
      method: "POST",
      path: "/v1/peers/:peerId/send",
      passesOn: true,
      summary: "Send to all connections of a peer",
      body: message,
      response: delivered,
      problems: ["action_not_permitted", "peer_not_found", "over_message_quota", "backend_error"],
      handle: (call, { caller, body, text }) => {
        const envelope = readMessage(body, text);
        const peerId = peerIn(call);
        permit(caller, "send");
        return sendMessage(parts.hub, caller.key.app, peerId, envelope);
      },
    }),
    endpoint({
      ...base,
      method: "DELETE",
      path: "/v1/peers/:peerId",
      summary: "Close a peer's connections, and optionally block it for a while",
      query: disconnectQuery,
      response: disconnected,
      problems: ["conflict"],
      handle: (call, { caller, query }) => disconnectPeer(parts, caller.key.app, peerIn(call), query.blockSec),
    }),
  ];
}
