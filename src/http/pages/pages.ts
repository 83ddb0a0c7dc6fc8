/**
 * Serves the pages of web/ with a strict policy, their scripts and styles, which never change under one name, and what changes with the
 * version of the service: the documentation and parley-client.
 */
import { Problem } from "../../protocol/codes.ts";
import { DocsServer, renderedDocs } from "../docs/server.ts";
import type { Call } from "../request/call.ts";
import { packedResponse, tagOf } from "../response/packed.ts";
import { onlyRead } from "../server/pipeline.ts";
import { type Bundle, type PageName, RECOVER_NAME } from "./bundle.ts";

export interface Policy {
  /** Where its scripts may connect to besides 'self'. */
  readonly connects?: readonly string[];
  /** Origins of pages that may show it in a frame. */
  readonly framedBy?: readonly string[];
  /** It has workers, of its own host. */
  readonly hasWorkers?: boolean;
}

/** Nothing is loaded from another host, nothing inline runs, and by default no page may be framed. 'self' covers WebSockets too. */
export const contentSecurityPolicy = ({ connects = [], framedBy = [], hasWorkers = false }: Policy = {}): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `connect-src ${["'self'", ...connects].join(" ")}`,
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    ...(hasWorkers ? ["worker-src 'self'"] : []),
    `frame-ancestors ${framedBy.join(" ") || "'none'"}`,
    "base-uri 'none'",
    "form-action 'self'",
  ].join("; ");

const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": contentSecurityPolicy(),
  "Cross-Origin-Opener-Policy": "same-origin",
  "X-Frame-Options": "DENY",
};

/** What one page has of its own. */
export interface PageResponse {
  readonly status?: number;
  /** In place of the usual headers, except for the content's type. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** People and their browsers, not programs: those get an error as JSON. */
export const wantsPage = ({ request: { method, headers } }: Call): boolean =>
  (method === "GET" || method === "HEAD") && (headers.get("accept") ?? "").includes("text/html");

const TYPES: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};

export type Fill = (html: string) => string;

/** What the routes need. `Pages` serves one build; `npm run dev` replaces it with one that looks for changes. */
export interface PageServer {
  /** `fill` replaces parts of the page's HTML, such as the demo's key. */
  page(name: PageName, call: Call, fill?: Fill, own?: PageResponse): Response | Promise<Response>;
  asset(call: Call): Response;
  /** The file at CLIENT_PATH. */
  client(call: Call): Response | Promise<Response>;
  /** A page or a file of the documentation; `path` is what comes behind `/docs/`. */
  docs(path: string, call: Call): Promise<Response>;
}

/** parley-client as one module, for pages without a bundler. */
export const CLIENT_PATH = "/client.js";

export class Pages implements PageServer {
  private readonly clientTag: string;
  private readonly documentation: DocsServer;

  constructor(
    private readonly bundle: Bundle,
    version: string,
    /** By default the files of the project, rendered when they are first asked for. */
    docs = () => renderedDocs(bundle.pages.docs),
  ) {
    this.clientTag = tagOf(bundle.client.text, version);
    this.documentation = new DocsServer(docs, version, PAGE_HEADERS);
  }

  page(name: PageName, call: Call, fill: Fill = (html) => html, own: PageResponse = {}): Response {
    onlyRead(call);
    const { status = 200, headers = PAGE_HEADERS } = own;
    const type = "text/html; charset=utf-8";
    return new Response(fill(this.bundle.pages[name]), { status, headers: { "Content-Type": type, ...headers } });
  }

  asset(call: Call): Response {
    onlyRead(call);
    const { name = "" } = call.params;
    const asset = this.bundle.assets.get(name);
    if (!asset) throw new Problem("not_found");
    return packedResponse(call, asset, {
      "Content-Type": TYPES[name.split(".").at(-1) ?? ""] ?? "application/octet-stream",
      // Other names contain a hash of the content.
      "Cache-Control": name === RECOVER_NAME ? "public, max-age=86400" : "public, max-age=31536000, immutable",
    });
  }

  client(call: Call): Response {
    onlyRead(call);
    const headers = {
      "Content-Type": "text/javascript; charset=utf-8",
      ETag: this.clientTag,
      // Kept, and asked for again before each use: a new version of the service has its client at the same address.
      "Cache-Control": "no-cache",
      // Pages of every origin may import it.
      "Access-Control-Allow-Origin": "*",
      "Cross-Origin-Resource-Policy": "cross-origin",
    };
    return packedResponse(call, this.bundle.client, headers);
  }

  docs(path: string, call: Call): Promise<Response> {
    onlyRead(call);
    return this.documentation.file(path, call, wantsPage(call));
  }
}
