/** Peers over REST: send to one, disconnect one. */
import type { Credential } from "../../access/keys/credential.ts";
import type { Directs } from "../../realtime/messages/directs.ts";
import { keyIdScope } from "../../realtime/state/connection.ts";
import type { KeyTraffic } from "../../telemetry/key-traffic.ts";
import { peerIn } from "../request/path-names.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import type { AppAudit } from "../shared/audit.ts";
import {
  type DisconnectParts,
  disconnected,
  disconnectPeer,
  disconnectQuery,
  PEER_BLOCKED,
} from "../shared/disconnecting.ts";
import { delivered, message, permit, readMessage, sendMessage } from "../shared/messages.ts";

interface PeerParts extends DisconnectParts {
  readonly directs: Pick<Directs, "send">;
  readonly keyTraffic: Pick<KeyTraffic, "of">;
  readonly audit: AppAudit;
}

export function peerEndpoints(guard: Guard<Credential>, parts: PeerParts): Endpoint[] {
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
      problems: ["action_not_permitted", "peer_not_found", "over_message_quota", "rate_limited", "backend_error"],
      handle: async (call, { caller, body, textOf }) => {
        const envelope = readMessage(body, textOf);
        const peerId = peerIn(call);
        permit(caller, "send");
        const { app, id } = caller.key;
        const done = await sendMessage(parts.directs, app, peerId, envelope, keyIdScope(id));
        parts.keyTraffic.of(app, id).messages++;
        return done;
      },
    }),
    endpoint({
      ...base,
      method: "DELETE",
      path: "/v1/peers/:peerId",
      summary: "Close a peer's connections, and optionally block it for a time",
      query: disconnectQuery,
      response: disconnected,
      problems: ["conflict"],
      handle: async (call, { caller, query: { blockSec } }) => {
        const { app, id } = caller.key;
        const peerId = peerIn(call);
        const done = await disconnectPeer(parts, app, peerId, blockSec);
        if (blockSec) parts.audit(call, id, { what: PEER_BLOCKED, on: peerId, app, after: { blockSec } });
        // A peer that is not connected stays as it was.
        else if (done.closed > 0) parts.audit(call, id, { what: "peer kicked", on: peerId, app });
        return done;
      },
    }),
  ];
}
