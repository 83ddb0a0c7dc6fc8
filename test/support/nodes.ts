/**
 * Several nodes behind a load balancer that act as one server, so that a suite written for one process runs unchanged against a
 * cluster. `startParley` starts these instead if the environment names what joins them:
 *
 *   PARLEY_TEST_NODES_DATABASE  postgres://… of a user that may create databases
 *   PARLEY_TEST_NODES_NATS      nats://…
 *   PARLEY_TEST_NODES_LOG       a file that gets one line per cluster: how many connections reached each node
 *   PARLEY_TEST_NODES_BEFORE    src/main.ts of the release before: one of the nodes is of that version
 */
import { createHash, randomBytes } from "node:crypto";
import { appendFileSync } from "node:fs";
import { SQL } from "bun";
import { Admin } from "./admin.ts";
import { type LogLine, launchParley, type Options, Server } from "./parley.ts";
import { RoundRobin } from "./round-robin.ts";
import { refuseLeaks } from "./seen-credentials.ts";
import { removeFolder, tempFolder } from "./temp.ts";

const COUNT = 3;
const LOOK_EVERY_MS = 5;

export interface Joint {
  readonly database: string;
  readonly nats: string;
  readonly log: string;
  /** "": all nodes are of this version. */
  readonly before: string;
}

/** The database and NATS server that join nodes, if the environment names them. */
export function jointOf(env: Readonly<Record<string, string | undefined>>): Joint | undefined {
  const { PARLEY_TEST_NODES_DATABASE: database, PARLEY_TEST_NODES_NATS: nats } = env;
  if (!database || !nats) return undefined;
  return { database, nats, log: env.PARLEY_TEST_NODES_LOG ?? "", before: env.PARLEY_TEST_NODES_BEFORE ?? "" };
}

/** Over how many nodes a server of this run is spread: rates count on each. */
export const nodeCount = (): number => (jointOf(process.env) ? COUNT : 1);

/** Several nodes started as one; `data` identifies their shared store as a folder identifies one node's. */
export async function startNodes(joint: Joint, options: Options): Promise<Server> {
  const data = options.data ?? tempFolder();
  const name = `nodes_${createHash("sha256").update(data).digest("hex").slice(0, 16)}`;
  const env = {
    PARLEY_ADMIN_TOKEN: `admin_${crypto.randomUUID()}`,
    PARLEY_MASTER_KEY: masterKeyOf(data),
    PARLEY_STORAGE_SHARED: "on",
    PARLEY_DATABASE_URL: await database(joint.database, name),
    PARLEY_NATS_URL: joint.nats,
    PARLEY_NATS_PREFIX: name,
    ...options.env,
  };
  const launch = (main?: string): Server => launchParley({ ...options, data: tempFolder(), env, main });
  // It does not start on a store that this version has upgraded: then all are of this version.
  const isBeforePossible = joint.before !== "" && !upgraded.has(name);
  const nodes = isBeforePossible ? [launch(joint.before)] : [];
  await Promise.all(nodes.map(isReady));
  upgraded.add(name);
  while (nodes.length < COUNT) nodes.push(launch());
  const ready = await Promise.all(nodes.map(isReady));
  for (const [at, node] of nodes.entries()) {
    node.url = String(ready[at]?.url);
    node.admin = new Admin(node.url, node.setToken);
  }
  const balancer = await RoundRobin.over(...nodes.map(({ url }) => Number(new URL(url).port)));
  return new Nodes(nodes, balancer, joint, data, options.data === undefined);
}

const isReady = (node: Server): Promise<LogLine> => node.logged(({ msg }) => msg === "parley is ready");

/** Databases on which a node of this version was started. */
const upgraded = new Set<string>();

class Nodes extends Server {
  override readonly exited: Promise<number>;
  /** In the order in which they were read. */
  private readonly lines: LogLine[] = [];
  private readonly seen: number[];
  private isOver = false;

  constructor(
    private readonly nodes: readonly Server[],
    private readonly balancer: RoundRobin,
    private readonly joint: Joint,
    data: string,
    private readonly isOwnData: boolean,
  ) {
    // It acts as a server but is no process: the nodes are.
    super(["true"], {}, data, false);
    this.seen = nodes.map(() => 0);
    this.url = balancer.url;
    this.setToken = nodes[0]?.setToken ?? "";
    this.admin = new Admin(this.url, this.setToken);
    this.exited = Promise.all(nodes.map(({ exited }) => exited)).then(async (codes) => {
      await this.over();
      return Math.max(...codes);
    });
  }

  override get log(): LogLine[] {
    for (const [at, { log }] of this.nodes.entries()) {
      this.lines.push(...log.slice(this.seen[at]));
      this.seen[at] = log.length;
    }
    return this.lines;
  }

  override async logged(fits: (line: LogLine) => boolean, skip = 0): Promise<LogLine> {
    for (;;) {
      const found = this.log.slice(skip).find(fits);
      if (found) return found;
      if (this.isOver) throw new Error("the nodes ended before one of them wrote that line");
      await Bun.sleep(LOOK_EVERY_MS);
    }
  }

  override signal(name: NodeJS.Signals): void {
    for (const node of this.nodes) node.signal(name);
  }

  override async kill(name: NodeJS.Signals = "SIGKILL"): Promise<number> {
    this.signal(name);
    const code = await this.exited;
    refuseLeaks();
    return code;
  }

  override async stop(): Promise<void> {
    try {
      await this.kill("SIGTERM");
    } finally {
      if (this.isOwnData) removeFolder(this.data);
    }
  }

  private async over(): Promise<void> {
    this.isOver = true;
    if (this.joint.log !== "")
      appendFileSync(this.joint.log, `${JSON.stringify([...this.balancer.shares.values()])}\n`);
    await this.balancer.close();
    for (const { data } of this.nodes) removeFolder(data);
  }
}

const masterKeys = new Map<string, string>();

/** The same for all starts on the same data, like the file in a data folder. */
function masterKeyOf(data: string): string {
  let key = masterKeys.get(data);
  if (key === undefined) {
    key = randomBytes(32).toString("base64");
    masterKeys.set(data, key);
  }
  return key;
}

async function database(server: string, name: string): Promise<string> {
  await using sql = new SQL({ url: server, max: 1 });
  const [found] = await sql`SELECT 1 FROM pg_database WHERE datname = ${name}`;
  if (!found) await sql.unsafe(`CREATE DATABASE ${name}`);
  return server.replace(/[^/]*$/, name);
}
