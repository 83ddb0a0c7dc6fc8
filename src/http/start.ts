/** `/`: what this is, and a chat and a call between two tabs to see it work. One page, nothing from elsewhere. */
import { Problem } from "../protocol/codes.ts";
import type { Call } from "./call.ts";
import page from "./start.html" with { type: "text" };

const HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  // 'self' is the page's own WebSocket too. A camera's picture comes as an object, not from an address: it needs no source.
  "Content-Security-Policy":
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

/** `demoKey` is the id of a publishable key that every origin may use: everybody who opens the page sees it. */
export const startPage =
  (demoKey: () => string | undefined) =>
  (call: Call): Response => {
    const { method } = call.request;
    if (method !== "GET" && method !== "HEAD") {
      call.headers.Allow = "GET";
      throw new Problem("method_not_allowed", "This address takes GET.");
    }
    const withKey = String(page).replace('data-key=""', () => `data-key="${demoKey() ?? ""}"`);
    return new Response(withKey, { headers: HEADERS });
  };
