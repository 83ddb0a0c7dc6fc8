/** The cookie of a session of the dashboard, and what a browser must send besides it. */
import { isIP } from "node:net";
import { SESSION_SECONDS } from "../../access/limits.ts";
import { isLoopback, parseAddress } from "../../base/address.ts";
import { Problem } from "../../protocol/codes.ts";
import { normalizeOrigin } from "../../protocol/origin.ts";
import { COOKIE_MAX_CHARS } from "../limits.ts";
import type { Call } from "../request/call.ts";

/** Sent by the dashboard's own scripts. Another site cannot send it without a preflight, which is never answered. */
const DASHBOARD_HEADER = "X-Parley-Dashboard";

/** Over HTTPS the name makes browsers refuse a cookie that another host of the same site has set. */
const SECURE_NAME = "__Host-parley";
/** Plain HTTP on this machine, where browsers refuse the prefix. Services on other ports of `localhost` share it. */
const LOOPBACK_NAME = "parley";
/**
 * A cookie of that name with the form of a session's secret; values of other services are not looked up. Found in one pass, without a list
 * of all cookies: the header is read before any rate is charged.
 */
const secretsOf = (name: string): RegExp => new RegExp(`(?:^|;)\\s*${name}=([\\w-]{48})\\s*(?=;|$)`, "g");
const SECURE_SECRETS = secretsOf(SECURE_NAME);
const LOOPBACK_SECRETS = secretsOf(LOOPBACK_NAME);
/**
 * Bound: cookies of that name that are looked up. Pages on other ports of `localhost` can add some, and browsers send those with a longer
 * path first. A browser keeps at most 180 per host, so all of them together cannot hide the session. A lookup is one digest.
 */
const COOKIES_MAX = 200;

const isHttps = (call: Call): boolean => call.origin.startsWith("https:");
const cookieName = (call: Call): string => (isHttps(call) ? SECURE_NAME : LOOPBACK_NAME);

/** Values that can be a session's secret, in the order in which they were sent. A header over COOKIE_MAX_CHARS is not read. */
export function sessionSecretsIn(call: Call): string[] {
  const header = call.request.headers.get("cookie");
  if (header === null || header.length > COOKIE_MAX_CHARS) return [];
  const values = header.matchAll(isHttps(call) ? SECURE_SECRETS : LOOPBACK_SECRETS).map(([, value = ""]) => value);
  return [...new Set(values)].slice(0, COOKIES_MAX);
}

export const setCookie = (call: Call, secret: string): void => writeCookie(call, secret, SESSION_SECONDS);
export const clearCookie = (call: Call): void => writeCookie(call, "", 0);

function writeCookie(call: Call, value: string, seconds: number): void {
  const secure = isHttps(call) ? "; Secure" : "";
  call.headers["Set-Cookie"] =
    `${cookieName(call)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}

const isChange = ({ request: { method } }: Call): boolean => method !== "GET" && method !== "HEAD";

/**
 * The cookie alone decides nothing, because applications have hosts of the same site, whose requests browsers send it with.
 * `isStream`: a browser loads the tail and files without our header.
 */
export function checkOrigin(call: Call, isStream = false): void {
  const { headers } = call.request;
  const hasHeader = headers.get(DASHBOARD_HEADER) === "1";
  if (!hasHeader && !(isStream && headers.get("sec-fetch-site") === "same-origin"))
    throw new Problem(
      "forbidden",
      isStream
        ? "With the dashboard's cookie, this call needs Sec-Fetch-Site: same-origin, which browsers send for pages on this host. Scripts should use a token."
        : `With the dashboard's cookie, every call needs the header ${DASHBOARD_HEADER}: 1. Scripts should use a token.`,
    );
  if (isChange(call) && !isSameOrigin(headers.get("origin"), call.origin))
    throw new Problem(
      "forbidden",
      "With the dashboard's cookie, a change must come from a page of this host: its Origin must match the address of the request. A proxy must be listed in PARLEY_TRUSTED_PROXIES and forward host and scheme.",
    );
}

/**
 * Compared in normal form, because a proxy may forward the host with the default port. Not parsed as URLs: that takes seconds for a long
 * header full of combining marks.
 */
function isSameOrigin(origin: string | null, own: string): boolean {
  if (origin === null || own.endsWith("//")) return false;
  return origin === own || (normalizeOrigin(origin) ?? "") === normalizeOrigin(own);
}

/**
 * A cookie that is sent in clear text could be read on its way. A browser that opens a loopback name talks to its own machine: to
 * this node, to a tunnel, or to the port of a container, whose address is then not a loopback one.
 */
export function refuseClearText(call: Call): void {
  if (isHttps(call) || (!call.isForwarded && isLoopbackHost(call.host))) return;
  throw new Problem(
    "forbidden",
    "You cannot sign in to the dashboard over plain HTTP. Use https (PARLEY_TLS_CERT, or a proxy listed in PARLEY_TRUSTED_PROXIES that sends X-Forwarded-Proto), or open http://localhost on the server itself or through an SSH tunnel.",
  );
}

function isLoopbackHost(host: string | null): boolean {
  const name = URL.parse(`http://${host ?? ""}`)?.hostname ?? "";
  const bare = name.replace(/^\[(.*)\]$/, "$1");
  if (isIP(bare) === 0) return name === "localhost" || name.endsWith(".localhost");
  const address = parseAddress(bare);
  return address !== undefined && isLoopback(address);
}
