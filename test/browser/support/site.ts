/** A customer's web site: a page with the unmodified SDK, and a backend that issues connect tokens. */
import { join } from "node:path";
import { mintToken } from "../../support/admin.ts";

const PAGE = join(import.meta.dir, "../page");
const SDK = join(import.meta.dir, "../../../node_modules/@metered-ca/realtime/dist/index.mjs");
const RECOVERING = join(import.meta.dir, "../../../examples/sdk-recovery/recovering.mjs");
const FILES: Readonly<Record<string, string>> = {
  "/": join(PAGE, "index.html"),
  "/tab.mjs": join(PAGE, "tab.mjs"),
  "/sdk.mjs": SDK,
  "/recovering.mjs": RECOVERING,
};

export interface Backend {
  readonly url: string;
  readonly secretKey: string;
}

export class Site {
  private readonly server: Bun.Server<undefined>;

  constructor(backend?: Backend) {
    this.server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async (request) => {
        const { pathname, searchParams } = new URL(request.url);
        if (pathname === "/token" && backend) {
          const expiresInSec = Number(searchParams.get("seconds"));
          const wanted = { peerId: searchParams.get("peer"), channels: ["room/*"], expiresInSec };
          // While the service restarts there is none: the SDK asks again.
          const token = await mintToken(backend.url, backend.secretKey, wanted).catch(() => undefined);
          return new Response(token, { status: token === undefined ? 503 : 200 });
        }
        const file = FILES[pathname];
        return file === undefined ? new Response("", { status: 404 }) : new Response(Bun.file(file));
      },
    });
  }

  get origin(): string {
    return `http://127.0.0.1:${this.server.port}`;
  }

  stop(): Promise<void> {
    return this.server.stop(true);
  }
}
