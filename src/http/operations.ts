/** What an operator's machines ask: alive, ready, figures. */
import { z } from "zod";
import { type Endpoint, endpoint, open } from "./endpoint.ts";

/** Each check is "ok" or says what is wrong. Ready: all are. */
export type ReadyChecks = () => Promise<Record<string, string>>;

const status = z.object({ status: z.literal("ok") }).meta({ id: "Health" });
export const readiness = z
  .object({ ready: z.boolean(), checks: z.record(z.string(), z.string()) })
  .meta({ id: "Readiness" });

export const healthEndpoint: Endpoint = endpoint({
  method: "GET",
  path: "/healthz",
  tag: "operations",
  summary: "The process is alive",
  guard: open,
  answer: status,
  handle: () => ({ status: "ok" }),
});

/** 200 or 503, with what is not ready: not an error body, so it is answered outside the endpoints. */
export async function readyResponse(checks: ReadyChecks): Promise<Response> {
  const results = await checks();
  const ready = Object.values(results).every((result) => result === "ok");
  return Response.json({ ready, checks: results }, { status: ready ? 200 : 503 });
}
