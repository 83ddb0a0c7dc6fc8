/** A cluster as the service that the SDK's suite needs: one address, keys, and a way to restart it. */
import type { PostgresServer } from "../../../src/store/testing/postgres.ts";
import type { Env } from "../../conformance/sdk/service.ts";
import { PARLEY_MAIN } from "../../support/command.ts";
import { RoundRobin } from "../../support/round-robin.ts";
import { Cluster } from "./cluster.ts";
import type { NatsCluster } from "./nats.ts";

export class SdkService {
  private readonly restarter;
  private readonly path = `/${crypto.randomUUID()}`;
  /** The ports that each node has had: it gets a new one with each restart. */
  private readonly ports: readonly number[][];

  private constructor(
    private readonly cluster: Cluster,
    private readonly balancer: RoundRobin,
    private readonly publishableKey: string,
  ) {
    this.ports = cluster.nodes.map((node) => [portOf(node)]);
    this.restarter = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 60,
      fetch: async (request) => {
        if (new URL(request.url).pathname !== this.path) return new Response("", { status: 404 });
        await this.restart();
        return new Response("");
      },
    });
  }

  /** `before`: the file of the release before, of which the first node is. It cannot be restarted then. */
  static async start(postgres: PostgresServer, nats: NatsCluster, before?: string): Promise<SdkService> {
    const cluster = await Cluster.start({ postgres, nats, ...(before !== undefined && { main: before }) });
    for (const at of before === undefined ? [] : [1, 2]) {
      await cluster.node(at).kill("SIGTERM");
      await cluster.begin(at, PARLEY_MAIN);
    }
    await cluster.whole();
    const { keyId } = await cluster.node(0).admin.createPublishable(cluster.key.app);
    return new SdkService(cluster, await RoundRobin.over(...cluster.nodes.map(portOf)), keyId);
  }

  get env(): Env & Record<string, string> {
    return {
      PARLEY_TEST_URL: this.balancer.url,
      PARLEY_TEST_PUBLISHABLE_KEY: this.publishableKey,
      PARLEY_TEST_SECRET_KEY: this.cluster.key.credential,
      PARLEY_TEST_ADMIN_TOKEN: this.cluster.node(0).setToken,
      PARLEY_TEST_RESTART_URL: `http://127.0.0.1:${this.restarter.port}${this.path}`,
    };
  }

  /** How many connections each node got. */
  get shares(): number[] {
    const { shares } = this.balancer;
    return this.ports.map((ports) => ports.reduce((sum, port) => sum + (shares.get(port) ?? 0), 0));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.restarter.stop(true);
    await this.balancer.close();
    await this.cluster.stop();
  }

  private async restart(): Promise<void> {
    await Promise.all(this.cluster.nodes.map((node) => node.kill("SIGTERM")));
    const ready: number[] = [];
    // As a balancer that asks nodes whether they are ready: the first one that is gets the clients at once.
    const begin = async (ports: number[], at: number): Promise<void> => {
      await this.cluster.begin(at);
      const port = portOf(this.cluster.node(at));
      ports.push(port);
      ready.push(port);
      this.balancer.use(...ready);
    };
    await Promise.all(this.ports.map(begin));
  }
}

const portOf = ({ url }: { readonly url: string }): number => Number(new URL(url).port);
