/**
 * The systems that are compared: a single node, nodes joined by NATS, and plain NATS. Every process of a system runs on the
 * server's core. The nodes share a PostgreSQL, as in production; it carries no messages, so its CPU time is shown but not
 * counted.
 */
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import { freePort } from "../../src/testing/ports.ts";
import { Admin } from "../../test/support/admin.ts";
import { tempFolder } from "../../test/support/temp.ts";
import type { Contender, Dialect } from "../contenders/contender.ts";
import { ON_SERVER_CORE, SERVER_CORE } from "../contenders/core.ts";
import { anyNats } from "../contenders/nats.ts";
import { dialect, OPEN_CEILINGS } from "../contenders/parley.ts";
import { debianPackages } from "../lib/install.ts";
import { launcherOf, MAIN, SETTINGS, startParley } from "../lib/parley.ts";
import { childrenOf, type Pinned, startedWith, startPinned } from "../lib/pinned.ts";
import { cpuSeconds, endedChildrenSeconds } from "../lib/process.ts";

const TOGETHER_MS = 10_000;
const LOOK_EVERY_MS = 50;

export interface RunningSystem extends AsyncDisposable {
  /** One per node; the publisher connects to the first. */
  readonly ports: readonly [number, ...number[]];
  readonly nodePids: readonly number[];
  readonly natsPids: readonly number[];
  readonly dialect: Dialect;
  /** Parley's key: `<sk_id>:<sk_secret>`. */
  readonly secretKey?: string;
}

export interface System {
  readonly name: string;
  start(): Promise<RunningSystem>;
}

export const ALONE = "one node, no NATS";
export const BEFORE = "one node, before";
export const onNats = (nodes: number): string => `${nodes} ${nodes === 1 ? "node" : "nodes"} on NATS`;

/** One node as `npm start` runs it, possibly of another source tree, to see what has become slower. */
export const alone = (name: string, main?: string): System => ({
  name,
  start: async () => {
    const server = await startParley({ main, prefix: ON_SERVER_CORE, settings: OPEN_CEILINGS });
    return {
      ports: [Number(server.url.port)],
      nodePids: [server.pid],
      natsPids: [],
      dialect: dialect(server.secretKey),
      secretKey: server.secretKey,
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
});

const bare = (contender: Contender): System => ({
  name: `bare ${contender.name}`,
  start: async () => {
    const running = await contender.start();
    return { ...running, ports: [running.port], nodePids: [], natsPids: running.pids };
  },
});

/** What nodes share: created once for all systems of a run. */
export class Ground implements AsyncDisposable {
  private constructor(
    readonly versions: Readonly<Record<string, string>>,
    readonly bareNats: System,
    private readonly natsProgram: string,
    private readonly postgres: PostgresServer,
    private readonly postmaster: number,
    private readonly shared: Readonly<Record<string, string>>,
    private readonly folder: string,
    private readonly secretKey: string,
  ) {}

  static async lay(): Promise<Ground> {
    const { contender, program } = anyNats();
    if ("missing" in program) throw new Error(program.missing);
    const missing = debianPackages("PostgreSQL", ["postgresql"], isPostgresThere);
    if (missing) throw new Error(missing);
    const found = await contender.prepare();
    const postgres = await PostgresServer.start();
    const folder = tempFolder();
    try {
      const postmaster = startedWith("-p", String(postgres.port));
      if (postmaster === undefined) throw new Error("PostgreSQL runs, but its process was not found");
      for (const pid of [postmaster, ...childrenOf(postmaster)]) pin(pid);
      const shared = {
        ...SETTINGS,
        ...OPEN_CEILINGS,
        PARLEY_DATABASE_URL: await postgres.newDatabase(),
        PARLEY_STORAGE_SHARED: "on",
        PARLEY_DEMO: "off",
        PARLEY_ADMIN_TOKEN: crypto.randomUUID(),
        PARLEY_MASTER_KEY: Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64"),
      };
      const secretKey = await firstKey(folder, shared);
      const versions = { NATS: "version" in found ? found.version : "unknown" };
      return new Ground(versions, bare(contender), program.path, postgres, postmaster, shared, folder, secretKey);
    } catch (error) {
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  joined(count: number): System {
    return { name: onNats(count), start: () => this.start(count) };
  }

  /** CPU of PostgreSQL so far, including processes that have ended. */
  postgresSeconds(): number {
    const { postmaster } = this;
    const pids = [postmaster, ...childrenOf(postmaster)];
    return pids.reduce((total, pid) => total + cpuSeconds(pid), endedChildrenSeconds(postmaster));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.postgres.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async start(count: number): Promise<RunningSystem> {
    await using starting = new AsyncDisposableStack();
    const bus = starting.use(
      await startPinned([this.natsProgram, "-a", "127.0.0.1", "-p", "-1"], {
        // The last line of a start, after the one with the port.
        ready: (output) =>
          output.includes("Server is ready")
            ? Number(/client connections on 127\.0\.0\.1:(\d+)/.exec(output)?.[1])
            : undefined,
      }),
    );
    const settings = { ...this.shared, PARLEY_NATS_URL: `nats://127.0.0.1:${bus.port}` };
    const nodes: Pinned[] = [];
    for (let i = 0; i < count; i++) nodes.push(starting.use(await startNode(this.folder, settings)));
    const [first, ...others] = nodes.map(({ port }) => port);
    if (first === undefined) throw new Error("a system needs a node");
    for (const port of [first, ...others]) await untilTogether(port, count);
    const all = starting.move();
    return {
      ports: [first, ...others],
      nodePids: nodes.flatMap(({ pids }) => pids),
      natsPids: bus.pids,
      dialect: dialect(this.secretKey),
      secretKey: this.secretKey,
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    };
  }
}

const isPostgresThere = (): boolean => [...new Bun.Glob("usr/lib/postgresql/*/bin/initdb").scanSync("/")].length > 0;

/** The application of all peers, and a key of it: `<sk_id>:<sk_secret>`. */
async function firstKey(folder: string, settings: Readonly<Record<string, string>>): Promise<string> {
  await using node = await startNode(folder, settings);
  const admin = new Admin(`http://127.0.0.1:${node.port}`, settings.PARLEY_ADMIN_TOKEN ?? "");
  await admin.createApp("bench");
  return (await admin.createKey("bench")).credential;
}

async function startNode(data: string, settings: Readonly<Record<string, string>>): Promise<Pinned> {
  const port = await freePort();
  const command = [...launcherOf(MAIN), "up", "--data", data];
  return startPinned(command, { env: { ...settings, PARLEY_PORT: String(port) }, ready: port });
}

/** Waits until each node receives the heartbeats of all others, so that no first message is lost. */
async function untilTogether(port: number, count: number): Promise<void> {
  const deadline = performance.now() + TOGETHER_MS;
  while (performance.now() < deadline) {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    if (Number(/^parley_other_nodes (\d+)/m.exec(text)?.[1]) === count - 1) return;
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error("the nodes do not find each other");
}

/** Processes that it starts later inherit the core. */
function pin(pid: number): void {
  const { success, stderr } = Bun.spawnSync(["taskset", "-a", "-c", "-p", String(SERVER_CORE), String(pid)]);
  if (!success) throw new Error(`taskset: ${stderr}`);
}
