/** A server on a known port, for clients that must find it after a restart, or that start before it. */
import { createServer } from "node:net";
import { Server } from "../../support/parley.ts";

/** Below the range of outgoing connections, so that no other process takes the port while the server is down. */
const PORTS_FROM = 20_000;
const PORTS = 10_000;

export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS_FROM + Math.floor(Math.random() * PORTS);
    if (await isFree(port)) return port;
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });

/** Starts a server; its data folder is kept when it stops. */
export async function startOn(port: number, data: string): Promise<Server> {
  const flags = ["up", "--port", String(port), "--host", "127.0.0.1", "--data", data];
  const env = { PARLEY_LOG_FORMAT: "json" };
  const server = new Server([process.execPath, "--no-env-file", "src/main.ts", ...flags], env, data, false);
  server.url = String((await server.logged((line) => line.msg === "parley is ready")).url);
  return server;
}
