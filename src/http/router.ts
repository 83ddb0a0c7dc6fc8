/**
 * The frame around every endpoint: request id, headers, errors in one shape, counting, logging. Routing itself is Bun's
 * own: it matches the raw path, so that a name such as `..` is not folded away before we see it.
 */
import { randomUUID } from "node:crypto";
import type { Server } from "bun";
import { type Cidr, clientAddress, isLoopback, parseAddress } from "../access/address.ts";
import { CODES, type Code, Problem, wireCode } from "../protocol/codes.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Call } from "./call.ts";
import type { Endpoint } from "./endpoint.ts";

export type Handler = (request: Request, server: Server<unknown>) => Promise<Response>;
export type Routes = Record<string, Handler>;

export interface FrameParts {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly trustedProxies: readonly Cidr[];
}

const SECURITY_HEADERS = {
  "Cache-Control": "no-store",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
} as const;

export const problemBody = (code: Code, message: string): object => ({ error: wireCode(code), message });

export class Frame {
  private readonly requests;

  constructor(private readonly parts: FrameParts) {
    this.requests = parts.metrics.counters("parley_http_requests_total", "HTTP requests by route and status.");
  }

  /** One handler a path, which knows the methods of that path. */
  routes(endpoints: readonly Endpoint[]): Routes {
    const routes: Routes = {};
    for (const [path, group] of Map.groupBy(endpoints, (one) => one.path)) {
      const byMethod = new Map<string, Endpoint>(group.map((one) => [one.method, one]));
      const allowed = [...byMethod.keys()].join(", ");
      routes[path] = this.wrap(path, async (call) => {
        const { method } = call.request;
        const found = byMethod.get(method === "HEAD" ? "GET" : method);
        if (found) return Response.json(await found.run(call));
        call.headers.set("Allow", allowed);
        throw new Problem("method_not_allowed", `This address takes ${allowed}.`);
      });
    }
    return routes;
  }

  /** For everything that has no route. */
  readonly notFound: Handler = this.wrap("(none)", () => {
    throw new Problem("not_found");
  });

  wrap(route: string, handle: (call: Call) => Response | Promise<Response>): Handler {
    return async (request, server) => {
      const call = this.call(request, server);
      let response: Response;
      try {
        response = await handle(call);
      } catch (error) {
        response = this.failed(call, route, error);
      }
      for (const [name, value] of call.headers) response.headers.set(name, value);
      this.requests({ route, method: knownMethod(request.method), status: String(response.status) }).inc();
      this.parts.log.debug(
        { requestId: call.requestId, route, method: request.method, status: response.status },
        "request",
      );
      return response;
    };
  }

  private call(request: Request, server: Server<unknown>): Call {
    const requestId = randomUUID();
    const forwarded = request.headers.get("x-forwarded-for");
    const socket = parseAddress(server.requestIP(request)?.address ?? "") ?? [0, 0, 0, 0];
    const params = (request as Request & { params?: Record<string, string> }).params ?? {};
    return {
      request,
      requestId,
      params,
      client: clientAddress(socket, forwarded, this.parts.trustedProxies),
      local: isLoopback(socket) && forwarded === null && !request.headers.has("forwarded"),
      headers: new Headers({ ...SECURITY_HEADERS, "X-Request-Id": requestId }),
    };
  }

  private failed(call: Call, route: string, error: unknown): Response {
    if (!(error instanceof Problem)) {
      this.parts.log.error({ requestId: call.requestId, route, err: error }, "a request failed on our side");
      return Response.json(problemBody("crash", CODES.crash.text), { status: CODES.crash.status });
    }
    if (error.retryAfterSeconds !== undefined) call.headers.set("Retry-After", String(error.retryAfterSeconds));
    return Response.json(problemBody(error.code, error.message), { status: CODES[error.code].status });
  }
}

/** A made-up method must not make up a series. */
const knownMethod = (method: string): string =>
  ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].includes(method) ? method : "other";
