/**
 * Parley processes on one PostgreSQL and a cluster of NATS servers, all real processes. Each node reaches each NATS server
 * through its own link proxy, so that a fault affects exactly one link.
 */
import { randomBytes } from "node:crypto";
import type { PostgresServer } from "../../../src/store/testing/postgres.ts";
import { Fleet, type FleetOptions } from "../../../src/verify/fleet.ts";
import { Admin, type SecretKey } from "../../support/admin.ts";
import { call } from "../../support/http.ts";
import { NetworkProxy } from "../../support/network-proxy.ts";
import { launchParley, type Server } from "../../support/parley.ts";
import { removeFolder, tempFolder } from "../../support/temp.ts";
import { until } from "../../support/wait.ts";
import { LOAD, STORED_RULES } from "./load.ts";
import type { NatsCluster } from "./nats.ts";

type Env = Readonly<Record<string, string>>;

export interface ClusterOptions {
  readonly postgres: PostgresServer;
  readonly nats: NatsCluster;
  /** The NATS servers that each node knows; default: three nodes that know all. */
  readonly reach?: readonly (readonly number[])[];
  /** Settings beside those of every cluster. */
  readonly env?: Env;
  /** The file to run, if the nodes are not of this tree. */
  readonly main?: string;
}

/** What stays of a node when its process is killed and restarted. */
interface Place {
  readonly env: Env;
  readonly data: string;
  /** Links to the NATS servers, in their order. */
  readonly links: readonly NetworkProxy[];
}

export class Cluster {
  readonly nodes: Server[] = [];
  /** A key with every action on every channel. */
  key!: SecretKey;
  private readonly places: Place[] = [];

  private constructor(
    private readonly options: ClusterOptions,
    private readonly env: Env,
  ) {}

  static async start(options: ClusterOptions): Promise<Cluster> {
    const { postgres, nats, reach = [0, 1, 2].map(() => nats.ports.map((_, at) => at)) } = options;
    const cluster = new Cluster(options, {
      PARLEY_DATABASE_URL: await postgres.newDatabase(),
      PARLEY_MASTER_KEY: randomBytes(32).toString("base64"),
      PARLEY_ADMIN_TOKEN: `admin_${crypto.randomUUID()}`,
      PARLEY_STORAGE_SHARED: "on",
      PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
      PARLEY_REST_REQUESTS_PER_SECOND: "0",
      PARLEY_DRAIN_SECONDS: "2",
      PARLEY_DEMO: "off",
      ...options.env,
    });
    try {
      await Promise.all(reach.map((servers, at) => cluster.add(`node-${at}`, servers)));
      await cluster.whole();
      const app = await cluster.node(0).admin.createApp();
      await cluster.node(0).admin.must("PATCH", `/apps/${app._id}`, { channelRules: STORED_RULES });
      cluster.key = await cluster.node(0).admin.createKey(app._id);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** Adds a node; returns its number. */
  async add(nodeId: string, servers: readonly number[] = this.options.nats.ports.map((_, at) => at)): Promise<number> {
    const at = this.places.length;
    const links: NetworkProxy[] = [];
    const place = { data: tempFolder(), links, env: { ...this.env, PARLEY_NODE_ID: nodeId } };
    this.places.push(place);
    for (const server of servers) links.push(await NetworkProxy.to(this.options.nats.ports[server] ?? 0));
    await this.begin(at);
    return at;
  }

  /** Starts a new process in the place of one that has ended; from another file, if nodes of several versions run together. */
  async begin(at: number, main = this.options.main): Promise<Server> {
    const { env, data, links } = this.place(at);
    const PARLEY_NATS_URL = `nats://${links.map(({ port }) => `127.0.0.1:${port}`).join(",")}`;
    const server = launchParley({ env: { ...env, PARLEY_NATS_URL }, data, main });
    this.nodes[at] = server;
    const ready = await server.logged(({ msg }) => msg === "parley is ready");
    server.url = String(ready.url);
    server.admin = new Admin(server.url, server.setToken);
    return server;
  }

  node(at: number): Server {
    const node = this.nodes[at];
    if (!node) throw new Error(`there is no node ${at}`);
    return node;
  }

  links(at: number): readonly NetworkProxy[] {
    return this.place(at).links;
  }

  /** The index of the NATS server that a node is connected to. */
  serverOf(at: number): number {
    return this.links(at).findIndex(({ open }) => open > 0);
  }

  get urls(): string[] {
    return this.nodes.map(({ url }) => url.replace(/^http/, "ws"));
  }

  /** Clients over all nodes, which all send and receive. */
  fleet(more: Partial<FleetOptions> = {}): Promise<Fleet> {
    return Fleet.open({ urls: this.urls, secretKey: this.key.credential, ...LOAD, ...more });
  }

  /** Resolves when every node receives the heartbeats of every other. */
  whole(withinMs?: number): Promise<number> {
    const others = this.nodes.length - 1;
    return until(
      `not every node hears its ${others} others`,
      async () => (await Promise.all(this.nodes.map(heard))).every((count) => count === others),
      withinMs,
    );
  }

  /** Removes everything, data included. */
  async remove(at: number): Promise<void> {
    if (at !== this.places.length - 1) throw new Error("only the newest node can be removed");
    const place = this.places.pop();
    await this.nodes.pop()?.kill();
    await discard(place);
  }

  async stop(): Promise<void> {
    // A paused process handles no other signal.
    await Promise.all(this.nodes.map((node) => node.kill("SIGKILL")));
    await Promise.all(this.places.map(discard));
  }

  private place(at: number): Place {
    const place = this.places[at];
    if (!place) throw new Error(`there is no node ${at}`);
    return place;
  }
}

async function discard(place: Place | undefined): Promise<void> {
  if (!place) return;
  for (const link of place.links) await link.close();
  removeFolder(place.data);
}

/** How many other nodes it receives heartbeats from. */
async function heard({ url, setToken }: Server): Promise<number> {
  const { text } = await call(`${url}/metrics`, { bearer: setToken });
  return Number(/^parley_other_nodes (\d+)$/m.exec(text)?.[1]);
}
