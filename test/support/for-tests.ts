/** Servers for the tests of one file: started when the file is loaded, stopped after its last test. */
import { afterAll } from "bun:test";
import type { SecretKey } from "./admin.ts";
import { startChecked } from "./checks.ts";
import { type Options, type Server, startParley } from "./parley.ts";

export async function serverForTests(options: Options = {}): Promise<Server> {
  return stoppedAtTheEnd(await startParley(options));
}

/** All responses of its control plane are checked against /openapi.json. */
export async function checkedServerForTests(options: Options = {}): Promise<Server> {
  return stoppedAtTheEnd(await startChecked(options));
}

function stoppedAtTheEnd(server: Server): Server {
  afterAll(() => server.stop());
  return server;
}

/** Two keys of one application: `wide` may do everything, `narrow` may publish and subscribe on chat/* and news/**. */
export async function wideAndNarrowKeys({ admin }: Server): Promise<{ wide: SecretKey; narrow: SecretKey }> {
  const { name } = await admin.createApp();
  const wide = await admin.createKey(name);
  const narrow = await admin.createKey(name, {
    channelPatterns: ["chat/*", "news/**"],
    actions: ["publish", "subscribe"],
  });
  return { wide, narrow };
}
