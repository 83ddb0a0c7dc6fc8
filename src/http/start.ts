/** `/`: introduces the service, with a chat and a call between two tabs. The page loads nothing from other hosts. */
import page from "../../web/start/index.html" with { type: "text" };
import { isLoopback, parseAddress } from "../access/address.ts";
import type { Call } from "./call.ts";
import { throwMethodNotAllowed } from "./pipeline.ts";

const HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  // 'self' covers the page's own WebSocket too. Camera video is set as an object, so it needs no media-src.
  "Content-Security-Policy":
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

/**
 * A browser on the server's own machine. Its address bar must name this machine too: otherwise any web site could point its
 * own name to 127.0.0.1 (DNS rebinding) and read the key.
 */
function isOnThisMachine({ request: { headers }, isLocal }: Call): boolean {
  const name = (headers.get("host") ?? "").toLowerCase().replace(/:\d+$/, "");
  const address = parseAddress(name);
  const isOwnName = address ? isLoopback(address) : name === "localhost";
  return isLocal && isOwnName;
}

/** `demoKey` is the id of a publishable key that every origin may use. It is shown only to browsers on this machine. */
export const startPage =
  (demoKey: () => string | undefined) =>
  (call: Call): Response => {
    const { method } = call.request;
    if (method !== "GET" && method !== "HEAD") throwMethodNotAllowed(call, "GET");
    const key = isOnThisMachine(call) ? demoKey() : undefined;
    const withKey = String(page).replace('data-key=""', () => `data-key="${key ?? ""}"`);
    return new Response(withKey, { headers: HEADERS });
  };
