/** A site with an empty page that loads one script, bundled from the sources. */
import { join } from "node:path";

const HTML = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Meeting</title><link rel="icon" href="data:,">
<body><script type="module" src="/page.js"></script></html>`;

export async function startScriptSite(script: string): Promise<Bun.Server<undefined>> {
  const built = await Bun.build({ entrypoints: [join(import.meta.dir, "../page", script)], target: "browser" });
  const page = await built.outputs[0]?.text();
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    routes: {
      "/": new Response(HTML, { headers: { "Content-Type": "text/html" } }),
      "/page.js": new Response(page, { headers: { "Content-Type": "text/javascript" } }),
    },
  });
}
