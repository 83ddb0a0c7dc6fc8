/** A service for recoveries: one node with its embedded store, or three on PostgreSQL and NATS. */
import { PostgresServer } from "../../../src/store/testing/postgres.ts";
import { Cluster } from "../../cluster/support/cluster.ts";
import { NatsCluster } from "../../cluster/support/nats.ts";
import type { Admin, SecretKey } from "../../support/admin.ts";
import { type Server, startParley } from "../../support/parley.ts";

export interface Service {
  readonly urls: () => readonly string[];
  readonly key: SecretKey;
  /** Kills a node with SIGKILL and starts it again. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

/** Few connections make very many requests, all from one address. */
const UNLIMITED = { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0", PARLEY_FRAMES_PER_SECOND: "0" };
const RULES = [{ pattern: "recover/**", history: { messages: 10_000, seconds: 3600 } }];

async function keyWithHistory(admin: Admin): Promise<SecretKey> {
  const { _id } = await admin.createApp();
  await admin.must("PATCH", `/apps/${_id}`, { channelRules: RULES });
  return admin.createKey(_id);
}

export async function oneNode(): Promise<Service> {
  let server: Server = await startParley({ env: UNLIMITED });
  const first = server;
  return {
    urls: () => [server.url],
    key: await keyWithHistory(server.admin),
    crash: async () => {
      await server.kill();
      server = await startParley({ env: UNLIMITED, data: first.data });
    },
    stop: async () => {
      if (server !== first) await server.stop();
      await first.stop();
    },
  };
}

export async function threeNodes(): Promise<Service> {
  const [postgres, nats] = await Promise.all([PostgresServer.start(), NatsCluster.mesh(1)]);
  const cluster = await Cluster.start({ postgres, nats, env: UNLIMITED });
  let victim = 0;
  return {
    // A node that is starting has no address yet.
    urls: () => cluster.urls.filter((url) => url !== ""),
    key: await keyWithHistory(cluster.node(0).admin),
    crash: async () => {
      victim = (victim + 1) % 3;
      await cluster.node(victim).kill();
      await cluster.begin(victim);
    },
    stop: async () => {
      await cluster.stop();
      await Promise.all([nats.stop(), postgres.stop()]);
    },
  };
}
