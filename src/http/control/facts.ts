/** Control plane: how a node is set up, for `parley doctor`. Holds no secret and no part of one. */
import { z } from "zod";
import type { Operator } from "../../access/operators/operator.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";

const link = lazily(() =>
  z.object({
    isLocal: z.boolean().describe("The server is on the node's own machine"),
    tls: z.enum(["off", "unverified", "verified"]).describe("As set; unverified: any certificate is accepted"),
    hasCredentials: z.boolean(),
  }),
);

const facts = lazily(() =>
  z
    .object({
      nodeId: z.string(),
      version: z.string(),
      host: z.string().describe("The address it listens on"),
      hasTls: z.boolean().describe("The node serves https and wss itself"),
      hasAdminListener: z.boolean().describe("Control plane and metrics have a separate address"),
      publicUrls: z.array(z.string()).describe("PARLEY_PUBLIC_URL"),
      trustedProxies: z.int().describe("Number of address blocks in PARLEY_TRUSTED_PROXIES"),
      openFilesLimit: z.int().nullable().describe("null: not known"),
      isRoot: z.boolean().describe("The process runs as root"),
      database: link().nullable().describe("null: SQLite in the data folder"),
      nats: link().nullable().describe("null: one node"),
      storage: z.object({ kind: z.enum(["folder", "s3"]), isEncrypted: z.boolean().describe("https, or no network") }),
      turnUrls: z.array(z.string()).describe("PARLEY_TURN_URLS"),
      masterKey: z.enum(["setting", "file"]).describe("file: master.key in the data folder"),
      adminToken: z.enum(["setting", "store"]).describe("store: made by the first start, or reset"),
      hasFirstRunFile: z.boolean().describe("first-run.txt, with keys in clear, is still in the data folder"),
      sealedKeys: z.int().describe("Keys that the master key does not open"),
      drainSeconds: z.int(),
      connectsPerMinutePerIp: z.int().describe("0: no limit, as for the next three"),
      httpRequestsPerMinutePerIp: z.int(),
      framesPerSecond: z.int(),
      restRequestsPerSecond: z.int(),
    })
    .meta({ id: "NodeFacts" }),
);

export type NodeFacts = Infer<typeof facts>;

export const factsEndpoint = (guard: Guard<Operator>, factsNow: () => NodeFacts): Endpoint =>
  endpoint({
    method: "GET",
    path: "/api/internal/v1/node",
    tag: "operations",
    summary: "How the responding node is set up; no secrets",
    guard,
    scope: "service",
    response: facts,
    handle: factsNow,
  });
