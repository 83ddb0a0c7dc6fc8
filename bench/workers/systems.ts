/** The services that are compared: one process, several workers on one port, and one process of another source tree. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Running } from "../contenders/contender.ts";
import { ON_SERVER_CORE } from "../contenders/core.ts";
import { dialect, OPEN_CEILINGS } from "../contenders/parley.ts";
import type { Target } from "../lib/loader.ts";
import { startParley } from "../lib/parley.ts";
import { childrenOf } from "../lib/pinned.ts";

const TOGETHER_MS = 20_000;
const LOOK_EVERY_MS = 50;

export interface System {
  readonly name: string;
  readonly workers: number;
  /** The script of another source tree, which is started without `--workers`. */
  readonly main?: string;
}

export interface Service extends Running, Target {
  readonly secretKey: string;
}

export const workersOf = (count: number): System => ({
  name: count === 1 ? "one process" : `${count} workers`,
  workers: count,
});

export const before = (main: string): System => ({ name: "before", workers: 1, main });

/**
 * `onOneCore`: all processes on the server's core, for the CPU time of a piece of work. Otherwise the system chooses, and the
 * loader shares all cores, for throughput.
 */
export async function start({ workers, main }: System, onOneCore: boolean): Promise<Service> {
  await using starting = new AsyncDisposableStack();
  const server = starting.use(
    await startParley({
      main,
      prefix: onOneCore ? ON_SERVER_CORE : [],
      settings: OPEN_CEILINGS,
      args: main ? [] : ["--workers", String(workers)],
    }),
  );
  await untilReady(server.url, server.pid, workers);
  const all = starting.move();
  return {
    port: Number(server.url.port),
    pids: [server.pid, ...childrenOf(server.pid)],
    dialect: dialect(server.secretKey),
    secretKey: server.secretKey,
    sharesCores: !onOneCore,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function untilReady(url: URL, pid: number, workers: number): Promise<void> {
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
