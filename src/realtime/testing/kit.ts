/**
 * For tests: the heart with time, sockets and the ways between nodes in the test's hands. From the gateway's socket handlers
 * down everything is the real thing: a client's frames go in, and what was written to it can be read.
 */
import type { WebSocketHandler } from "bun";
import type { Grant } from "../../access/admit.ts";
import { Blocks } from "../../access/blocks.ts";
import type { News } from "../../access/follow.ts";
import { Keyring } from "../../access/keyring.ts";
import { Throttle } from "../../access/throttle.ts";
import { keySecretIdentity, Vault } from "../../access/vault.ts";
import type { Engine } from "../../engine/engine.ts";
import { Exchange } from "../../engine/local.ts";
import { atOnce, type Traffic } from "../../engine/testing/traffic.ts";
import { ACTIONS, type Action, actionSet } from "../../protocol/actions.ts";
import { type Glob, parseGlob, Scope } from "../../protocol/glob.ts";
import type { AppRow, KeyRow, SecretRow, Store, UsageRow } from "../../store/store.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import type { Log } from "../../telemetry/log.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import type { Clock } from "../clock.ts";
import { Dispatch } from "../dispatch.ts";
import { Gateway, type SocketData } from "../gateway.ts";
import { Hub } from "../hub.ts";
import { RealtimeMetrics } from "../metrics.ts";
import type { Rates } from "../rates.ts";
import { Usage } from "../usage.ts";
import { Client } from "./client.ts";
import { FakeClock } from "./fake-clock.ts";
import { FakeServer, FakeSocket } from "./fake-socket.ts";

export { Client, type Entry, inShort, type Received } from "./client.ts";
export { leftovers } from "./leftovers.ts";

export const APP = "app";
export const SECRET_KEY = "sk_id_1";
export const PUBLISHABLE_KEY = "pk_live_1";
/** Of another application. */
export const OTHER_KEY = "pk_live_2";

/** Lets promises that are decided go on. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export interface ConnectOptions {
  readonly node?: number;
  readonly key?: string;
  /** peerMetadata. */
  readonly metadata?: unknown;
  /** The token's own; absent: what the key has. */
  readonly actions?: readonly Action[];
  readonly channels?: readonly string[];
  readonly expiresInMs?: number;
  readonly pongAfterMs?: number | undefined;
}

export interface WorldOptions {
  readonly nodes?: number;
  readonly traffic?: Traffic;
  readonly tickMs?: number;
  readonly rates?: Rates;
  /** From one address; absent: no limit. */
  readonly connectsPerMinute?: number;
  readonly news?: News;
  /** Absent: a fault fails the test. */
  readonly faults?: FaultLog;
  readonly maxPendingBytes?: number;
  /** Stands between each hub and its engine. */
  readonly engine?: (engine: Engine, clock: Clock) => Engine;
}

/** One node. */
export interface TestHub {
  readonly clock: NodeClock;
  readonly server: FakeServer;
  readonly hub: Hub;
  readonly gateway: Gateway;
  readonly handlers: WebSocketHandler<SocketData>;
  readonly engine: Engine;
  readonly usage: Usage;
  readonly usageRows: MemoryUsage;
  readonly metrics: RealtimeMetrics;
}

/** A node's own view of the clock, which ends when the node does. */
class NodeClock implements Clock {
  isStopped = false;

  constructor(private readonly clock: Clock) {}

  nowMs = (): number => this.clock.nowMs();
  monotonicMs = (): number => this.clock.monotonicMs();
  after = (ms: number, callback: () => void): void =>
    this.clock.after(ms, () => {
      if (!this.isStopped) callback();
    });
}

/** One or several nodes, their keys and their clock. */
export class World {
  readonly clock = new FakeClock();
  readonly traffic: Traffic;
  readonly exchange: Exchange;
  readonly keyring: Keyring;
  readonly nodes: readonly TestHub[];
  private readonly vault = new Vault(Buffer.alloc(32, 7));
  private app: AppRow = { ...APP_ROW };
  private readonly keys = new Map<string, { row: KeyRow; secrets: SecretRow[] }>();
  private revision = 1;

  constructor({ nodes = 1, traffic = atOnce(), ...options }: WorldOptions = {}) {
    this.traffic = traffic;
    this.exchange = new Exchange(traffic.carry);
    this.keyring = new Keyring(this.vault);
    this.keys.set(SECRET_KEY, { row: keyRow(SECRET_KEY, "secret"), secrets: [this.secret(1)] });
    this.keys.set(PUBLISHABLE_KEY, { row: keyRow(PUBLISHABLE_KEY, "publishable"), secrets: [] });
    this.keys.set(OTHER_KEY, { row: { ...keyRow(OTHER_KEY, "publishable"), app: "other" }, secrets: [] });
    this.keyring.load({
      revision: 1,
      apps: [this.app],
      keys: [...this.keys.values()].map((key) => key.row),
      secrets: [...this.keys.values()].flatMap((key) => key.secrets),
    });
    this.nodes = Array.from({ length: nodes }, (_, i) => this.build(`n${i}`, options));
  }

  private build(id: string, options: WorldOptions): TestHub {
    const { keyring } = this;
    const clock = new NodeClock(this.clock);
    const {
      tickMs = 10,
      rates = { framesPerSecond: 0, framesBurst: 500 },
      engine: between,
      faults = noFaults,
      connectsPerMinute = 0,
      news,
      maxPendingBytes = 1 << 20,
    } = options;
    const server = new FakeServer();
    const usageRows = new MemoryUsage();
    const usage = new Usage(usageRows.store, clock, silentLog);
    const metrics = new RealtimeMetrics(new Metrics());
    const engine = between ? between(this.exchange.engine(), clock) : this.exchange.engine();
    const blocks = new Blocks();
    const hub = new Hub({
      id,
      clock,
      engine,
      keyring,
      blocks,
      usage,
      metrics,
      faults,
      broadcast: server.broadcast,
      presenceTickMs: tickMs,
      framesBurst: rates.framesBurst,
      maxPendingBytes,
      nudged: async () => {},
    });
    const dispatch = new Dispatch({ hub, metrics, clock, rates });
    const connects = new Throttle(connectsPerMinute, connectsPerMinute / 60, clock.monotonicMs);
    const gateway = new Gateway({
      hub,
      engine,
      dispatch,
      keyring,
      blocks,
      connects,
      keyRate: new Throttle(0, 0, clock.monotonicMs),
      metrics,
      faults,
      clock,
      maxPendingBytes,
      news,
    });
    return { clock, server, hub, gateway, handlers: gateway.handlers(), engine, usage, usageRows, metrics };
  }

  /** The only node, or the first. */
  get node(): TestHub {
    return this.nodeAt(0);
  }

  nodeAt(i: number): TestHub {
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

  /** Until nothing is under way any more and every tick and deadline of presence has passed. */
  settle(): void {
    do this.advance(600);
    while (this.traffic.underWay > 0);
    this.advance(600);
  }

  /** A node dies: its sockets with it, without a word, and the engine notices. */
  kill(i: number): void {
    const node = this.nodeAt(i);
    node.clock.isStopped = true;
    for (const socket of node.server.sockets) socket.closed = { code: 1006, reason: "" };
    node.server.sockets.clear();
    void node.engine.close();
  }

  connect(peerId: string, options: ConnectOptions = {}): Client {
    const node = this.nodeAt(options.node ?? 0);
    const grant = this.grant(peerId, options);
    const socket = new FakeSocket(node.server, node.handlers, node.clock, { grant });
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

  grant(
    peerId: string,
    { key: id = SECRET_KEY, metadata, actions, channels, expiresInMs }: ConnectOptions = {},
  ): Grant {
    const key = this.keyring.key(id);
    if (!key || key.type === "sealed") throw new Error(`the key ${id} cannot connect anybody`);
    const current = key.type === "secret" ? key.secrets[0] : undefined;
    const globs = channels?.map(parseGlob).filter((glob): glob is Glob => typeof glob !== "string");
    return {
      app: key.app,
      key,
      peerId,
      tokenScope: globs && new Scope(globs),
      tokenActions: actions && actionSet(actions),
      secretSeq: current?.seq,
      secretEndsMs: current?.ends ?? null,
      expiresAtMs: expiresInMs === undefined ? null : this.clock.nowMs() + expiresInMs,
      peerMetadataJson: metadata === undefined ? undefined : JSON.stringify(metadata),
      metadataJson: undefined,
      extraConnects: 0,
    };
  }

  editApp(edit: Partial<AppRow>): void {
    this.app = { ...this.app, ...edit };
    this.keyring.apply({ apps: [this.app] }, ++this.revision);
  }

  editKey(id: string, edit: Partial<Pick<KeyRow, "channelPatterns" | "actions" | "revoked">>): void {
    const key = this.keyOf(id);
    key.row = { ...key.row, ...edit };
    this.keyring.apply({ keys: [key] }, ++this.revision);
  }

  /** A new secret; the ones before it verify until their grace ends. */
  rotate(id: string, graceMs: number): void {
    const key = this.keyOf(id);
    const ends = this.clock.nowMs() + graceMs;
    key.secrets = [
      this.secret((key.secrets[0]?.seq ?? 0) + 1),
      ...key.secrets.map((secret) => ({ ...secret, ends: secret.ends ?? ends })),
    ];
    this.keyring.apply({ keys: [key] }, ++this.revision);
  }

  private keyOf(id: string): { row: KeyRow; secrets: SecretRow[] } {
    const key = this.keys.get(id);
    if (!key) throw new Error(`there is no key ${id}`);
    return key;
  }

  private secret(seq: number): SecretRow {
    const sealed = this.vault.seal(`sk_secret_${seq}`, keySecretIdentity(SECRET_KEY, seq));
    return { keyId: SECRET_KEY, seq, sealed, digest: `digest ${seq}`, created: 0, ends: null };
  }
}

/** The part of a store that counts usage, in memory; it can be made to fail. */
export class MemoryUsage {
  readonly rows = new Map<string, UsageRow>();
  writes = 0;
  failing = false;

  /** `isShared`: other nodes write to it too. */
  constructor(isShared = false) {
    Object.assign(this.store, { isShared });
  }

  readonly store = {
    usage: async (period: number) => [...this.rows.values()].filter((row) => row.period === period),
    addUsage: async (rows: readonly UsageRow[]) => {
      this.writes++;
      if (this.failing) throw new Error("the disk is full");
      for (const row of rows) this.add(row);
    },
  } as unknown as Store;

  private add(row: UsageRow): void {
    const name = `${row.app} ${row.period}`;
    const old = this.rows.get(name) ?? { ...row, messages: 0, peakConnections: 0 };
    this.rows.set(name, {
      ...old,
      messages: old.messages + row.messages,
      peakConnections: Math.max(old.peakConnections, row.peakConnections),
    });
  }
}

export const silentLog = { error: () => {}, info: () => {}, warn: () => {}, debug: () => {} } as unknown as Log;

/** Where no fault is expected: the boundaries let it through, so that a test cannot pass in spite of one. */
export const noFaults: FaultLog = {
  caught: (_where, error) => {
    throw error;
  },
};

const APP_ROW: AppRow = {
  id: APP,
  name: "demo",
  secretSealed: "",
  secretDigest: "",
  secretSeq: 1,
  previousSecrets: [],
  planName: "default",
  maxConcurrentConnections: null,
  maxMessagesPerPeriod: null,
  retentionDays: null,
  created: 0,
  deleted: null,
};

const keyRow = (id: string, type: KeyRow["type"]): KeyRow => ({
  id,
  app: APP,
  type,
  label: null,
  channelPatterns: ["**"],
  actions: ACTIONS,
  allowedOrigins: type === "publishable" ? ["*"] : null,
  created: 0,
  rotated: null,
  revoked: null,
});
