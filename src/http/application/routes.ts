/** The paths of the application API, with its own error body. */
import type { Infer } from "../../base/lazily.ts";
import type { applicationProblem } from "../response/application-problem.ts";
import type { Endpoint } from "../server/endpoint.ts";
import { type ErrorBody, type RequestPipeline, type Routes, throwNotFound } from "../server/pipeline.ts";
import { routesOf } from "../server/router.ts";

const errorBody: ErrorBody = ({ code, message, more }, { requestId }): Infer<typeof applicationProblem> => ({
  success: false,
  message,
  error: { code: code === "crash" ? "internal_error" : code, ...(more.details && { details: [...more.details] }) },
  ...more.fields,
  requestId,
});

/** A trailing slash is accepted. These paths do not exist where neither host nor header names an application. */
export function applicationRoutes(pipeline: RequestPipeline, endpoints: readonly Endpoint[]): Routes {
  const options = { errorBody, hosts: "application" } as const;
  const exact = routesOf(pipeline, endpoints, options);
  return {
    ...exact,
    ...Object.fromEntries(Object.entries(exact).map(([path, handler]) => [`${path}/`, handler])),
    "/api/v1/*": pipeline.handler(pipeline.route("/api/v1/*", throwNotFound, options)),
  };
}
