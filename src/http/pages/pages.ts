/** Serves the pages of web/ with a strict policy, and their scripts and styles, which never change under one name. */
import { Problem } from "../../protocol/codes.ts";
import type { Call } from "../call.ts";
import { throwMethodNotAllowed } from "../pipeline.ts";
import type { Bundle, PageName } from "./bundle.ts";

/** Nothing is loaded from another host, nothing inline runs, and no page may be framed. 'self' covers WebSockets too. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join("; ");

const TYPES: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};

/** What the routes need. `Pages` serves one build; `npm run dev` replaces it with one that looks for changes. */
export interface PageServer {
  /** `fill` replaces parts of the page's HTML, such as the demo's key. */
  page(name: PageName, call: Call, fill?: (html: string) => string): Response | Promise<Response>;
  asset(call: Call): Response;
}

export class Pages implements PageServer {
  constructor(private readonly bundle: Bundle) {}

  page(name: PageName, call: Call, fill: (html: string) => string = (html) => html): Response {
    onlyRead(call);
    return new Response(fill(this.bundle.pages[name]), {
      headers: {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": CONTENT_SECURITY_POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "X-Frame-Options": "DENY",
      },
    });
  }

  asset(call: Call): Response {
    onlyRead(call);
    const { name = "" } = call.params;
    const asset = this.bundle.assets.get(name);
    if (!asset) throw new Problem("not_found");
    const isGzip = /\bgzip\b/.test(call.request.headers.get("accept-encoding") ?? "");
    return new Response(isGzip ? asset.gzip : asset.text, {
      headers: {
        "Content-Type": TYPES[name.split(".").at(-1) ?? ""] ?? "application/octet-stream",
        ...(isGzip && { "Content-Encoding": "gzip" }),
        Vary: "Accept-Encoding",
        // The name contains a hash of the content.
        "Cache-Control": "public, max-age=31536000, immutable",
      },
    });
  }
}

function onlyRead(call: Call): void {
  const { method } = call.request;
  if (method !== "GET" && method !== "HEAD") throwMethodNotAllowed(call, "GET");
}
