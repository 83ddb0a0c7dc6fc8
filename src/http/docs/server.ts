/** Serves the documentation below `/docs`. Its pages are rendered with the first request, and compressed with the first request for each. */
import { Problem } from "../../protocol/codes.ts";
import type { Call } from "../request/call.ts";
import { type Packed, packAside, packedResponse, tagOf } from "../response/packed.ts";
import { type DocsFile, LLMS, LLMS_FULL, NOT_FOUND, type Placement, SEARCH_SCRIPT } from "./site.ts";

export const DOCS_PATH = "/docs";
/** The calls of the REST API, drawn from its description: a page of its own among the others. */
export const REFERENCE_PATH = "/docs/api";
/** Not a file of the documentation: only a browser on the service's own machine gets the names of its demo. */
export const DEMO_PATH = "/docs/demo.json";

/** Files that people and programs expect at the root. */
export const ROOT_FILES: readonly string[] = [LLMS, LLMS_FULL];

/** Addresses in a service. */
export const served = (shell: string): Placement => ({
  shell,
  href: (_from, to) => (ROOT_FILES.includes(to) ? `/${to}` : to === "" ? DOCS_PATH : `${DOCS_PATH}/${to}`),
  service: { reference: REFERENCE_PATH, demo: DEMO_PATH },
});

/** From the files of the project. What renders them is loaded here: a start needs none of it. */
export async function renderedDocs(shell: string): Promise<RenderedDocs> {
  const [{ readDocs }, { renderDocs }] = await Promise.all([import("./read.ts"), import("./render.ts")]);
  return renderDocs(readDocs(), served(shell));
}

export type RenderedDocs = ReadonlyMap<string, DocsFile>;

interface Kept {
  readonly packed: Packed;
  readonly tag: string;
}

export class DocsServer {
  private rendered: Promise<RenderedDocs> | undefined;
  /** Bound: the files of the documentation. */
  private readonly kept = new Map<string, Promise<Kept>>();

  constructor(
    private readonly render: () => Promise<RenderedDocs>,
    private readonly version: string,
    /** For pages. */
    private readonly pageHeaders: Readonly<Record<string, string>>,
  ) {}

  /** `path` is what comes behind `/docs/`. Browsers get a page also where there is none, programs an error. */
  async file(path: string, call: Call, isForPeople: boolean): Promise<Response> {
    const files = await this.files();
    const found = path === NOT_FOUND ? undefined : files.get(path);
    if (!found) return this.missing(files.get(NOT_FOUND), call, isForPeople);
    const headers = { "Content-Type": found.type, ...(found.isPage && this.pageHeaders) };
    if (path === SEARCH_SCRIPT) await this.renderAll(files);
    const { body } = found;
    if (typeof body !== "string") return bytes(body, { ...headers, ...PICTURE_HEADERS });
    const { packed, tag } = await this.packed(path, body);
    return packedResponse(call, packed, { ...headers, ETag: tag, "Cache-Control": "no-cache" });
  }

  private async files(): Promise<RenderedDocs> {
    this.rendered ??= this.render();
    try {
      return await this.rendered;
    } catch (error) {
      // The next request tries again.
      this.rendered = undefined;
      throw error;
    }
  }

  /** What is found by search needs all pages: one per turn of the event loop, so that connections do not wait for them. */
  private async renderAll(files: RenderedDocs): Promise<void> {
    if (this.kept.has(SEARCH_SCRIPT)) return;
    for (const file of files.values())
      if (file.isPage && file.body.length > 0) await new Promise((resolve) => setImmediate(resolve));
  }

  private async missing(page: DocsFile | undefined, call: Call, isForPeople: boolean): Promise<Response> {
    if (!isForPeople || typeof page?.body !== "string") throw new Problem("not_found");
    const { packed } = await this.packed(NOT_FOUND, page.body);
    const { body, headers } = packedResponse(call, packed, { "Content-Type": page.type, ...this.pageHeaders });
    return new Response(body, { status: 404, headers });
  }

  private packed(path: string, text: string): Promise<Kept> {
    let kept = this.kept.get(path);
    if (!kept) {
      kept = packAside(text).then((packed) => ({ packed, tag: tagOf(text, this.version) }));
      this.kept.set(path, kept);
      // The next request tries again.
      kept.catch(() => this.kept.delete(path));
    }
    return kept;
  }
}

/** Pictures change with the version of the service. Those in SVG are documents: nothing in them may run. */
const PICTURE_HEADERS = {
  "Cache-Control": "public, max-age=3600",
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
};

const bytes = (body: Uint8Array<ArrayBuffer>, headers: Readonly<Record<string, string>>): Response =>
  new Response(body, { headers });
