/** A client behind a network of its own, which fails at random moments. */
import { Parley, type Transport } from "../../../client/src/index.ts";
import type { OfflineQueue } from "../../../client/src/queue.ts";
import { NetworkProxy } from "../../support/network-proxy.ts";
import type { Chance } from "../../support/random.ts";
import { until } from "../../support/wait.ts";
import type { Service } from "./service.ts";

export class Unlucky {
  connects = 0;

  private constructor(
    readonly parley: Parley,
    readonly proxy: NetworkProxy,
  ) {
    parley.on("welcome", () => this.connects++);
  }

  /** Without a peer id: with the publishable key, so that each connection is another peer. */
  static async start(
    service: Service,
    peerId?: string,
    queue?: OfflineQueue,
    transport: Transport = "websocket",
  ): Promise<Unlucky> {
    const proxy = await NetworkProxy.to(service.port);
    const url = `http://127.0.0.1:${proxy.port}`;
    const token = peerId === undefined ? "" : await service.token(peerId);
    const credential = token ? { token: () => token } : { key: service.publishableKey };
    // A WebSocket that is cut soon would count as blocked.
    return new Unlucky(new Parley({ url, transport, ...credential, ...(queue && { queue }) }), proxy);
  }

  /** One fault, and usually the time to come back. */
  async fail(chance: Chance): Promise<void> {
    const { proxy, connects, parley } = this;
    const kind = chance.below(4);
    // What was on its way is lost, together with the connection.
    if (kind === 1) proxy.stall(chance.pick(["up", "down"] as const));
    if (kind === 2) proxy.delay(5 + chance.below(25));
    if (kind > 0) await Bun.sleep(chance.below(30));
    proxy.cut();
    // Some attempts fail, too.
    if (kind === 3) await Bun.sleep(chance.below(60));
    proxy.mend();
    const isImpatient = chance.once(4);
    await until("the client comes back", () => this.connects > connects || parley.status.state === "closed");
    // The next fault may hit the recovery.
    if (!isImpatient) await Bun.sleep(chance.below(80));
  }

  async close(): Promise<void> {
    this.parley.close();
    await this.proxy.close();
  }
}
