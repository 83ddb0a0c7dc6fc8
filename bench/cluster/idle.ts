/** The cost of idle connections, on a node that is joined to NATS and on one that is not. */
import { setTimeout as sleep } from "node:timers/promises";
import { open } from "../lib/loader.ts";
import { memoryOf } from "../lib/memory.ts";
import { cpuSeconds } from "../lib/process.ts";
import type { RunningSystem } from "./systems.ts";

const CONNECTIONS = 10_000;
const WARM_UP = 1000;
const CHANNEL_SIZE = 10;
const SETTLE_MS = 3000;
const LOOK_MS = 3000;

export interface IdleFigures {
  /** RSS per connection above the empty process; of all nodes, of nats-server. */
  readonly nodeBytes: number;
  readonly natsBytes: number;
  /** CPU of all nodes and of nats-server per connect and join. */
  readonly usPerConnect: number;
  /** CPU-seconds per second, for all connections together. */
  readonly nodeShare: number;
  readonly natsShare: number;
}

/** Each connection is a different peer, in channels of ten whose members are spread over all nodes. */
export async function measureIdle({ ports, nodePids, natsPids, dialect }: RunningSystem): Promise<IdleFigures> {
  const connect = (name: string, count: number) => {
    const connections = Array.from({ length: count }, (_, i) => ({
      script: dialect.subscriber(i, `${name}${Math.floor(i / CHANNEL_SIZE)}`, { metadata: false }),
      port: ports[i % ports.length] ?? ports[0],
    }));
    return open({ connections }, { port: ports[0], pids: [] });
  };
  const rss = (pids: readonly number[]): number => pids.reduce((total, pid) => total + memoryOf(pid).rss, 0);
  const cpu = (pids: readonly number[]): number => pids.reduce((total, pid) => total + cpuSeconds(pid), 0);
  const read = () => ({ node: rss(nodePids), nats: rss(natsPids) });

  await (await connect("warm", WARM_UP))[Symbol.asyncDispose]();
  await sleep(SETTLE_MS);
  const empty = read();
  const cpuBefore = cpu([...nodePids, ...natsPids]);
  await using _crowd = await connect("idle", CONNECTIONS);
  const connecting = cpu([...nodePids, ...natsPids]) - cpuBefore;
  await sleep(SETTLE_MS);
  const full = read();
  const [nodeBefore, natsBefore] = [cpu(nodePids), cpu(natsPids)];
  await sleep(LOOK_MS);
  const share = (seconds: number): number => seconds / (LOOK_MS / 1000);
  return {
    nodeBytes: (full.node - empty.node) / CONNECTIONS,
    natsBytes: (full.nats - empty.nats) / CONNECTIONS,
    usPerConnect: (connecting / CONNECTIONS) * 1e6,
    nodeShare: share(cpu(nodePids) - nodeBefore),
    natsShare: share(cpu(natsPids) - natsBefore),
  };
}
