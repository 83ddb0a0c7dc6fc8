/** Health and readiness, for load balancers and orchestrators. */
import { z } from "zod";
import { lazily } from "../../base/lazily.ts";
import { jsonResponse } from "../response/json.ts";
import { type Endpoint, endpoint, open } from "./endpoint.ts";

/**
 * Result of a check. "degraded": something does not work, but sending clients to another node would not help them; "failing":
 * this node should get no requests.
 */
export type CheckResult = { readonly state: "ok" } | { readonly state: "degraded" | "failing"; readonly text: string };

export const OK: CheckResult = { state: "ok" };

export type ReadyChecks = () => Promise<Readonly<Record<string, CheckResult>>>;

const status = lazily(() => z.object({ status: z.literal("ok") }).meta({ id: "Health" }));

export const healthEndpoint: Endpoint = endpoint({
  method: "GET",
  path: "/healthz",
  tag: "operations",
  summary: "The process is alive",
  guard: open,
  response: status,
  handle: () => ({ status: "ok" }),
});

/** 200 or 503 with the result of each check. A 503 here has no error body, so this is not an endpoint. */
export async function readyResponse(checks: ReadyChecks): Promise<Response> {
  const results = Object.entries(await checks());
  const ready = results.every(([, { state }]) => state !== "failing");
  const degraded = results.filter(([, { state }]) => state === "degraded").map(([name]) => name);
  const texts = results.map(([name, result]) => [name, result.state === "ok" ? "ok" : result.text]);
  return jsonResponse({ ready, degraded, checks: Object.fromEntries(texts) }, { status: ready ? 200 : 503 });
}
