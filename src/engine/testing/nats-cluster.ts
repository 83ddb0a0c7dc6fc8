/** For tests: engines on one nats-server, in an installation of their own. */
import { ClusterEngine, type ClusterOptions } from "../cluster/cluster-engine.ts";
import { NatsTransport } from "../transport/nats.ts";
import type { Cluster } from "./cluster.ts";
import type { NatsServer } from "./nats-server.ts";

/** A request can cause a response, which can cause a request: each round takes everything one hop further. */
const ROUNDS = 5;
const HEARTBEAT_MS = 500;

let installations = 0;

export interface NatsCluster extends Cluster {
  readonly engines: readonly ClusterEngine[];
  /** Adds an engine to the installation. */
  add(options?: Partial<ClusterOptions>): Promise<ClusterEngine>;
}

export async function natsCluster(
  server: Pick<NatsServer, "url">,
  nodes: number,
  options: Partial<ClusterOptions> = {},
): Promise<NatsCluster> {
  const prefix = `t${process.pid}-${++installations}`;
  const engines: ClusterEngine[] = [];
  const add = async (more: Partial<ClusterOptions> = {}): Promise<ClusterEngine> => {
    const transport = await NatsTransport.connect({ url: server.url, name: `test ${engines.length}` });
    const engine = new ClusterEngine(transport, { prefix, heartbeatMs: HEARTBEAT_MS, ...options, ...more });
    engines.push(engine);
    return engine;
  };
  for (let i = 0; i < nodes; i++) await add();
  const flush = async (): Promise<void> => {
    for (const engine of engines) await engine.flush().catch(() => undefined);
  };
  return {
    engines,
    add,
    step: flush,
    settle: async () => {
      for (let round = 0; round < ROUNDS; round++) await flush();
    },
    stop: async () => {
      for (const engine of engines) await engine.close();
    },
  };
}
