/**
 * The system under test: one to three nodes on one Exchange. From admission and the gateway's handlers down everything is built as
 * in production; the walk controls time, sockets and the transport between nodes.
 */
import { Blocks } from "../../src/access/admission/blocks.ts";
import { Keyring } from "../../src/access/keys/keyring.ts";
import { keySecretIdentity, Vault } from "../../src/access/keys/vault.ts";
import { type Claims, signToken } from "../../src/access/tokens/token.ts";
import { FakeClock } from "../../src/base/testing/fake-clock.ts";
import { anAppId } from "../../src/base/testing/ids.ts";
import { Exchange } from "../../src/engine/local.ts";
import { atOnce, delayed, shuffled, type Traffic } from "../../src/engine/testing/traffic.ts";
import { Problem } from "../../src/protocol/codes.ts";
import type { ChannelRule } from "../../src/protocol/patterns/channel-rules.ts";
import { RealtimeMetrics } from "../../src/realtime/counting/metrics.ts";
import type { SocketData } from "../../src/realtime/frames/socket-handlers.ts";
import { FakeSocket } from "../../src/realtime/testing/fake-socket.ts";
import { turn } from "../../src/realtime/testing/kit.ts";
import { slowly } from "../../src/realtime/testing/late-engine.ts";
import { buildNode, NodeClock, type TestNode } from "../../src/realtime/testing/node.ts";
import type { SecretRow } from "../../src/store/contract/store.ts";
import { appRow, keyRow } from "../../src/store/testing/rows.ts";
import { Metrics } from "../../src/telemetry/metrics.ts";
import { APPS } from "./acts.ts";
import type { LateHistory } from "./late-history.ts";
import type { KeyState } from "./model.ts";

export interface WorldOptions {
  readonly nodes: number;
  /** The transport between nodes: immediate, equally late for all, or of random delay. */
  readonly travel: "at once" | "late" | "at random";
  /** The delay in steps, or the seed of the random delays. */
  readonly travelNumber: number;
  readonly tickMs: number;
  /** How long the engine takes to answer `watch`. */
  readonly answerMs: number;
  /** The applications have channel rules; absent: none. */
  readonly rules?: RulesOptions;
}

export interface RulesOptions {
  readonly rules: readonly ChannelRule[];
  /** How long a call of the store of history takes at most. */
  readonly storeMs: number;
  /** As a store that other nodes may write to, also if there are none. */
  readonly isShared: boolean;
  /** For the times that calls take. */
  readonly storeSeed: number;
  /** How much may wait for a client; replays stop at half of it. */
  readonly maxPendingBytes: number;
}

// Shared: metrics are not part of the model, and a registry per node and walk would take most of a walk's time.
const metrics = new RealtimeMetrics(new Metrics());
const vault = new Vault(Buffer.alloc(32, 7));
const CLIENT = [192, 0, 2, 1];

export class World {
  readonly blocks = new Blocks();
  readonly keyring = new Keyring(vault);
  readonly nodes: TestNode[] = [];
  /** Nodes that have ended; others may have started since. */
  private readonly ended = new Set<number>();
  private readonly traffic: Traffic;
  private readonly exchange: Exchange;
  private readonly isSimple: boolean;
  private revision = 1;

  constructor(
    private readonly options: WorldOptions,
    readonly clock = new FakeClock(),
    readonly history?: LateHistory,
  ) {
    this.traffic = trafficOf(options);
    this.isSimple = options.nodes === 1;
    this.exchange = new Exchange(this.traffic.carry);
    const apps = options.rules ? APPS.map((id) => appRow(id, { channelRules: options.rules?.rules ?? [] })) : [];
    this.keyring.load({ revision: 1, apps, keys: [], secrets: [] });
    for (let i = 0; i < options.nodes; i++) this.start();
  }

  /** One more node. */
  start(): void {
    const { keyring, blocks, history, exchange } = this;
    const { tickMs, answerMs, rules } = this.options;
    const id = `n${this.nodes.length}`;
    const clock = new NodeClock(this.clock);
    const engine = answerMs > 0 ? slowly(exchange.engine(), clock, answerMs) : exchange.engine();
    const withHistory = history && rules && { history: history.of(id), maxPendingBytes: rules.maxPendingBytes };
    const options = { tickMs, ...withHistory };
    this.nodes.push(buildNode({ id, clock, engine, keyring, blocks, metrics }, options));
  }

  /** A node dies: its sockets end without a close frame, and the engine notices. */
  kill(i: number): void {
    const node = this.nodeAt(i);
    this.ended.add(i);
    node.clock.isStopped = true;
    for (const socket of node.server.sockets) socket.closed = { code: 1006, reason: "" };
    node.server.sockets.clear();
    this.history?.end(`n${i}`);
    void node.engine.close();
  }

  get alive(): number[] {
    return [...this.nodes.keys()].filter((i) => !this.ended.has(i));
  }

  /** One of the nodes that are alive. */
  pick(number: number): number {
    const { alive } = this;
    return alive[number % alive.length] ?? 0;
  }

  nodeAt(i: number): TestNode {
    const node = this.nodes[i];
    if (!node) throw new Error(`there is no node ${i}`);
    return node;
  }

  get connections(): number {
    return this.alive.reduce((sum, i) => sum + this.nodeAt(i).hub.connections.count, 0);
  }

  get underWay(): number {
    return this.traffic.underWay;
  }

  advance(ms: number): void {
    if (this.isSimple) return this.clock.advance(ms);
    for (let i = 0; i < ms; i++) {
      this.clock.advance(1);
      this.traffic.step();
    }
  }

  /** As `advance`, in a world with a store of history: promises go on in between. */
  async pass(ms: number): Promise<void> {
    const { history, traffic } = this;
    for (let i = 0; i < ms; i++) {
      const isBusy = traffic.underWay > 0 || (history?.waiting ?? 0) > 0;
      this.clock.advance(1);
      traffic.step();
      if (isBusy || (history?.waiting ?? 0) > 0) await this.quiet();
    }
    await this.quiet();
  }

  /** Until every promise that is decided has gone on, and the store has done what is due. */
  async quiet(): Promise<void> {
    // One turn more: what an answer has led to may have been put off to the next one.
    for (let idle = 0; idle < 2; ) {
      await turn();
      idle = (await this.history?.step()) ? 0 : idle + 1;
    }
  }

  /** A connection, or the code it was refused with. */
  connect(node: number, query: string, pongAfterMs: number | undefined): FakeSocket | string {
    const { server, handlers, gateway } = this.nodeAt(node);
    const made: FakeSocket[] = [];
    const upgrade = (data: SocketData): boolean => made.push(new FakeSocket(server, handlers, this.clock, data)) > 0;
    try {
      gateway.connect({ query, origin: null, client: CLIENT, wantsWebSocket: true, version: "13", upgrade });
    } catch (problem) {
      if (problem instanceof Problem) return problem.code;
      throw problem;
    }
    const [socket] = made;
    if (!socket) throw new Error("neither refused nor upgraded");
    socket.pongAfterMs = pongAfterMs;
    socket.open();
    return socket;
  }

  /** Gives the key as the model has it to every node. */
  show(key: KeyState): void {
    const { id, app, type, patterns, actions, revoked } = key;
    const fields = { app: anAppId(app), type, channelPatterns: [...patterns], actions: [...actions] };
    const row = keyRow(id, { ...fields, revoked: revoked ? 1 : null });
    const secrets = key.secrets.map(({ seq, endsMs }): SecretRow => {
      const sealed = sealedSecret(id, seq);
      return { keyId: id, seq, sealed, digest: "", created: 0, ends: endsMs };
    });
    this.keyring.apply({ keys: [{ row, secrets }] }, ++this.revision);
  }

  token(key: KeyState, seq: number, claims: Claims): string {
    return signToken(claims, key.id, { hmacKey: Buffer.from(secretOf(key.id, seq)) });
  }
}

const secretOf = (keyId: string, seq: number): string => `sk_secret_${keyId}_${seq}`;

const sealed = new Map<string, string>();

function sealedSecret(keyId: string, seq: number): string {
  const identity = keySecretIdentity(keyId, seq);
  const known = sealed.get(identity) ?? vault.seal(secretOf(keyId, seq), identity);
  sealed.set(identity, known);
  return known;
}

function trafficOf({ nodes, travel, travelNumber }: WorldOptions): Traffic {
  if (nodes === 1 || travel === "at once") return atOnce();
  return travel === "late" ? delayed(travelNumber % 13) : shuffled(travelNumber);
}
