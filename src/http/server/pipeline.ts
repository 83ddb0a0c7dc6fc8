/** The steps that every request passes through: request id, headers, errors in one shape, metrics, the log. */
import type { Server } from "bun";
import { TooManyWaiting } from "../../base/fair-queue.ts";
import { CODES, Problem, wireCode } from "../../protocol/codes.ts";
import { StoreUnreachable } from "../../store/contract/store.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Counter, Metrics } from "../../telemetry/metrics.ts";
import { HOST_MAX_CHARS } from "../limits.ts";
import { Call, type CallConnection, type CallSettings } from "../request/call.ts";
import { ClientGone } from "../request/input.ts";
import { jsonResponse } from "../response/json.ts";
import { PipelinedRequests } from "./pipelined.ts";
import type { UnauthenticatedLimit } from "./unauthenticated-limit.ts";

export type Handler = (request: Request, server: Server<unknown>) => Response | Promise<Response>;
export interface Upgradable {
  /** Turns the request into a socket that carries `data`; false if its handshake is malformed. */
  upgrade(data: unknown): boolean;
}
/** Handlers by path, in Bun's form: `/v1/peers/:peerId`. */
export type Routes = Record<string, Handler>;

/** An error's body; the realtime API and the application API have one each. */
export type ErrorBody = (problem: Problem, call: Call) => object;

/** Where a route exists. `own`: only on hosts that are not an application's. `application`: if the request names one (host.ts). */
export type Hosts = "any" | "own" | "application";

export interface RouteOptions {
  readonly errorBody?: ErrorBody;
  readonly hosts?: Hosts;
  /** For health checks, whose Host header may hold any characters. */
  readonly takesAnyHost?: boolean;
}

/** Returns the response's JSON value, or a whole Response. */
type Handle = (call: Call) => object | Promise<object>;

export interface Route extends Required<RouteOptions> {
  /** The path with names for its parameters: metrics and logs never show the path that was sent. */
  readonly label: string;
  readonly handle: Handle;
  readonly count: (method: string, status: number) => void;
}

interface PipelineParts extends CallSettings {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly unauthenticated: UnauthenticatedLimit;
}

const realtimeErrorBody: ErrorBody = ({ code, message }) => ({ error: wireCode(code), message });

export class RequestPipeline {
  private readonly requests;
  private readonly aborts;
  private readonly notFoundRoute: Route;
  private readonly pipelined = new PipelinedRequests();
  /** For every path that has no route. */
  readonly notFoundHandler: Handler;

  constructor(private readonly parts: PipelineParts) {
    this.requests = parts.metrics.counters("parley_http_requests_total", "HTTP requests by route and status.");
    this.aborts = parts.metrics.counter(
      "parley_http_aborts_total",
      "HTTP requests whose client disconnected before its body was complete.",
    );
    this.notFoundRoute = this.route("(none)", throwNotFound);
    this.notFoundHandler = this.handler(this.notFoundRoute);
  }

  route(label: string, handle: Handle, options: RouteOptions = {}): Route {
    const { errorBody = realtimeErrorBody, hosts = "any", takesAnyHost = false } = options;
    return { label, handle, errorBody, hosts, takesAnyHost, count: this.counter(label) };
  }

  /** A route that everyone may read: each request is counted against its client's address before it is handled. */
  publicRoute(label: string, handle: Handle, options?: RouteOptions): Route {
    return this.route(
      label,
      (call) => {
        this.parts.unauthenticated.charge(call);
        return handle(call);
      },
      options,
    );
  }

  handler(route: Route): Handler {
    return this.dynamicHandler(() => route, route);
  }

  /** Chooses the route per request, for paths that Bun's route table cannot tell apart. `before`: refuses what no route may see. */
  dynamicHandler(choose: (call: Call) => Route, before = this.notFoundRoute): Handler {
    return (request, server) => {
      const call = this.call(request, server);
      if (this.pipelined.areTooMany(request, server)) return this.refused(call, before, tooManyAtOnce(call));
      if (!call.hasGoodHost(before.takesAnyHost))
        return this.refused(call, before, this.parts.unauthenticated.errorFor(call, badHost()));
      const route = choose(call);
      return this.respond(call, existsFor(call, route) ? route : this.notFoundRoute);
    };
  }

  /** For a handler that may turn the connection into a WebSocket: then there is no response. `addHeaders` is for refusals. */
  wrapUpgrade(
    label: string,
    handle: (call: Call, connection: Upgradable) => true | Promise<true>,
    addHeaders: (call: Call) => void,
  ): Handler {
    const count = this.counter(label);
    const refuse = (call: Call, error: unknown): Response => {
      addHeaders(call);
      const response = this.failed(call, label, error, realtimeErrorBody);
      count(call.request.method, response.status);
      return response;
    };
    const later = async (call: Call, upgraded: Promise<true>): Promise<Response> => {
      try {
        await upgraded;
        return UPGRADED;
      } catch (error) {
        return refuse(call, error);
      }
    };
    return (request, server) => {
      const connection = new ServerConnection(request, server);
      const call = new Call(request, connection, this.parts, NO_PARAMS);
      try {
        if (this.pipelined.areTooMany(request, server)) throw tooManyAtOnce(call);
        if (!call.hasGoodHost(false)) throw badHost();
        const upgraded = handle(call, connection);
        // Almost every handshake is decided synchronously, and then costs neither a promise nor a closure.
        return upgraded === true ? UPGRADED : later(call, upgraded);
      } catch (error) {
        return refuse(call, error);
      }
    };
  }

  /** The status has been sent already, so the client notices only that the connection is closed too early. */
  logIncompleteResponse(label: string, { requestId }: Call, error: unknown): void {
    const fields = { requestId, route: label };
    if (error instanceof Problem) return this.parts.log.debug(fields, "a response was cut short");
    this.parts.log.error({ ...fields, err: error }, "a response could not be finished, and its connection was closed");
  }

  private call(request: Request, server: Server<unknown>): Call {
    const { params = {} } = request as Request & { params?: Record<string, string> };
    return new Call(request, new ServerConnection(request, server), this.parts, params);
  }

  private async respond(call: Call, { label, handle, errorBody, count }: Route): Promise<Response> {
    const { request, requestId } = call;
    let response: Response;
    try {
      if (isUpgrade(request)) throw new Problem("not_found", "WebSocket connections are accepted only at /v1.");
      const result = await handle(call);
      response =
        result instanceof Response ? withHeaders(result, call) : jsonResponse(result, { headers: call.headers });
    } catch (error) {
      if (error instanceof ClientGone) return this.aborted(call, label);
      response = this.failed(call, label, this.parts.unauthenticated.errorFor(call, error), errorBody);
    }
    count(request.method, response.status);
    if (this.parts.log.isLevelEnabled("debug"))
      this.parts.log.debug({ requestId, route: label, method: request.method, status: response.status }, "request");
    return response;
  }

  /** MUST NOT return a promise: Bun makes the URL of every request whose response is not there at once. */
  private refused(call: Call, { label, errorBody, count }: Route, error: unknown): Response {
    const response = this.failed(call, label, error, errorBody);
    count(call.request.method, response.status);
    return response;
  }

  /** Counts by method and status with one map lookup per request; `metrics.counters` would build a label set each time. */
  private counter(label: string): (method: string, status: number) => void {
    // Bound: the methods that are known, times statuses.
    const counters = new Map<string, Counter>();
    return (method, status) => {
      const known = METHODS.has(method) ? method : "other";
      const key = `${known} ${status}`;
      let counter = counters.get(key);
      if (!counter) {
        counter = this.requests({ route: label, method: known, status: String(status) });
        counters.set(key, counter);
      }
      counter.inc();
    };
  }

  /** No response can reach the client, and nothing failed here: it must not count as a 5xx. */
  private aborted({ requestId, request }: Call, label: string): Response {
    this.aborts.inc();
    this.parts.log.debug(
      { requestId, route: label, method: request.method },
      "the client disconnected before its body was complete",
    );
    // Never sent: Bun requires a Response and discards it, because the connection is closed.
    return new Response(null, { status: 400 });
  }

  private failed(call: Call, label: string, error: unknown, errorBody: ErrorBody): Response {
    const { headers, requestId } = call;
    const problem = problemOf(error);
    if (problem !== error && !(error instanceof TooManyWaiting))
      this.parts.log.error({ requestId, route: label, err: error }, "internal error while handling a request");
    if (problem.retryAfterSeconds !== undefined) headers["Retry-After"] = String(problem.retryAfterSeconds);
    return jsonResponse(errorBody(problem, call), { status: CODES[problem.code].status, headers });
  }
}

export function throwNotFound(): never {
  throw new Problem("not_found");
}

/** Bun closes the connection then, and drops what else it has read of it. */
function tooManyAtOnce(call: Call): Problem {
  call.headers.Connection = "close";
  return new Problem("rate_limited", "Too many requests at once on one connection. Wait for the responses.", 1);
}

const badHost = (): Problem =>
  new Problem(
    "invalid_request",
    `The Host header must be a name or an address, with or without a port, of at most ${HOST_MAX_CHARS} characters.`,
  );

/** `allowed` as in the Allow header: `GET, POST`. */
export function throwMethodNotAllowed(call: Call, allowed: string): never {
  call.headers.Allow = allowed;
  throw new Problem("method_not_allowed", `Method not allowed. Allowed: ${allowed}.`);
}

/** For documents: they can be read and not changed. */
export function onlyRead(call: Call): void {
  const { method } = call.request;
  if (method !== "GET" && method !== "HEAD") throwMethodNotAllowed(call, "GET");
}

function existsFor(call: Call, { hosts }: Route): boolean {
  if (hosts === "any") return true;
  return hosts === "own" ? !call.target.isAppHost : call.target.app !== undefined;
}

const TOO_MANY_WAITING = "Too many of this application's long lists are being read at once. Try again later.";

/** Internal causes go to the log; the client gets a general error. */
function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof TooManyWaiting) return new Problem("rate_limited", TOO_MANY_WAITING, 1);
  return error instanceof StoreUnreachable
    ? new Problem("internal_error", "The database is temporarily unavailable. Try again.", 1)
    : new Problem("crash");
}

/** Headers that the handler has set itself take precedence. */
function withHeaders(response: Response, call: Call): Response {
  for (const [name, value] of Object.entries(call.headers))
    if (!response.headers.has(name)) response.headers.set(name, value);
  return response;
}

export function isUpgrade({ headers }: Request): boolean {
  const upgrade = headers.get("upgrade");
  return upgrade === "websocket" || upgrade?.toLowerCase() === "websocket";
}

/** After a successful `server.upgrade`, Bun requires that the handler returns undefined; its types do not allow that. */
const UPGRADED = undefined as unknown as Response;

const NO_PARAMS: Readonly<Record<string, string>> = {};

/** Bun would agree to the first subprotocol that a client offers; we speak none. */
const NO_SUBPROTOCOL = { "Sec-WebSocket-Protocol": "" };

/** Headers only where they are needed: Bun converts them with every upgrade. */
const upgradeOptions = (request: Request, data: unknown): { data: unknown; headers?: Record<string, string> } =>
  request.headers.has("sec-websocket-protocol") ? { data, headers: NO_SUBPROTOCOL } : { data };

class ServerConnection implements CallConnection, Upgradable {
  constructor(
    private readonly request: Request,
    private readonly server: Server<unknown>,
  ) {}

  address(): string | undefined {
    return this.server.requestIP(this.request)?.address;
  }

  setIdleSeconds(seconds: number): void {
    this.server.timeout(this.request, seconds);
  }

  upgrade(data: unknown): boolean {
    return this.server.upgrade(this.request, upgradeOptions(this.request, data));
  }
}

/** Other methods share one label: clients must not be able to create metric series. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
