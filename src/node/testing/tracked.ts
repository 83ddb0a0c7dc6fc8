/** For tests: nodes whose connections and members are followed for webhooks, and what the events that are written add up to. */
import { expect } from "bun:test";
import { spaceOf } from "../../base/ids.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { type Glob, parseGlob } from "../../protocol/patterns/glob.ts";
import { Scope } from "../../protocol/patterns/scope.ts";
import { APP, type Client, turn, World } from "../../realtime/testing/kit.ts";
import { silentLog } from "../../realtime/testing/stubs.ts";
import { StoreUnreachable } from "../../store/contract/store.ts";
import type { TrackingStore } from "../../store/contract/tracking.ts";
import type { WebhookFact } from "../../store/contract/webhooks.ts";
import { OneConnection } from "../../store/engines/database.ts";
import { migrate } from "../../store/migrate.ts";
import { openSqlite, sqliteFile } from "../../store/open.ts";
import { Outbox } from "../../store/sql/webhooks/outbox.ts";
import { SqlTracking } from "../../store/sql/webhooks/tracking.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { Deriving } from "../../webhooks/deriving/deriving.ts";
import type { AskingBook } from "../../webhooks/tracking/asked.ts";
import type { Tracker } from "../../webhooks/tracking/tracker.ts";
import { buildTracking } from "../parts/tracking.ts";

export const STEP_MS = 100;

/** A book with one endpoint, which can be changed. */
class Book implements AskingBook {
  readonly apps = [APP];
  private readonly listeners: ((app: typeof APP) => void)[] = [];
  private events: readonly string[] = [];
  private channels = new Scope([]);

  of = () => [{ row: { events: this.events, disabled: null }, channels: this.channels }];

  onChange(listener: (app: typeof APP) => void): void {
    this.listeners.push(listener);
  }

  ask(events: readonly string[], patterns: readonly string[] = ["**"]): void {
    this.events = events;
    this.channels = new Scope(patterns.map(parseGlob).filter((glob): glob is Glob => typeof glob !== "string"));
    for (const listener of this.listeners) listener(APP);
  }
}

export const ALL = ["connection.*", "channel.*", "peer.*"];

/** What the events that were written add up to; throws if one of them does not fit those before. */
class Reported {
  readonly connections = new Set<string>();
  readonly members = new Set<string>();
  readonly channels = new Set<string>();
  readonly types: string[] = [];

  add(fact: WebhookFact): void {
    this.types.push(fact.type);
    if (fact.type === "connection.opened") put(this.connections, fact.connectionId);
    else if (fact.type === "connection.closed") take(this.connections, fact.connectionId);
    else if (fact.type === "peer.joined") put(this.members, `${fact.channel} ${fact.peerId}`);
    else if (fact.type === "peer.left") take(this.members, `${fact.channel} ${fact.peerId}`);
    else if (fact.type === "channel.occupied") put(this.channels, fact.channel);
    else if (fact.type === "channel.vacated") take(this.channels, fact.channel);
  }
}

function put(all: Set<string>, one: string): void {
  if (all.has(one)) throw new Error(`${one} is said twice`);
  all.add(one);
}

function take(all: Set<string>, one: string): void {
  if (!all.delete(one)) throw new Error(`${one} ends without a beginning`);
}

/** Nodes with a store, and the holder of the lease. */
export class Tracked {
  readonly book = new Book();
  readonly reported = new Reported();
  readonly clock = new FakeClock();
  readonly world = new World({ nodes: 0, clock: this.clock });
  readonly trackers: Tracker[] = [];
  isAway = false;
  /** Calls of these nodes do not reach the store. */
  readonly cut = new Set<number>();
  /** Calls take effect, and fail nevertheless. */
  losesAnswers = false;
  private underWay = 0;
  private readonly lease = { holder: "me", number: 1 };

  private constructor(
    private readonly database: OneConnection,
    private readonly store: TrackingStore,
    private deriving: Deriving | undefined,
  ) {}

  static async open(newFolder: () => string, nodes = 1): Promise<Tracked> {
    const sql = await openSqlite(sqliteFile(newFolder()));
    const database = new OneConnection(sql);
    await migrate(database);
    await sql`
      INSERT INTO apps (id, name, secret_sealed, secret_digest, plan_name, created) VALUES (${APP}, 'a', '', '', '', 1)`;
    await sql`INSERT INTO webhook_apps (app) VALUES (${APP})`;
    await sql`UPDATE webhook_lease SET holder = 'me', number = 1`;
    let tracked: Tracked | undefined;
    const store = new SqlTracking(database, new Outbox(false), () => tracked?.clock.wallMs() ?? 0);
    tracked = new Tracked(database, store, undefined);
    tracked.world.keys.editApp({ channelRules: [{ pattern: "calls/*", graceSec: 5 }] });
    tracked.lead();
    for (let i = 0; i < nodes; i++) tracked.start();
    return tracked;
  }

  close(): Promise<void> {
    return this.database.close();
  }

  /** Another process holds the lease from now on. */
  lead(): void {
    this.deriving = new Deriving({ store: this.store, book: this.book, clock: this.clock });
  }

  start(): void {
    this.world.start();
    const at = this.world.nodes.length - 1;
    const { hub, clock, usage } = this.world.nodeAt(at);
    const tracker = buildTracking({
      store: { tracking: this.through(at) },
      log: silentLog,
      metrics: new Metrics(),
      realtime: { hub, clock, usage },
      webhookBook: this.book,
    });
    tracker.start();
    this.trackers.push(tracker);
  }

  /** The store as one node reaches it. */
  private through(node: number): TrackingStore {
    return new Proxy(this.store, {
      get: (store, name: keyof TrackingStore) => {
        const method = (store[name] as (...args: unknown[]) => Promise<unknown>).bind(store);
        return async (...args: unknown[]) => {
          this.underWay++;
          try {
            if (this.isAway || this.cut.has(node)) throw new StoreUnreachable("away");
            const answer = await method(...args);
            if (this.losesAnswers) throw new StoreUnreachable("its answer was lost");
            return answer;
          } finally {
            this.underWay--;
          }
        };
      },
    });
  }

  private async quiet(): Promise<void> {
    for (let still = 0; still < 3; still = this.underWay > 0 ? 0 : still + 1) await turn();
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      this.world.advance(STEP_MS);
      await this.quiet();
      if (this.isAway) continue;
      expect(await this.deriving?.turn(this.lease)).not.toBe("lost");
      await this.take();
    }
  }

  private async take(): Promise<void> {
    const rows: { id: string; fact: string }[] = await this.database.run(
      (sql) => sql`SELECT id, fact FROM webhook_events ORDER BY nr`,
    );
    for (const { fact } of rows) this.reported.add(JSON.parse(fact) as WebhookFact);
    if (rows.length > 0) await this.database.run((sql) => sql`DELETE FROM webhook_events`);
  }

  /** What is so, on nodes that are there. */
  get so(): { connections: string[]; members: string[]; channels: string[] } {
    const connections: string[] = [];
    const members = new Set<string>();
    for (const { hub, clock } of this.world.nodes) {
      if (clock.isStopped) continue;
      for (const { id } of hub.connections.all()) connections.push(id);
      for (const channel of hub.spaces.get(spaceOf(APP))?.channels.values() ?? [])
        for (const member of channel.members.values())
          if (member.local() || member.lingeringState) members.add(`${channel.name} ${member.peer.peerId}`);
    }
    const channels = new Set([...members].map((name) => name.split(" ")[0] ?? ""));
    return { connections: connections.sort(), members: [...members].sort(), channels: [...channels].sort() };
  }

  get said(): { connections: string[]; members: string[]; channels: string[] } {
    const { connections, members, channels } = this.reported;
    return { connections: [...connections].sort(), members: [...members].sort(), channels: [...channels].sort() };
  }

  /** What was said since the last call. */
  saidNow(): string[] {
    return this.reported.types.splice(0);
  }
}

export const join = (one: Tracked, peerId: string, channel: string, node = 0): Client => {
  const client = one.world.connect(peerId, { node });
  client.subscribe(channel);
  return client;
};
