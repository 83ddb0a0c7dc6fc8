/**
 * For tests: one or several nodes whose time, sockets and connections between nodes the test controls. From the gateway's socket
 * handlers down everything is built as in production: a client's frames go in, and what was written to it can be read.
 */
import type { Clock } from "../../base/clock.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { Engine } from "../../engine/engine.ts";
import { Exchange } from "../../engine/local.ts";
import { atOnce, type Traffic } from "../../engine/testing/traffic.ts";
import { Client } from "./client.ts";
import { FakeSocket } from "./fake-socket.ts";
import { type GrantOptions, TestKeys } from "./keys.ts";
import { buildNode, NodeClock, type NodeOptions, type TestNode } from "./node.ts";

export { Client, type Entry, inShort, type Received } from "./client.ts";
export { APP, OTHER_KEY, OTHER_SECRET_KEY, PUBLISHABLE_KEY, SECOND_KEY, SECRET_KEY } from "./keys.ts";
export { leftovers } from "./leftovers.ts";
export { ALL_CHANNELS, scopeOf, UNCHARGED } from "./pages.ts";

/** Lets promises that are decided go on. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export interface ConnectOptions extends GrantOptions {
  readonly node?: number;
  readonly pongAfterMs?: number | undefined;
}

export interface WorldOptions extends NodeOptions {
  readonly nodes?: number;
  readonly traffic?: Traffic;
  readonly clock?: FakeClock;
  /** Stands between each hub and its engine. */
  readonly engine?: (engine: Engine, clock: Clock) => Engine;
}

export class World {
  readonly clock: FakeClock;
  readonly traffic: Traffic;
  readonly exchange: Exchange;
  readonly keys: TestKeys;
  private readonly all: TestNode[] = [];
  private readonly build: () => TestNode;

  constructor(worldOptions: WorldOptions = {}) {
    const { nodes = 1, traffic = atOnce(), engine: between = same, clock = new FakeClock(), ...options } = worldOptions;
    this.clock = clock;
    this.keys = new TestKeys(clock);
    this.traffic = traffic;
    this.exchange = new Exchange(traffic.carry);
    const { keyring } = this.keys;
    this.build = () => {
      const clock = new NodeClock(this.clock);
      const engine = between(this.exchange.engine(), clock);
      return buildNode({ id: `n${this.all.length}`, clock, engine, keyring }, options);
    };
    for (let i = 0; i < nodes; i++) this.start();
  }

  /** Another node comes. */
  start(): void {
    this.all.push(this.build());
  }

  get nodes(): readonly TestNode[] {
    return this.all;
  }

  /** The only node, or the first. */
  get node(): TestNode {
    return this.nodeAt(0);
  }

  nodeAt(i: number): TestNode {
    const node = this.nodes[i];
    if (!node) throw new Error(`there is no node ${i}`);
    return node;
  }

  /** Time goes on. Between nodes something may arrive every millisecond. */
  advance(ms: number): void {
    if (this.nodes.length === 1) return this.clock.advance(ms);
    for (let i = 0; i < ms; i++) {
      this.clock.advance(1);
      this.traffic.step();
    }
  }

  /** Until nothing is in transit any more and every tick and deadline of presence has passed. */
  settle(): void {
    do this.advance(600);
    while (this.traffic.underWay > 0);
    this.advance(600);
  }

  /** A node dies: its sockets end without a close frame, and the engine notices. */
  kill(i: number): void {
    const node = this.nodeAt(i);
    node.clock.isStopped = true;
    for (const socket of node.server.sockets) socket.closed = { code: 1006, reason: "" };
    node.server.sockets.clear();
    void node.engine.close();
  }

  connect(peerId: string, options: ConnectOptions = {}): Client {
    const node = this.nodeAt(options.node ?? 0);
    const grant = this.keys.grant(peerId, options);
    const socket = new FakeSocket(node.server, node.handlers, node.clock, { grant, client: LOCALHOST });
    if ("pongAfterMs" in options) socket.pongAfterMs = options.pongAfterMs;
    socket.open();
    const client = new Client(socket, node);
    client.take();
    return client;
  }

  /** Connected, subscribed, roster read. */
  join(peerId: string, channel: string, options: ConnectOptions = {}): Client {
    const client = this.connect(peerId, options);
    client.subscribe(channel);
    this.advance(600);
    client.take();
    return client;
  }
}

const LOCALHOST = [127, 0, 0, 1];

const same = (engine: Engine): Engine => engine;
