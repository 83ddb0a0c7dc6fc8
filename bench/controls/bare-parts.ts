/** The minimum that a service of uploads can do: write the body of `PUT /<file>?at=<offset>` there, flush it, and say how long the file is. Usage: bare-parts.ts FOLDER */
import { open } from "node:fs/promises";
import { join } from "node:path";

const folder = process.argv[2] ?? "";

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    let at = Number(searchParams.get("at"));
    const file = await open(join(folder, pathname.slice(1)), at === 0 ? "w" : "r+", 0o600);
    try {
      for await (const chunk of request.body ?? []) {
        await file.write(chunk, 0, chunk.length, at);
        at += chunk.length;
      }
      await file.sync();
    } finally {
      await file.close();
    }
    return Response.json({ offset: at });
  },
});
console.log(JSON.stringify({ url: server.url.origin }));
