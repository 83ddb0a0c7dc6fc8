/** For tests of every part: free ports, for servers that cannot choose their own. */
import { createServer } from "node:net";

/** Below the ephemeral port range, so that no other process takes the port before its server starts, or while it is down. */
const PORTS_FROM = 20_000;
const PORTS = 10_000;

/** Not given again: the server that was given one may not have started yet. Bound: the tests of one process. */
const given = new Set<number>();

export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS_FROM + Math.floor(Math.random() * PORTS);
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
