/** Control plane: live peers over all nodes; disconnect one, block it, send to it. */
import { z } from "zod";
import { spaceOf } from "../../../base/ids.ts";
import { lazily } from "../../../base/lazily.ts";
import { PEER_ID_MAX_CHARS } from "../../../protocol/limits.ts";
import type { Directs } from "../../../realtime/messages/directs.ts";
import { LIVE_CONNECTIONS_MAX, LIVE_PAGE_MAX, PEER_NAME_MAX_CHARS } from "../../../realtime/operators/live/limits.ts";
import type { LivePeers } from "../../../realtime/operators/live/peers.ts";
import type { Guards } from "../../guards/realtime.ts";
import { peerIn } from "../../request/path-names.ts";
import { type Endpoint, endpoint } from "../../server/endpoint.ts";
import type { Audit } from "../../shared/audit.ts";
import { type BlockReads, block, blockOf } from "../../shared/blocks.ts";
import {
  type DisconnectParts,
  disconnected,
  disconnectPeer,
  disconnectQuery,
  PEER_BLOCKED,
} from "../../shared/disconnecting.ts";
import { delivered, message, OPERATORS, readMessage, sendMessage } from "../../shared/messages.ts";
import { limit, toSeconds, unixSeconds } from "../../shared/schemas.ts";
import type { AppIn } from "../app-in.ts";

const isComplete = lazily(() =>
  z.boolean().describe("false: a node has not responded, and what only it knows is missing"),
);

const name = lazily(() =>
  z
    .string()
    .max(PEER_NAME_MAX_CHARS)
    .describe("`name` or `username` of its metadata, else of its state in a channel; the beginning of a long one")
    .optional(),
);
const lastMessage = lazily(() =>
  unixSeconds().describe("Unix seconds: the last message of its open connections, published or sent").optional(),
);

const listed = lazily(() =>
  z
    .object({
      peerId: z.string(),
      connections: z.int(),
      since: unixSeconds().describe("Unix seconds: its oldest connection"),
      channels: z.int().describe("Channels it subscribes to, added up over the nodes it is connected to"),
      name: name(),
      lastMessage: lastMessage(),
    })
    .meta({ id: "LivePeer" }),
);

const connection = lazily(() =>
  z
    .object({
      connectionId: z.string(),
      nodeId: z.string(),
      keyId: z.string(),
      address: z.string(),
      since: unixSeconds(),
      subscriptions: z.array(z.string()),
      framesPerSec: z.number().describe("Frames from the client per second, lately"),
    })
    .meta({ id: "LiveConnection" }),
);

const event = lazily(() =>
  z
    .object({
      at: z.number().describe("Unix milliseconds, as in the tail"),
      kind: z.string().describe("connect, refuse, subscribe, unsubscribe, publish, error or close"),
      connectionId: z.string(),
      keyId: z.string().optional(),
      channel: z.string().optional(),
      code: z.union([z.string(), z.int()]).optional().describe("Of an error or a refusal, or the close code"),
      count: z.int().optional().describe("publish: messages since the event before; error: how often in a row"),
    })
    .meta({ id: "PeerEvent" }),
);

const one = lazily(() =>
  z
    .object({
      peerId: z.string(),
      total: z.int().describe("Connections on all nodes"),
      connections: z.array(connection()).describe(`The newest, at most ${LIVE_CONNECTIONS_MAX}`),
      recent: z
        .array(event())
        .describe("The last events of its connections, oldest first, also for a minute after they have ended"),
      name: name(),
      lastMessage: lastMessage(),
      offlineSince: unixSeconds()
        .describe("Unix seconds: when its last connection ended. Absent while it has one, or if no node remembers")
        .optional(),
      block: block().nullable().describe("null: it is not blocked"),
      isComplete: isComplete(),
    })
    .meta({ id: "LivePeerDetails" }),
);

interface LivePeerParts extends DisconnectParts, Omit<BlockReads, "blocks"> {
  readonly directs: Pick<Directs, "send">;
  readonly peers: LivePeers;
  readonly appIn: AppIn;
  readonly audit: Audit;
}

export function livePeerEndpoints(
  { admin, operator }: Pick<Guards, "admin" | "operator">,
  parts: LivePeerParts,
): Endpoint[] {
  const { peers, appIn, audit, directs } = parts;
  const tag = "live";
  const root = "/api/internal/v1/apps/:app/peers";
  return [
    endpoint({
      tag,
      guard: operator,
      scope: "app",
      method: "GET",
      path: root,
      summary: "Connected peers, on all nodes",
      query: () =>
        z.object({
          prefix: z.string().max(PEER_ID_MAX_CHARS).describe("Only ids that begin with this.").optional(),
          contains: z
            .string()
            .max(PEER_ID_MAX_CHARS)
            .describe("Only peers with this in their id or name, in upper or lower case.")
            .optional(),
          limit: limit(LIVE_PAGE_MAX, 100),
          after: z.string().max(PEER_ID_MAX_CHARS).describe("`next` of the previous page.").optional(),
        }),
      response: () => z.object({ data: z.array(listed()), next: z.string().nullable(), isComplete: isComplete() }),
      problems: ["not_found"],
      handle: async (call, { query }) => {
        const { id } = await appIn(call);
        const { prefix = "", contains, limit, after } = query;
        const request = { app: spaceOf(id), prefix, contains, limit, after };
        const { data, ...rest } = await peers.page(request);
        const shown = data.map(({ sinceMs, lastMessageMs, ...line }) => ({
          ...line,
          since: toSeconds(sinceMs),
          lastMessage: secondsOf(lastMessageMs),
        }));
        return { data: shown, ...rest };
      },
    }),
    endpoint({
      tag,
      guard: operator,
      scope: "app",
      method: "GET",
      path: `${root}/:peerId`,
      summary: "One peer: its connections on all nodes, and their recent events; none if it is not connected",
      response: one,
      problems: ["invalid_request", "not_found"],
      handle: async (call) => {
        const peerId = peerIn(call);
        const { id } = await appIn(call);
        const { connections, lastMessageMs, closedMs, ...rest } = await peers.one({ app: spaceOf(id), peerId });
        return {
          peerId,
          ...rest,
          connections: connections.map(({ sinceMs, ...one }) => ({ ...one, since: toSeconds(sinceMs) })),
          lastMessage: secondsOf(lastMessageMs),
          offlineSince: secondsOf(closedMs),
          block: await blockOf(parts, id, peerId),
        };
      },
    }),
    endpoint({
      tag,
      guard: admin,
      scope: "app",
      method: "POST",
      path: `${root}/:peerId/send`,
      passesOn: true,
      summary: "Send to all connections of a peer as the server",
      body: () => message().strict(),
      response: delivered,
      problems: ["not_found", "peer_not_found", "over_message_quota", "rate_limited", "backend_error"],
      handle: async (call, { caller, body, textOf, recheck }) => {
        const envelope = readMessage(body, textOf);
        const peerId = peerIn(call);
        const { id } = await appIn(call);
        recheck();
        const result = await sendMessage(directs, id, peerId, envelope, OPERATORS);
        const after = { from: envelope.from, bytes: Buffer.byteLength(envelope.dataJson) };
        await audit(call, caller, { what: "message sent", on: peerId, app: id, after });
        return result;
      },
    }),
    endpoint({
      tag,
      guard: admin,
      scope: "app",
      method: "DELETE",
      path: `${root}/:peerId`,
      summary: "Close a peer's connections on all nodes, and optionally block it for a time",
      query: disconnectQuery,
      response: disconnected,
      problems: ["not_found", "conflict"],
      handle: async (call, { caller, query }) => {
        const peerId = peerIn(call);
        const { id } = await appIn(call);
        const { blockSec } = query;
        const result = await disconnectPeer(parts, id, peerId, blockSec);
        await audit(call, caller, {
          what: blockSec ? PEER_BLOCKED : "peer kicked",
          on: peerId,
          app: id,
          after: { closed: result.closed, ...(blockSec && { blockSec }) },
        });
        return result;
      },
    }),
  ];
}

const secondsOf = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : toSeconds(ms));
