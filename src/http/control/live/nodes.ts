/** Control plane: the nodes of the installation, and how they are. */
import { z } from "zod";
import type { Operator } from "../../../access/operators/operator.ts";
import { type Infer, lazily } from "../../../base/lazily.ts";
import type { NodeRequests } from "../../../engine/node-requests.ts";
import { type Endpoint, endpoint, type Guard } from "../../server/endpoint.ts";
import { unixSeconds } from "../../shared/schemas.ts";

const node = lazily(() =>
  z
    .object({
      nodeId: z.string().max(256).describe("PARLEY_NODE_ID"),
      worker: z.int().min(0).optional().describe("The slot of a worker, where several share a port"),
      version: z.string().max(64),
      startedAt: unixSeconds(),
      connections: z.int().min(0),
      channels: z.int().min(0).describe("Channels with subscribers on this node"),
      messagesPerSec: z
        .number()
        .min(0)
        .optional()
        .describe("Accepted publishes and sends over the last whole 5 seconds. Absent: a node of an earlier version"),
      cpu: z.number().min(0).describe("Share of one core over the last seconds: 0.5 is half a core"),
      rssBytes: z.int().min(0).describe("Memory of the process"),
      loopLagMs: z.number().min(0).describe("The longest delay of the event loop in the last seconds"),
      nats: z.enum(["ok", "away"]).nullable().describe("null: one node, without NATS"),
      store: z.enum(["ok", "away"]),
    })
    .meta({ id: "NodeStatus" }),
);

export type NodeStatus = Infer<typeof node>;

/** Which node an answer is from. */
export const nodeName = lazily(() => node().pick({ nodeId: true, worker: true, version: true }));

/** The name of the request between nodes. */
export const NODE_STATUS = "node";

export const nodesEndpoint = (guard: Guard<Operator>, nodeRequests: NodeRequests): Endpoint =>
  endpoint({
    method: "GET",
    path: "/api/internal/v1/nodes",
    tag: "operations",
    summary: "The nodes of the installation: version, load, and links to NATS and the store",
    guard,
    scope: "service",
    response: () =>
      z.object({
        data: z.array(node()),
        next: z.null(),
        isComplete: z.boolean().describe("false: a node has not responded"),
      }),
    handle: async () => {
      const { answers, isComplete } = await nodeRequests.gather(NODE_STATUS, null, (value) => node().parse(value));
      const data = answers.toSorted((one, other) => (one.nodeId < other.nodeId ? -1 : 1));
      return { data, next: null, isComplete };
    },
  });
