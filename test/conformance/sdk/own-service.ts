/** A service for the suite when the environment names none, with everything that a scenario may need. */
import { freePort } from "../../../src/testing/ports.ts";
import { Admin } from "../../support/admin.ts";
import { parleyCommand } from "../../support/command.ts";
import type { Json } from "../../support/http.ts";
import { Server } from "../../support/parley.ts";
import { removeFolder, tempFolder } from "../../support/temp.ts";
import type { Env } from "./service.ts";

export interface Running {
  /** Environment variables for `Service`. */
  readonly env: Env;
  stop(): Promise<void>;
}

/** The service that the environment names, or a newly started one. */
export async function serviceToTest(env: Env): Promise<Running> {
  return env.PARLEY_TEST_URL === undefined ? startOwn() : { env, stop: async () => undefined };
}

/** A newly started one, whose application has these channel rules. */
export async function startOwn(channelRules: readonly Json[] = []): Promise<Running> {
  const port = await freePort();
  const data = tempFolder();
  const adminToken = `admin_${crypto.randomUUID()}`;
  let server = await start(port, data, adminToken);
  await new Admin(server.url, adminToken).must("PATCH", "/apps/demo", { channelRules });
  const path = `/${crypto.randomUUID()}`;
  // Under Node, scenarios run in another process and reach our service through this address.
  const restarter = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    fetch: async (request) => {
      if (new URL(request.url).pathname !== path) return new Response("", { status: 404 });
      await server.kill("SIGTERM");
      server = await start(port, data, adminToken);
      return new Response("");
    },
  });
  return {
    env: {
      PARLEY_TEST_URL: server.url,
      PARLEY_TEST_PUBLISHABLE_KEY: server.keys.publishableKey,
      PARLEY_TEST_SECRET_KEY: server.keys.secretKey,
      PARLEY_TEST_ADMIN_TOKEN: adminToken,
      PARLEY_TEST_RESTART_URL: `http://127.0.0.1:${restarter.port}${path}`,
    },
    stop: async () => {
      await restarter.stop(true);
      await server.kill("SIGTERM");
      removeFolder(data);
    },
  };
}

async function start(port: number, data: string, adminToken: string): Promise<Server> {
  const flags = ["up", "--port", String(port), "--host", "127.0.0.1", "--data", data];
  const env = {
    PARLEY_LOG_FORMAT: "json",
    PARLEY_ADMIN_TOKEN: adminToken,
    PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
    PARLEY_REST_REQUESTS_PER_SECOND: "0",
  };
  const server = new Server(parleyCommand(...flags), env, data, false);
  const ready = await server.logged((line) => line.msg === "parley is ready");
  server.url = String(ready.url);
  return server;
}
