/** GET /v1/usage: how much of its plan an application has used in this period. */
import { z } from "zod";
import type { Credential } from "../../access/keys/credential.ts";
import type { Keyring } from "../../access/keys/keyring.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import { Problem } from "../../protocol/codes.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import { concurrentNow, periodUsage, plan, planOf, type UsageSources, usageNow } from "../shared/usage-schemas.ts";

const response = lazily(() =>
  z
    .object({ appId: z.string(), concurrentNow: concurrentNow(), ...periodUsage().shape, plan: plan() })
    .meta({ id: "Usage" }),
);

interface UsageParts extends UsageSources {
  readonly keyring: Keyring;
}

export function usageEndpoints(guard: Guard<Credential>, { keyring, ...sources }: UsageParts): Endpoint[] {
  return [
    endpoint({
      method: "GET",
      path: "/v1/usage",
      tag: "usage",
      summary: "The application's usage in this period, a calendar month in UTC",
      guard,
      response,
      handle: async (_call, { caller }): Promise<Infer<typeof response>> => {
        await sources.gather(caller.key.app);
        const app = keyring.app(caller.key.app);
        if (!app) throw new Problem("unauthorized");
        return { appId: app.id, ...usageNow(app.id, sources), plan: planOf(app) };
      },
    }),
  ];
}
