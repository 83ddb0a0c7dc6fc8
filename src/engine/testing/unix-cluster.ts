/** For tests: engines of workers that are joined by Unix sockets, in a folder of their own. */
import { ClusterEngine, type ClusterOptions } from "../cluster/cluster-engine.ts";
import type { UnixOptions } from "../transport/unix.ts";
import type { Cluster } from "./cluster.ts";
import { UnixFolder } from "./unix-folder.ts";

/** A request can cause a response, which can cause a request: each round takes everything one hop further. */
const ROUNDS = 5;
const HEARTBEAT_MS = 500;

export interface UnixCluster extends Cluster {
  readonly engines: readonly ClusterEngine[];
  readonly folder: UnixFolder;
}

export async function unixCluster(
  nodes: number,
  options: Partial<ClusterOptions> = {},
  transport: Partial<UnixOptions> = {},
): Promise<UnixCluster> {
  const folder = new UnixFolder();
  const engines: ClusterEngine[] = [];
  for (let i = 0; i < nodes; i++)
    engines.push(
      new ClusterEngine(await folder.join(transport), { prefix: "test", heartbeatMs: HEARTBEAT_MS, ...options }),
    );
  const flush = async (): Promise<void> => {
    for (const engine of engines) await engine.flush();
  };
  return {
    engines,
    folder,
    step: flush,
    settle: async () => {
      for (let round = 0; round < ROUNDS; round++) await flush();
    },
    stop: () => folder.remove(),
  };
}
