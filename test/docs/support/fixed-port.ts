/** A server on a known port, for clients that must find it after a restart, or that start before it. */
import { parleyCommand } from "../../support/command.ts";
import { Server } from "../../support/parley.ts";

/** Starts a server; its data folder is kept when it stops. */
export async function startOn(port: number, data: string): Promise<Server> {
  const flags = ["up", "--port", String(port), "--host", "127.0.0.1", "--data", data];
  const env = { PARLEY_LOG_FORMAT: "json" };
  const server = new Server(parleyCommand(...flags), env, data, false);
  server.url = String((await server.logged((line) => line.msg === "parley is ready")).url);
  return server;
}
