/** Peers over REST: send to one, disconnect one. */
import { z } from "zod";
import type { Blocks } from "../access/blocks.ts";
import type { Credential } from "../access/credential.ts";
import { BLOCK_MAX_SECONDS, BLOCKS_PER_APP_MAX } from "../access/limits.ts";
import { Problem } from "../protocol/codes.ts";
import { PEER_ID_MAX_CHARS } from "../protocol/limits.ts";
import { isPeerId } from "../protocol/names.ts";
import type { Hub } from "../realtime/hub.ts";
import type { Store } from "../store/store.ts";
import type { Call } from "./call.ts";
import { type Endpoint, endpoint, type Guard } from "./endpoint.ts";
import { message, permit, readMessage } from "./messages.ts";
import { wholeNumber } from "./schemas.ts";

export interface PeerParts {
  readonly hub: Hub;
  readonly store: Store;
  readonly blocks: Blocks;
  readonly nowMs: () => number;
}

function peerOf(call: Call): string {
  const { peerId } = call.params;
  if (!isPeerId(peerId))
    throw new Problem("invalid_request", `peerId: must be 1 to ${PEER_ID_MAX_CHARS} printable ASCII characters`);
  return peerId;
}

export function peerEndpoints(guard: Guard<Credential>, parts: PeerParts): Endpoint[] {
  const { hub, store, blocks, nowMs } = parts;
  const base = { tag: "peers", guard } as const;
  return [
    endpoint({
      ...base,
      method: "POST",
      path: "/v1/peers/:peerId/send",
      passesOn: true,
      summary: "Send to all connections of a peer",
      body: message,
      response: z.object({ peerId: z.string(), delivered: z.literal(true) }),
      problems: ["action_not_permitted", "peer_not_found", "over_message_quota", "backend_error"],
      handle: async (call, { caller, body, text }) => {
        const envelope = readMessage(body, text);
        const peerId = peerOf(call);
        permit(caller, "send");
        const refused = await hub.delivery.send(caller.key.app, peerId, envelope);
        if (refused) throw new Problem(refused);
        return { peerId, delivered: true };
      },
    }),
    endpoint({
      ...base,
      method: "DELETE",
      path: "/v1/peers/:peerId",
      summary: "Close a peer's connections, and optionally block it for a while",
      query: z.object({
        blockSec: wholeNumber(0, BLOCK_MAX_SECONDS)
          .describe("How many seconds its connects are refused. Absent: 0.")
          .optional(),
      }),
      response: z.object({ peerId: z.string(), closed: z.int() }),
      problems: ["conflict"],
      handle: async (call, { caller, query }) => {
        const peerId = peerOf(call);
        const { app } = caller.key;
        if (query.blockSec) {
          const untilMs = nowMs() + query.blockSec * 1000;
          if (!blocks.hasRoomFor(app, peerId, nowMs()))
            throw new Problem("conflict", `An application has at most ${BLOCKS_PER_APP_MAX} blocked peers at a time.`);
          await store.putBlock({ app, peerId, untilMs }, nowMs());
          return { peerId, closed: await hub.kicks.kick(app, peerId, untilMs) };
        }
        return { peerId, closed: await hub.kicks.kick(app, peerId) };
      },
    }),
  ];
}
