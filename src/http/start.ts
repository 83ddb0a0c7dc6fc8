/** `/`: what this is, and a chat and a call between two tabs to see it work. One page, nothing from elsewhere. */

import page from "../../web/start/index.html" with { type: "text" };
import { isLoopback, parseAddress } from "../access/address.ts";
import { Problem } from "../protocol/codes.ts";
import type { Call } from "./call.ts";

const HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  // 'self' is the page's own WebSocket too. A camera's picture comes as an object, not from an address: it needs no source.
  "Content-Security-Policy":
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

/**
 * A browser on the server's own machine. The name in its address bar must be this machine's too: a page of somebody else
 * can give its own name the address 127.0.0.1 and would read the key otherwise.
 */
function isOnThisMachine({ request: { headers }, isLocal }: Call): boolean {
  const name = (headers.get("host") ?? "").toLowerCase().replace(/:\d+$/, "");
  const address = parseAddress(name);
  const isOwnName = address ? isLoopback(address) : name === "localhost";
  return isLocal && isOwnName;
}

/** `demoKey` is the id of a publishable key that every origin may use. Only browsers on this machine are shown it. */
export const startPage =
  (demoKey: () => string | undefined) =>
  (call: Call): Response => {
    const { method } = call.request;
    if (method !== "GET" && method !== "HEAD") {
      call.headers.Allow = "GET";
      throw new Problem("method_not_allowed", "This address takes GET.");
    }
    const key = isOnThisMachine(call) ? demoKey() : undefined;
    const withKey = String(page).replace('data-key=""', () => `data-key="${key ?? ""}"`);
    return new Response(withKey, { headers: HEADERS });
  };
