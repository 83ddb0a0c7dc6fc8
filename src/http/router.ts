/**
 * The frame around every endpoint: request id, headers, errors in one shape, counting, logging. Routing itself is Bun's
 * own: it matches the raw path, so that a name such as `..` is not folded away before we see it.
 */
import type { Server } from "bun";
import type { Cidr } from "../access/address.ts";
import { CODES, Problem, wireCode } from "../protocol/codes.ts";
import { StoreAway } from "../store/store.ts";
import type { Log } from "../telemetry/log.ts";
import type { Counter, Metrics } from "../telemetry/metrics.ts";
import { Call, ClientGone } from "./call.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Strangers } from "./strangers.ts";

export type Handler = (request: Request, server: Server<unknown>) => Promise<Response>;
/** Turns the request into a socket that carries `data`; false if its handshake is malformed. */
export type Upgrade = (data: unknown) => boolean;
export type Routes = Record<string, Handler>;

export interface FrameParts {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly trustedProxies: readonly Cidr[];
  readonly strangers: Strangers;
}

/** More segments than any sensible channel name has; longer ones can be sent percent-encoded. */
const SEGMENTS_MAX = 32;

/** An error's body; the realtime API and the application API have one each. */
export type ErrorBody = (problem: Problem, call: Call) => object;

const realtimeErrorBody: ErrorBody = ({ code, message }) => ({ error: wireCode(code), message });

export class Frame {
  private readonly requests;
  private readonly aborts;

  constructor(private readonly parts: FrameParts) {
    this.requests = parts.metrics.counters("parley_http_requests_total", "HTTP requests by route and status.");
    this.aborts = parts.metrics.counter(
      "parley_http_aborts_total",
      "HTTP requests whose client went away before its body had come.",
    );
  }

  /** One handler a path, which knows the methods of that path. */
  routes(endpoints: readonly Endpoint[], errorBody?: ErrorBody): Routes {
    const routes: Routes = {};
    for (const [path, group] of Map.groupBy(endpoints, (one) => one.path)) {
      const handler = this.wrap(path, (call) => answer(call, group), errorBody);
      routes[path] = handler;
      if (group.some((one) => one.spans)) Object.assign(routes, this.spanning(path, group));
    }
    const spanning = endpoints.filter((one) => one.spans);
    for (const [prefix, group] of Map.groupBy(spanning, (one) => one.path.slice(0, one.path.indexOf(":"))))
      routes[`${prefix}*`] = this.wrap(`${prefix}*`, (call) => answerRest(call, prefix, group));
    return routes;
  }

  /**
   * A parameter with raw slashes: /v1/channels/a/b/peers. Each segment is a parameter of its own to Bun, which matches the
   * path as it was sent; `request.url` has dot segments folded away already, and would make `b` of `a/../b`.
   */
  private spanning(path: string, group: readonly Endpoint[]): Routes {
    const name = /:(\w+)/.exec(path)?.[1] ?? "";
    const routes: Routes = {};
    for (let count = 2; count <= SEGMENTS_MAX; count++) {
      const segments = Array.from({ length: count }, (_, i) => `s${i}`);
      const handler = this.wrap(path, (call) => {
        const value = segments.map((segment) => call.params[segment]).join("/");
        return answer(call.withParams({ [name]: value }), group);
      });
      routes[path.replace(`:${name}`, segments.map((segment) => `:${segment}`).join("/"))] = handler;
    }
    return routes;
  }

  /** For everything that has no route. */
  readonly notFound: Handler = this.wrap("(none)", () => {
    throw new Problem("not_found");
  });

  /** For what everybody may read: each request is counted against its client's address before it is answered. */
  page(route: string, handle: (call: Call) => object | Promise<object>): Handler {
    return this.wrap(route, (call) => {
      this.parts.strangers.charge(call);
      return handle(call);
    });
  }

  /** What a handler gives is the answer's JSON, or a whole Response. */
  wrap(route: string, handle: (call: Call) => object | Promise<object>, errorBody = realtimeErrorBody): Handler {
    const count = this.counter(route);
    return async (request, server) => {
      const call = this.call(request, server);
      let response: Response;
      try {
        if (isUpgrade(request)) throw new Problem("not_found", "Only /v1 takes WebSocket connections.");
        const answer = await handle(call);
        response =
          answer instanceof Response ? withHeaders(answer, call) : Response.json(answer, { headers: call.headers });
      } catch (error) {
        if (error instanceof ClientGone) return this.aborted(call, route);
        response = this.failed(call, route, this.parts.strangers.refused(call, error), errorBody);
      }
      count(request.method, response.status);
      if (this.parts.log.isLevelEnabled("debug")) this.note(call, route, response.status);
      return response;
    };
  }

  /** For a handler that may take the connection over: then there is no answer. */
  wrapUpgrade(route: string, handle: (call: Call, upgrade: Upgrade) => true | Promise<true>): Handler {
    const count = this.counter(route);
    return async (request, server) => {
      const call = this.call(request, server);
      try {
        const upgraded = handle(call, (data) => server.upgrade(request, { data, headers: NO_SUBPROTOCOL }));
        // Almost always it is done by now, and nothing waits.
        if (upgraded !== true) await upgraded;
        return undefined as unknown as Response;
      } catch (error) {
        const response = this.failed(call, route, error, realtimeErrorBody);
        count(request.method, response.status);
        return response;
      }
    };
  }

  call(request: Request, server: Server<unknown>): Call {
    const { params = {} } = request as Request & { params?: Record<string, string> };
    const address = (): string | undefined => server.requestIP(request)?.address;
    return new Call(request, address, this.parts.trustedProxies, params, (seconds) => server.timeout(request, seconds));
  }

  /** A counter for each method and status of a route, looked up by one key. */
  private counter(route: string): (method: string, status: number) => void {
    const counters = new Map<string, Counter>();
    return (method, status) => {
      const key = `${METHODS.has(method) ? method : "other"} ${status}`;
      let counter = counters.get(key);
      if (!counter) {
        const [known = ""] = key.split(" ");
        counter = this.requests({ route, method: known, status: String(status) });
        counters.set(key, counter);
      }
      counter.inc();
    };
  }

  private note({ requestId, request }: Call, route: string, status: number): void {
    this.parts.log.debug({ requestId, route, method: request.method, status }, "request");
  }

  /** Nobody is there to read an answer; it is no failure of ours, and so no 5xx in the figures. */
  private aborted({ requestId, request }: Call, route: string): Response {
    this.aborts.inc();
    this.parts.log.debug({ requestId, route, method: request.method }, "the client went away before its body had come");
    return new Response(null, { status: 400 });
  }

  /** For an answer that had begun when it could not go on: its status is out already, so the connection is cut. */
  cut(route: string, { requestId }: Call, error: unknown): void {
    if (error instanceof Problem) return this.parts.log.debug({ requestId, route }, "an answer was cut short");
    this.parts.log.error(
      { requestId, route, err: error },
      "an answer could not be finished, and its connection was cut",
    );
  }

  private failed(call: Call, route: string, error: unknown, errorBody: ErrorBody): Response {
    const { headers, requestId } = call;
    const problem = problemOf(error);
    if (problem !== error) this.parts.log.error({ requestId, route, err: error }, "a request failed on our side");
    if (problem.retryAfterSeconds !== undefined) headers["Retry-After"] = String(problem.retryAfterSeconds);
    return Response.json(errorBody(problem, call), { status: CODES[problem.code].status, headers });
  }
}

/** A cause that is ours goes to the log alone. */
function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return error instanceof StoreAway
    ? new Problem("internal_error", "The store does not answer; try again.", 1)
    : new Problem("crash");
}

/** What a handler has set itself stays as it is. */
function withHeaders(response: Response, call: Call): Response {
  for (const [name, value] of Object.entries(call.headers))
    if (!response.headers.has(name)) response.headers.set(name, value);
  return response;
}

function answer(call: Call, group: readonly Endpoint[]): Promise<object> {
  if (group[0]?.spans && call.request.url.includes("%")) checkEncoding(call.request.url);
  const method = call.request.method === "HEAD" ? "GET" : call.request.method;
  const found = group.find((one) => one.method === method);
  if (found) return found.run(call);
  const allowed = group.map((one) => one.method).join(", ");
  call.headers.Allow = allowed;
  throw new Problem("method_not_allowed", `This address takes ${allowed}.`);
}

/** What Bun's parameters do not match: empty segments, as in `a//b`. The last segment says which endpoint is meant. */
function answerRest(call: Call, prefix: string, group: readonly Endpoint[]): Promise<object> {
  const path = rawPath(call.request.url);
  const suffixOf = (one: Endpoint): string => one.path.slice(one.path.indexOf("/", prefix.length));
  const meant = group.filter((one) => path.endsWith(suffixOf(one)));
  const [first] = meant;
  const value = first && path.slice(prefix.length, path.length - suffixOf(first).length);
  if (!first || !value) throw new Problem("not_found");
  checkEncoding(call.request.url);
  const name = /:(\w+)/.exec(first.path)?.[1] ?? "";
  return answer(call.withParams({ [name]: decodeURIComponent(value) }), meant);
}

const rawPath = (url: string): string => url.slice(url.indexOf("/", url.indexOf("://") + 3)).split("?")[0] as string;

/** Bun hands a malformed escape on as it is: `%zz` would be one name and `%25zz` the same. */
function checkEncoding(url: string): void {
  try {
    decodeURIComponent(rawPath(url));
  } catch {
    throw new Problem("invalid_request", "The path is not valid percent-encoding of UTF-8.");
  }
}

export const isUpgrade = (request: Request): boolean => request.headers.get("upgrade")?.toLowerCase() === "websocket";

/** Bun would agree to the first one a client offers; we speak none. */
const NO_SUBPROTOCOL = { "Sec-WebSocket-Protocol": "" };

/** A made-up method must not make up a series. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
