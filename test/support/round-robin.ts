/** A load balancer for tests: each TCP connection goes to the next target, and a log says which went where. */
import type { Socket } from "node:net";
import { reset, TcpProxy } from "./tcp-proxy.ts";

export interface Landing {
  /** The connection's number, from 1. */
  readonly number: number;
  /** The target's port. */
  readonly target: number;
  /** Targets that refused the connection and were skipped. */
  readonly passedOver: readonly number[];
}

export class RoundRobin {
  /** One entry per connection that reached a target, in order. */
  readonly log: Landing[] = [];
  private turn = 0;
  private proxy: TcpProxy | undefined;

  private constructor(private targets: readonly number[]) {}

  static async over(...targets: number[]): Promise<RoundRobin> {
    const balancer = new RoundRobin(targets);
    balancer.proxy = await TcpProxy.listen((client, number, proxy) => balancer.land(client, number, proxy, []));
    return balancer;
  }

  get port(): number {
    return this.proxy?.port ?? 0;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Takes effect for new connections; open connections stay where they are. */
  use(...targets: number[]): void {
    this.targets = targets;
  }

  /** How many connections each target got. */
  get shares(): ReadonlyMap<number, number> {
    const shares = new Map(this.targets.map((target) => [target, 0]));
    for (const { target } of this.log) shares.set(target, (shares.get(target) ?? 0) + 1);
    return shares;
  }

  async close(): Promise<void> {
    await this.proxy?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** A target that refuses is skipped; when all refuse, the client is reset. */
  private land(client: Socket, number: number, proxy: TcpProxy, passedOver: readonly number[]): void {
    const target = this.targets[this.turn++ % this.targets.length];
    if (target === undefined || passedOver.length >= this.targets.length || client.destroyed) {
      reset(client);
      return;
    }
    const socket = proxy.dial(target, () => this.land(client, number, proxy, [...passedOver, target]));
    socket.once("connect", () => {
      this.log.push({ number, target, passedOver });
      for (const [from, to] of [
        [client, socket],
        [socket, client],
      ] as const) {
        from.pipe(to);
        from.once("close", () => {
          if (!from.readableEnded) reset(to);
        });
      }
    });
  }
}
