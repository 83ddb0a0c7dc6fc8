/** The services that are compared: one process, several workers on one port, and one process of another source tree. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Admin } from "../../test/support/admin.ts";
import { json } from "../contenders/bare.ts";
import type { Dialect, Running } from "../contenders/contender.ts";
import { ON_SERVER_CORE } from "../contenders/core.ts";
import { dialect, OPEN_CEILINGS } from "../contenders/parley.ts";
import type { Target } from "../lib/loader.ts";
import { startParley } from "../lib/parley.ts";
import { childrenOf } from "../lib/pinned.ts";
import { startProgram } from "../lib/process.ts";

/** Names of channels with history begin like this. */
export const KEPT = "kept";
/** Fewer than a run publishes: trimming is part of the price. */
const HISTORY = { messages: 1000, seconds: 3600 } as const;
/** Every worker asks for new rules at least once per second. */
const RULES_KNOWN_MS = 1500;
const BARE = join(import.meta.dir, "../controls/bare-workers.ts");
const TOGETHER_MS = 20_000;
const LOOK_EVERY_MS = 50;

export interface System {
  readonly name: string;
  readonly workers: number;
  /** The script of another source tree. */
  readonly main?: string;
  /** Not Parley, but processes that only pass the same messages on. */
  readonly isBare?: true;
}

export interface Service extends Running, Target {
  readonly secretKey: string;
  /** From now on channels whose names begin with KEPT have history. */
  keepHistory(): Promise<void>;
}

/** Bare processes have neither keys nor history. */
export type AnyService = Running &
  Target &
  Partial<Pick<Service, "keepHistory">> & {
    /** With subscribers that join: those of `dialect` do not, other than Parley's. */
    readonly joining?: Dialect;
  };

export const workersOf = (count: number): System => ({
  name: count === 1 ? "one process" : `${count} workers`,
  workers: count,
});

/** The floor: what as many processes cost that do nothing but pass the same messages on. */
export const bareOf = (count: number): System => ({
  name: count === 1 ? "bare process" : `${count} bare processes`,
  workers: count,
  isBare: true,
});

export const before = (main: string): System => ({ name: "before", workers: 1, main });

/**
 * `onOneCore`: all processes on the server's core, for the CPU time of a piece of work. Otherwise the system chooses, and the
 * loader shares all cores, for throughput.
 */
export async function start({ workers, main }: System, onOneCore: boolean): Promise<Service> {
  await using starting = new AsyncDisposableStack();
  const adminToken = `bench_${crypto.randomUUID()}`;
  const server = starting.use(
    await startParley({
      main,
      prefix: onOneCore ? ON_SERVER_CORE : [],
      settings: { ...OPEN_CEILINGS, PARLEY_ADMIN_TOKEN: adminToken },
      args: workersArgs(workers),
    }),
  );
  await untilReady(server.url, server.pid, workers);
  const admin = new Admin(server.url.origin, adminToken);
  const all = starting.move();
  return {
    port: Number(server.url.port),
    pids: [server.pid, ...childrenOf(server.pid)],
    dialect: dialect(server.secretKey),
    secretKey: server.secretKey,
    sharesCores: !onOneCore,
    keepHistory: async () => {
      await admin.must("PATCH", "/apps/demo", { channelRules: [{ pattern: `${KEPT}*`, history: HISTORY }] });
      await sleep(RULES_KNOWN_MS);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** None for one process: another source tree may be older than workers. */
export const workersArgs = (workers: number): readonly string[] =>
  workers === 1 ? [] : ["--workers", String(workers)];

/** Bare processes run on the server's core. */
export const startAny = (system: System, onOneCore: boolean): Promise<AnyService> =>
  system.isBare ? startBare(system.workers) : start(system, onOneCore);

async function startBare(count: number): Promise<AnyService> {
  const server = await startProgram([...ON_SERVER_CORE, process.execPath, "--no-env-file", BARE, String(count)]);
  return {
    port: Number(server.url.port),
    pids: [server.pid, ...childrenOf(server.pid)],
    dialect: json,
    joining: {
      ...json,
      subscriber: (index, channel) => ({
        path: `/j/${channel}?peer=${index}`,
        steps: [{ expect: '"snapshot":true' }],
      }),
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

export async function untilReady(url: URL, pid: number, workers: number): Promise<void> {
  if (workers === 1) {
    if (childrenOf(pid).length > 0) throw new Error("one worker has no supervisor, but there is a second process");
    return;
  }
  const deadline = performance.now() + TOGETHER_MS;
  while (performance.now() < deadline) {
    const text = await (await fetch(new URL("/metrics", url))).text();
    const ready = Number(/^parley_workers_ready (\d+)/m.exec(text)?.[1]);
    if (ready === workers && childrenOf(pid).length === workers) return;
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error(`${workers} workers were not ready within ${TOGETHER_MS / 1000} s`);
}
