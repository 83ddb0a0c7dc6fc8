/** Control plane: every setting of the node that answers, with where its value comes from. Secrets are masked. */
import { z } from "zod";
import type { Operator } from "../../access/operators/operator.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";

const setting = lazily(() =>
  z
    .object({
      name: z.string().describe("As in the environment: PARLEY_PORT"),
      value: z.string().describe("Secrets, and addresses with credentials, are masked"),
      source: z.enum(["flag", "environment", "file", "default"]),
      default: z.string(),
      meaning: z.string(),
    })
    .meta({ id: "Setting" }),
);

export type ShownSetting = Infer<typeof setting>;

export const settingsEndpoint = (guard: Guard<Operator>, settings: () => readonly ShownSetting[]): Endpoint =>
  endpoint({
    tag: "operations",
    guard,
    scope: "service",
    method: "GET",
    path: "/api/internal/v1/settings",
    summary: "Every setting of the responding node: its value, source, default and meaning; secrets are masked",
    response: () => z.object({ data: z.array(setting()), next: z.null() }),
    handle: () => ({ data: settings(), next: null }),
  });
