/** Several Parley processes on one PostgreSQL, joined by one NATS server: all real processes, each on a free port. */
import { randomBytes } from "node:crypto";
import { type NatsServer, startNats } from "../../../src/engine/testing/nats-server.ts";
import { PostgresServer } from "../../../src/store/testing/postgres.ts";
import { Admin } from "../../support/admin.ts";
import { launchParley, type Server } from "../../support/parley.ts";
import { closeAtEndOfRun, IS_SHARING } from "../../support/run.ts";
import { attempt, type Refused } from "../../support/wire/connect.ts";
import { Wire } from "../../support/wire/wire.ts";

export interface ClusterOptions {
  readonly nodes?: number;
  /** Default: true. Without NATS, nodes learn of each other's changes only from the store. */
  readonly joined?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** One folder for all nodes. Default: each has its own. */
  readonly data?: string;
  /** The text of the NATS server's configuration file. */
  readonly nats?: string;
  /** For tests that stop PostgreSQL. Otherwise the clusters of a run have databases on one server. */
  readonly ownPostgres?: boolean;
  /** A server of the test itself, and the port of a proxy that leads to it. */
  readonly postgres?: { readonly server: PostgresServer; readonly port: number };
  /** The file to run of an earlier release, of which the first node is (support/release-before.ts). */
  readonly before?: string;
}

let shared: Promise<PostgresServer> | undefined;

function sharedPostgres(): Promise<PostgresServer> {
  shared ??= PostgresServer.start().then((server) => {
    closeAtEndOfRun(() => server.stop());
    return server;
  });
  return shared;
}

export class Cluster {
  readonly nodes: Server[] = [];

  private constructor(
    readonly postgres: PostgresServer,
    readonly nats: NatsServer | undefined,
    readonly env: Readonly<Record<string, string>>,
    private readonly data: string | undefined,
    private readonly isOwnPostgres: boolean,
    private readonly before: string | undefined,
  ) {}

  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    const { nodes = 2, joined = true, env = {}, data, nats: config, postgres: given } = options;
    const before = options.before ?? process.env.PARLEY_TEST_NODES_BEFORE;
    const { ownPostgres = !IS_SHARING && !given } = options;
    const starting = joined ? startNats([], undefined, config) : undefined;
    const running = given?.server ?? (ownPostgres ? PostgresServer.start() : sharedPostgres());
    const [postgres, nats] = await Promise.all([running, starting]);
    const url = await postgres.newDatabase();
    const all = {
      PARLEY_DATABASE_URL: given ? url.replace(`:${postgres.port}/`, `:${given.port}/`) : url,
      PARLEY_MASTER_KEY: randomBytes(32).toString("base64"),
      PARLEY_ADMIN_TOKEN: `admin_${crypto.randomUUID()}`,
      PARLEY_STORAGE_SHARED: "on",
      PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
      ...(nats && { PARLEY_NATS_URL: nats.url }),
      ...env,
    };
    const cluster = new Cluster(postgres, nats, all, data, ownPostgres, before);
    try {
      await cluster.add(nodes);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** Starts all nodes at once. With `before`, or PARLEY_TEST_NODES_BEFORE (support/nodes.ts), the first one of all is of the release before. */
  async add(count: number, env: Readonly<Record<string, string>> = {}): Promise<Server[]> {
    const launch = (main?: string): Server =>
      launchParley({ env: { ...this.env, ...env }, ...(this.data && { data: this.data }), main });
    const from = this.nodes.length;
    if (from === 0 && this.before) {
      this.nodes.push(launch(this.before));
      // It does not start on a store that this version has upgraded.
      await Promise.all(this.nodes.map(ready));
    }
    while (this.nodes.length < from + count) this.nodes.push(launch());
    const added = this.nodes.slice(from);
    await Promise.all(added.map(ready));
    return added;
  }

  /** The first two nodes. */
  get pair(): [Server, Server] {
    const [one, other] = this.nodes;
    if (!one || !other) throw new Error("there are no two nodes");
    return [one, other];
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
    await this.nats?.stop();
    if (this.isOwnPostgres) await this.postgres.stop();
  }
}

async function ready(server: Server): Promise<void> {
  const line = await server.logged(({ msg }) => msg === "parley is ready");
  server.url = String(line.url);
  server.admin = new Admin(server.url, server.setToken);
}

/** Stops the process until it is continued, at the latest at the end of the test. */
export function frozen(node: Server): Disposable {
  node.signal("SIGSTOP");
  return { [Symbol.dispose]: () => node.signal("SIGCONT") };
}

export async function connect(server: Server, query: string): Promise<Wire> {
  const outcome = await attempt(server.url, { query });
  if (outcome instanceof Wire) return outcome;
  throw new Error(`the connect was refused: ${outcome.status} ${JSON.stringify(outcome.body)}`);
}

export async function refusal(server: Server, query: string): Promise<Refused> {
  const outcome = await attempt(server.url, { query });
  if (!(outcome instanceof Wire)) return outcome;
  outcome.drop();
  throw new Error("the connect was let in");
}
