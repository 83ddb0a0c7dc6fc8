/** Which application a request is for. Applications live at `<app>.<domain>`. */
import { HOST_MAX_CHARS } from "../limits.ts";
import { queryOf } from "./query.ts";

/** Names the application on any host that is not an application's, for clients whose resolver does not know `*.localhost`. */
export const APP_HEADER = "X-Parley-App";
/** Links are followed without our headers, so these paths, which carry their own proof, may name it in their query. */
const LINKED_PATH = /^[^?]*\/api\/v1\/(file|upload)\//;

export interface RequestTarget {
  /** Name of the application, which need not exist; undefined if the request is for the service itself. */
  readonly app: string | undefined;
  /** The host does not name the application, so links in the response must. */
  readonly linksNameApp: boolean;
  /**
   * The Host header or the forwarded host belongs to an application. The control plane and the start page do not exist
   * there; both count, so that a proxy which rewrites one of them does not expose them.
   */
  readonly isAppHost: boolean;
}

/** `host` is the host that the client named, as a trusted proxy forwards it. */
export function targetOf(request: Request, host: string | null, domain: string): RequestTarget {
  const hostApp = appLabel(host, domain);
  return {
    app: hostApp ?? appBesideHost(request),
    linksNameApp: hostApp === undefined,
    isAppHost: hostApp !== undefined || appLabel(request.headers.get("host"), domain) !== undefined,
  };
}

function appBesideHost(request: Request): string | undefined {
  const named = request.headers.get(APP_HEADER) || (LINKED_PATH.test(request.url) && queryOf(request).get("app"));
  return named ? named.toLowerCase() : undefined;
}

/** Names with underscores are used in private networks. Browsers send international names in ASCII (xn--…). */
const PLAIN_HOST = /^[\w.:[\]-]*$/;

/** A request of HTTP/1.0 may have no Host, and a health check an empty one. */
export const isShortHost = (host: string | null | undefined): boolean => (host?.length ?? 0) <= HOST_MAX_CHARS;
export const isPlainHost = (host: string | null | undefined): boolean =>
  isShortHost(host) && PLAIN_HOST.test(host ?? "");

interface LinkSource {
  readonly target: RequestTarget;
  readonly origin: string;
}

/** `url`, with the application's name added where it leads to ourselves and its host does not name the application. */
export function linkFrom({ target: { app, linksNameApp }, origin }: LinkSource, url: string): string {
  const isOurs = url.startsWith(origin);
  return app !== undefined && linksNameApp && isOurs ? `${url}&app=${encodeURIComponent(app)}` : url;
}

/** The single label under the domain; undefined if the host is not an application's. */
export function appLabel(host: string | null, domain: string): string | undefined {
  const bare = (host ?? "").toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "");
  if (!bare.endsWith(`.${domain}`)) return undefined;
  const label = bare.slice(0, -domain.length - 1);
  return label !== "" && !label.includes(".") ? label : undefined;
}
