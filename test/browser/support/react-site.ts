/** A web site with the page of client/src/testing, made with React, and a backend that issues connect tokens. */
import { join } from "node:path";
import { mintToken } from "../../support/admin.ts";
import type { Backend } from "./site.ts";

const PAGE = join(import.meta.dir, "../../../client/src/testing/react-page.tsx");
const HTML = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Hooks</title><link rel="icon" href="data:,">
<div id="root"></div><script type="module" src="/page.js"></script></html>`;

/** A folder in whose node_modules another React is, to run the same tests with it; otherwise the one of this project is used. */
export const OTHER_REACT: string | undefined = process.env.PARLEY_TEST_REACT || undefined;

const otherReact: Bun.BunPlugin = {
  name: "another React",
  setup(build) {
    build.onResolve({ filter: /^react(-dom)?(\/.*)?$/ }, ({ path }) => ({
      path: Bun.resolveSync(path, OTHER_REACT ?? import.meta.dir),
    }));
  },
};

/** React's own warnings are in its development build. */
async function script(): Promise<string> {
  const built = await Bun.build({
    entrypoints: [PAGE],
    target: "browser",
    plugins: OTHER_REACT ? [otherReact] : [],
    define: { "process.env.NODE_ENV": '"development"' },
  });
  return built.outputs[0]?.text() ?? "";
}

export async function startReactSite({ url, secretKey }: Backend): Promise<Bun.Server<undefined>> {
  const page = await script();
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    routes: {
      "/": new Response(HTML, { headers: { "Content-Type": "text/html" } }),
      "/page.js": new Response(page, { headers: { "Content-Type": "text/javascript" } }),
      "/token": async (request) => {
        const { searchParams } = new URL(request.url);
        const wanted = { peerId: searchParams.get("peer"), channels: ["room/*", "plain/*"], expiresInSec: 3600 };
        return new Response(await mintToken(url, secretKey, wanted));
      },
    },
  });
}
