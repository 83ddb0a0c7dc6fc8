/** NATS servers that form a cluster, each of which can be killed and restarted. */
import { type NatsServer, startNats } from "../../../src/engine/testing/nats-server.ts";
import { freePort } from "../../../src/testing/ports.ts";
import { NetworkProxy } from "../../support/network-proxy.ts";

interface Place {
  readonly port: number;
  readonly args: readonly string[];
}

export class NatsCluster {
  private readonly servers: (NatsServer | undefined)[] = [];

  private constructor(
    private readonly places: readonly Place[],
    private readonly links: readonly NetworkProxy[] = [],
  ) {}

  /** Each server has a route to each other. */
  static async mesh(size: number): Promise<NatsCluster> {
    const routes = await Promise.all(Array.from({ length: size }, freePort));
    const places = await Promise.all(
      routes.map(async (own) => ({
        port: await freePort(),
        args: member(own, [
          "--routes",
          routes
            .filter((one) => one !== own)
            .map(routeTo)
            .join(","),
        ]),
      })),
    );
    return new NatsCluster(places).started();
  }

  /** Two servers with a single route between them, over a link that can be cut. Neither advertises another route. */
  static async pair(): Promise<{ readonly nats: NatsCluster; readonly between: NetworkProxy }> {
    const routes = [await freePort(), await freePort()] as const;
    const between = await NetworkProxy.to(routes[0]);
    const nowhere = await NetworkProxy.to(routes[1]);
    nowhere.cut();
    const places = [
      { port: await freePort(), args: member(routes[0], ["--cluster_advertise", `127.0.0.1:${between.port}`]) },
      {
        port: await freePort(),
        args: member(routes[1], [
          "--cluster_advertise",
          `127.0.0.1:${nowhere.port}`,
          "--routes",
          routeTo(between.port),
        ]),
      },
    ];
    return { nats: await new NatsCluster(places, [between, nowhere]).started(), between };
  }

  get ports(): readonly number[] {
    return this.places.map(({ port }) => port);
  }

  async kill(at: number): Promise<void> {
    await this.servers[at]?.stop();
    this.servers[at] = undefined;
  }

  async begin(at: number): Promise<void> {
    const place = this.places[at];
    if (place) this.servers[at] ??= await startNats(place.args, place.port);
  }

  async killAll(): Promise<void> {
    await Promise.all(this.places.map((_, at) => this.kill(at)));
  }

  async beginAll(): Promise<void> {
    await Promise.all(this.places.map((_, at) => this.begin(at)));
  }

  async stop(): Promise<void> {
    await this.killAll();
    for (const link of this.links) await link.close();
  }

  private async started(): Promise<this> {
    try {
      await this.beginAll();
      return this;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }
}

const routeTo = (port: number): string => `nats://127.0.0.1:${port}`;

/** Servers do not advertise each other, so that clients use only the links given to them. */
const member = (route: number, more: readonly string[]): string[] => [
  "--cluster_name",
  "parley-test",
  "--cluster",
  routeTo(route),
  "--no_advertise",
  ...more,
];
