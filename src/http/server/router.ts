/**
 * Builds Bun's route table from the endpoint declarations. Bun matches the path as it was sent, so a name such as `..` reaches us
 * unchanged.
 */
import { Problem } from "../../protocol/codes.ts";
import { SLASHED_PATH_MAX_CHARS } from "../limits.ts";
import type { Call } from "../request/call.ts";
import { addCorsHeaders, preflightResponse } from "../request/cors.ts";
import type { Endpoint } from "./endpoint.ts";
import {
  type RequestPipeline,
  type Route,
  type RouteOptions,
  type Routes,
  throwMethodNotAllowed,
  throwNotFound,
} from "./pipeline.ts";

/** One handler per path, which knows the methods of that path. */
export function routesOf(pipeline: RequestPipeline, endpoints: readonly Endpoint[], options?: RouteOptions): Routes {
  const routes: Routes = {};
  const slashed: SlashedRoute[] = [];
  for (const [path, group] of Map.groupBy(endpoints, (one) => one.path)) {
    const hasRawSlashes = group.some((one) => one.hasRawSlashes);
    const handle = (call: Call): object | Promise<object> => {
      if (hasRawSlashes) checkEncoding(call.request.url);
      return runEndpoint(call, group);
    };
    const route = pipeline.route(path, handle, options);
    routes[path] = pipeline.handler(route);
    const methods = group.map((one) => one.method);
    if (hasRawSlashes) slashed.push(slashedRoute(path, methods, route));
  }
  for (const [prefix, group] of Map.groupBy(slashed, (one) => one.prefix))
    Object.assign(routes, slashRoutes(pipeline, prefix, group));
  return routes;
}

function runEndpoint(call: Call, group: readonly Endpoint[]): object | Promise<object> {
  const { method } = call.request;
  const preflight = method === "OPTIONS" && group.find((one) => one.preflight)?.preflight;
  if (preflight) return preflight(call);
  const origins = group.find((one) => one.origins)?.origins;
  if (origins && addCorsHeaders(call, origins) && method === "OPTIONS")
    return preflightResponse(
      call,
      group.map((one) => one.method),
    );
  const found = group.find((one) => one.method === (method === "HEAD" ? "GET" : method));
  return found ? found.run(call) : throwMethodNotAllowed(call, group.map((one) => one.method).join(", "));
}

/** A path whose parameter may hold raw slashes, in its parts: `/v1/channels/` `:channel` `/peers`. The last part may be absent. */
interface SlashedRoute {
  readonly prefix: string;
  readonly parameter: string;
  readonly lastSegment: string | undefined;
  readonly methods: ReadonlySet<string>;
  readonly route: Route;
}

function slashedRoute(path: string, methods: readonly string[], route: Route): SlashedRoute {
  const [, prefix, parameter, lastSegment] = /^(.*\/):(\w+)(?:\/(\w+))?$/.exec(path) ?? [];
  if (prefix === undefined || parameter === undefined)
    throw new Error(`hasRawSlashes needs a path that ends with /:parameter or /:parameter/segment, not ${path}`);
  const all = methods.includes("GET") ? [...methods, "HEAD"] : methods;
  return { prefix, parameter, lastSegment, methods: new Set(all), route };
}

/**
 * Highest number of raw segments of a name that gets a route. Longer names match the wildcard, which sees dot segments resolved;
 * clients can send the slashes of such a name as %2F.
 */
const NAME_SEGMENTS_MAX = 32;

/**
 * Names with raw slashes: /v1/channels/a/b/peers. Only Bun's named parameters hold a path as it was sent: `request.url` has its
 * dot segments resolved (`a/../b` would be `b`, another channel), and a wildcard does not say what it matched. So the
 * same handler is registered for every segment count. The wildcard is for what no parameter matches: empty segments (`a//b`).
 */
function slashRoutes(pipeline: RequestPipeline, prefix: string, group: readonly SlashedRoute[]): Routes {
  const byLastSegment = new Map(
    group.flatMap((one) => (one.lastSegment === undefined ? [] : [[one.lastSegment, one]])),
  );
  const whole = group.find((one) => one.lastSegment === undefined);
  const outer = [...prefix.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  const notFoundRoute = pipeline.route(`${prefix}*`, throwNotFound);
  const choose = (call: Call, segments: readonly string[]): Route => {
    const { method, url } = call.request;
    const path = pathOf(url);
    const named = byLastSegment.get(path.slice(path.lastIndexOf("/") + 1));
    // A name may end like a path: GET a/publish is the channel of that name, because only POST has that path.
    const found = named && (!whole || named.methods.has(method)) ? named : whole;
    const name = (found === whole ? segments : segments.slice(0, -1)).join("/");
    if (!found || name === "") return notFoundRoute;
    const params = outer.map((one): [string, string] => [one, call.params[one] ?? ""]);
    call.params = { ...Object.fromEntries(params), [found.parameter]: name };
    return found.route;
  };
  const routes: Routes = {};
  routes[`${prefix}*`] = pipeline.dynamicHandler((call) => {
    const path = pathOf(call.request.url);
    // No name is as long, and its segments would be decoded before any rate is charged.
    return path.length > SLASHED_PATH_MAX_CHARS ? notFoundRoute : choose(call, segmentsOf(path, prefix));
  });
  const handler = pipeline.dynamicHandler((call) => choose(call, Object.values(call.params).slice(outer.length)));
  // From two segments of the name on, plus the last segment: a name of one segment has the endpoint's own route.
  let path = `${prefix}:s0/:s1`;
  if (whole) {
    routes[path] = handler;
    for (const [last, { parameter }] of byLastSegment)
      routes[`${prefix}:${parameter}/${last}`] = pipeline.dynamicHandler((call) =>
        choose(call, [call.params[parameter] ?? "", last]),
      );
  }
  for (let count = 2; count <= NAME_SEGMENTS_MAX; count++) {
    path += `/:s${count}`;
    routes[path] = handler;
  }
  return routes;
}

const pathOf = (url: string): string => url.slice(url.indexOf("/", url.indexOf("://") + 3)).split("?", 1)[0] as string;

/** Segments after the prefix, decoded where they can be: `checkEncoding` refuses the others. */
const segmentsOf = (path: string, prefix: string): string[] =>
  path
    .split("/")
    .slice(prefix.split("/").length - 1)
    .map((segment) => decoded(segment) ?? segment);

/** Bun passes a malformed escape on unchanged: `%zz` and `%25zz` would be the same name. */
function checkEncoding(url: string): void {
  if (url.includes("%") && decoded(pathOf(url)) === undefined)
    throw new Problem("invalid_request", "The path is not valid percent-encoding of UTF-8.");
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
