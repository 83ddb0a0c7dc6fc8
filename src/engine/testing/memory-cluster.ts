/** For tests: engines on one transport in memory. */
import { ClusterEngine, type ClusterOptions } from "../cluster/cluster-engine.ts";
import type { Cluster } from "./cluster.ts";
import { MemoryNetwork, type MemoryTransport } from "./memory-transport.ts";

export interface MemoryCluster extends Cluster {
  readonly engines: readonly ClusterEngine[];
  readonly transports: readonly MemoryTransport[];
}

export async function memoryCluster(
  nodes: number,
  options: Partial<ClusterOptions> = {},
  network = new MemoryNetwork(),
): Promise<MemoryCluster> {
  const transports = Array.from({ length: nodes }, () => network.connect());
  const engines = transports.map((transport) => new ClusterEngine(transport, { prefix: "test", ...options }));
  const step = async (): Promise<void> => {
    network.deliverAll();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    engines,
    transports,
    step,
    settle: async () => {
      do await step();
      while (!network.isIdle);
    },
    stop: async () => {},
  };
}
