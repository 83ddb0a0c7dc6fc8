/**
 * Three nodes on one PostgreSQL, one NATS server and one shared folder of recordings, all real processes. The first node, the
 * elder, is never restarted: its memory is checked for growth. The others take turns.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type NatsServer, startNats } from "../../src/engine/testing/nats-server.ts";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import { Admin } from "../support/admin.ts";
import { call } from "../support/http.ts";
import { childrenOf } from "../support/menders.ts";
import { launchParley, type Server } from "../support/parley.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until, within } from "../support/wait.ts";

export const NODES = 3;
const DRAIN_SECONDS = 5;
const JOINED_WITHIN_MS = 30_000;
const EXIT_WITHIN_MS = 30_000;

export type Ending = "drain" | "kill";

export interface Restarted {
  readonly node: number;
  readonly ending: Ending;
  /** From the signal to the end of the process. */
  readonly endedMs: number;
  /** From the new process to the time when every node receives the heartbeats of every other. */
  readonly backMs: number;
}

export class SoakNodes {
  private readonly servers: Server[] = [];
  /** As a load balancer's health check sees it: a node that is not up gets no new connections. */
  private readonly up: boolean[] = [];
  /** Error output of the processes that have ended. */
  private readonly complaints: string[] = [];

  private constructor(
    private readonly postgres: PostgresServer,
    private readonly nats: NatsServer,
    private readonly folder: string,
    private readonly env: Readonly<Record<string, string>>,
    private readonly workers: number,
  ) {}

  /** `workers`: processes that serve clients, for each node. */
  static async start(workers: number): Promise<SoakNodes> {
    const folder = tempFolder();
    const [postgres, nats] = await Promise.all([PostgresServer.start(), startNats()]);
    mkdirSync(join(folder, "shared"));
    const nodes = new SoakNodes(
      postgres,
      nats,
      folder,
      {
        PARLEY_DATABASE_URL: await postgres.newDatabase(),
        PARLEY_NATS_URL: nats.url,
        PARLEY_MASTER_KEY: randomBytes(32).toString("base64"),
        PARLEY_ADMIN_TOKEN: `admin_${crypto.randomUUID()}`,
        PARLEY_STORAGE_SHARED: "on",
        PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
        PARLEY_HTTP_REQUESTS_PER_MINUTE_PER_IP: "0",
        PARLEY_REST_REQUESTS_PER_SECOND: "0",
        PARLEY_DRAIN_SECONDS: String(DRAIN_SECONDS),
        PARLEY_DEMO: "off",
        PARLEY_WORKERS: String(workers),
      },
      workers,
    );
    try {
      // One after the other, because the first creates the tables.
      for (let at = 0; at < NODES; at++) await nodes.begin(at);
      await nodes.joined();
      return nodes;
    } catch (error) {
      await nodes.stop();
      throw error;
    }
  }

  /** A node that a load balancer would choose: up, and in turn. */
  get anyUrl(): string {
    const candidates = this.upNodes;
    return this.url(candidates[Math.floor(Math.random() * candidates.length)] ?? 0);
  }

  get upNodes(): readonly number[] {
    return [...this.up.keys()].filter((at) => this.up[at]);
  }

  url(at: number): string {
    return this.server(at).url;
  }

  pid(at: number): number {
    return this.server(at).pid;
  }

  get pids(): readonly number[] {
    return this.servers.map(({ pid }) => pid);
  }

  get admin(): Admin {
    return new Admin(this.anyUrl, this.server(0).setToken);
  }

  /** Ends a node and restarts it. Its clients detect it by themselves, and so does the balancer if it was killed. */
  async restart(node: number, ending: Ending): Promise<Restarted> {
    const server = this.server(node);
    const startedMs = performance.now();
    if (ending === "drain") this.up[node] = false;
    else setTimeout(() => this.markDown(node, server), HEALTH_CHECK_MS);
    const code = await within(
      `the end of node ${node}`,
      server.kill(ending === "drain" ? "SIGTERM" : "SIGKILL"),
      EXIT_WITHIN_MS,
    );
    if (ending === "drain" && code !== 0) this.complaints.push(`node ${node} was asked to stop and ended with ${code}`);
    this.collect(server);
    const endedMs = performance.now() - startedMs;
    this.up[node] = false;
    await this.begin(node);
    await this.joined();
    return { node, ending, endedMs, backMs: performance.now() - startedMs - endedMs };
  }

  /** Ends one of the workers of a node; resolves when another one serves in its place. */
  async killWorker(at: number): Promise<void> {
    const workers = childrenOf(this.pid(at));
    const victim = workers[Math.floor(Math.random() * workers.length)];
    if (victim === undefined) throw new Error(`node ${at} has no workers`);
    process.kill(victim, "SIGKILL");
    const isReplaced = async (): Promise<boolean> =>
      !childrenOf(this.pid(at)).includes(victim) && (await this.metric(at, "parley_workers_ready")) === this.workers;
    await until(`another worker serves on node ${at}`, isReplaced, JOINED_WITHIN_MS);
  }

  /** Errors in the logs of all processes, including ended ones. */
  errors(): readonly string[] {
    return [...this.complaints, ...this.servers.flatMap(errorsOf)];
  }

  /** The sum of a node's metric over all labels; undefined if it has no metric of that name. */
  async metric(at: number, name: string): Promise<number | undefined> {
    const { text } = await call(`${this.url(at)}/metrics`, { bearer: this.server(at).setToken });
    const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm"))];
    return values.length === 0 ? undefined : values.reduce((sum, [, value]) => sum + Number(value), 0);
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.kill()));
    await this.nats.stop();
    await this.postgres.stop();
    removeFolder(this.folder);
  }

  private markDown(node: number, server: Server): void {
    if (this.servers[node] === server) this.up[node] = false;
  }

  private async begin(at: number): Promise<void> {
    const data = join(this.folder, `node-${at}`);
    if (!this.servers[at]) {
      mkdirSync(data);
      symlinkSync(join(this.folder, "shared"), join(data, "recordings"));
    }
    const server = launchParley({ env: { ...this.env, PARLEY_NODE_ID: `node-${at}` }, data });
    this.servers[at] = server;
    const ready = await server.logged(({ msg }) => msg === "parley is ready");
    server.url = String(ready.url);
    this.up[at] = true;
  }

  /** Resolves when every node receives the heartbeats of every other. */
  private async joined(): Promise<void> {
    const areJoined = async (): Promise<boolean> => {
      const heard = await Promise.all(this.servers.map((_, at) => this.metric(at, "parley_other_nodes")));
      // Over NATS each worker is a node of its own.
      return heard.every((count) => count === this.servers.length * this.workers - 1);
    };
    await until("all nodes hear each other", areJoined, JOINED_WITHIN_MS);
  }

  private collect(server: Server): void {
    if (this.complaints.length < COMPLAINTS_MAX) this.complaints.push(...errorsOf(server));
  }

  private server(at: number): Server {
    const server = this.servers[at];
    if (!server) throw new Error(`there is no node ${at}`);
    return server;
  }
}

/** The time of two failed health checks. */
const HEALTH_CHECK_MS = 1000;
const COMPLAINTS_MAX = 100;
/** What the processes of a node say about one of them that was killed. */
const OF_A_KILL = /a worker ended by SIGKILL; replacing it|the connection to the supervisor has ended/;

/** Reads only the latest output: parsing the whole buffer of a long-lived node each time would be slow. */
const errorsOf = (server: Server): string[] =>
  server.output
    .split("\n")
    .filter((line) => !OF_A_KILL.test(line))
    .filter((line) => /"level":"(error|fatal)"/.test(line) || /^\s+at |^error:|panic/i.test(line))
    .slice(0, COMPLAINTS_MAX);
