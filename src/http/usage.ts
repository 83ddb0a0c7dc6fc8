/** GET /v1/usage: how much of its plan an application has used in this period. */
import { z } from "zod";
import type { Credential } from "../access/credential.ts";
import type { Keyring } from "../access/keyring.ts";
import { Problem } from "../protocol/codes.ts";
import type { Hub } from "../realtime/hub.ts";
import type { Usage } from "../realtime/usage.ts";
import { type Endpoint, endpoint, type Guard } from "./endpoint.ts";
import { unixSeconds } from "./schemas.ts";

const cap = z.int().nullable();
const response = z
  .object({
    appId: z.string(),
    periodStartUnix: unixSeconds,
    periodEndUnix: unixSeconds,
    concurrentNow: z.int(),
    peakConcurrent: z.int(),
    messagesUsed: z.int(),
    overageMessages: z.literal(0),
    overageConnections: z.literal(0),
    plan: z.object({
      name: z.string(),
      maxConcurrentConnections: cap,
      maxMessagesPerPeriod: cap,
      overagesAllowed: z.literal(false),
      overagesEnabled: z.literal(false),
    }),
  })
  .meta({ id: "Usage" });

export interface UsageParts {
  readonly keyring: Keyring;
  readonly hub: Hub;
  readonly usage: Usage;
  /** Adds up what other nodes have counted but not stored yet. */
  readonly gather: (app: string) => Promise<void>;
}

export function usageEndpoints(guard: Guard<Credential>, { keyring, hub, usage, gather }: UsageParts): Endpoint[] {
  return [
    endpoint({
      method: "GET",
      path: "/v1/usage",
      tag: "usage",
      summary: "What the application has used in this period, a calendar month in UTC",
      guard,
      response,
      handle: async (_call, { caller }): Promise<z.infer<typeof response>> => {
        await gather(caller.key.app);
        const app = keyring.app(caller.key.app);
        if (!app) throw new Problem("unauthorized");
        const { startSeconds, endSeconds } = usage.current();
        const concurrentNow = hub.occupancy.connectionsOf(app.id);
        usage.recordConnections(app.id, concurrentNow);
        const { messages, peak } = usage.of(app.id);
        return {
          appId: app.id,
          periodStartUnix: startSeconds,
          periodEndUnix: endSeconds,
          concurrentNow,
          peakConcurrent: peak,
          messagesUsed: messages,
          overageMessages: 0,
          overageConnections: 0,
          plan: {
            name: app.planName,
            maxConcurrentConnections: app.maxConcurrentConnections,
            maxMessagesPerPeriod: app.maxMessagesPerPeriod,
            overagesAllowed: false,
            overagesEnabled: false,
          },
        };
      },
    }),
  ];
}
