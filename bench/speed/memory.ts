/** (g): the cost of idle connections, and how it grows with their number. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Running } from "../contenders/contender.ts";
import { KIB, memoryOf } from "../lib/memory.ts";
import type { Figures } from "./loads.ts";
import { idleCrowd } from "./loads.ts";

const STAGES = [100, 1000, 10_000, 15_000] as const;
const WARM_UP_ROUNDS = 3;
const WARM_UP_PEERS = 500;

export interface MemoryPace {
  /** The time between the load and the measurement. */
  readonly settleMs: number;
}

/** Bytes of RSS per connection above the warm empty process; `g15000` and so on by stage, the last also as `bytes`. */
export async function idleMemory(server: Running, { settleMs }: MemoryPace): Promise<Figures> {
  for (let round = 0; round < WARM_UP_ROUNDS; round++)
    await (await idleCrowd(server, 0, WARM_UP_PEERS))[Symbol.asyncDispose]();
  await sleep(settleMs);
  const rss = (): number => server.pids.reduce((sum, pid) => sum + memoryOf(pid).rss, 0);
  const [empty, kernelBefore] = [rss(), kernelBytes()];
  const figures: Record<string, number> = {};
  await using crowds = new AsyncDisposableStack();
  let connected = 0;
  for (const stage of STAGES) {
    crowds.use(await idleCrowd(server, connected, stage - connected));
    connected = stage;
    await sleep(settleMs);
    figures.bytes = (rss() - empty) / stage;
    figures[`bytes${stage}`] = figures.bytes;
    figures.kernelBytes = (kernelBytes() - kernelBefore) / stage;
  }
  return figures;
}

/** Kernel memory for sockets, of all processes: both ends of every connection are on this machine. */
function kernelBytes(): number {
  const text = readFileSync("/proc/meminfo", "utf8");
  return Number(/^Slab: +(\d+) kB/m.exec(text)?.[1]) * KIB;
}
