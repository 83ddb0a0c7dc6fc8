/** For tests: engines on one nats-server, in an installation of their own. */

import { NatsEngine, type NatsOptions } from "../cluster/cluster-engine.ts";
import type { Cluster } from "./cluster.ts";
import type { NatsServer } from "./nats-server.ts";

const ROUNDS = 5;
const BEAT_MS = 500;

let installations = 0;

export interface NatsCluster extends Cluster {
  readonly engines: readonly NatsEngine[];
  /** One more in the same installation. */
  add(options?: Partial<NatsOptions>): Promise<NatsEngine>;
}

export async function natsCluster(
  server: Pick<NatsServer, "url">,
  nodes: number,
  options: Partial<NatsOptions> = {},
): Promise<NatsCluster> {
  const prefix = `t${process.pid}-${++installations}`;
  const engines: NatsEngine[] = [];
  const add = async (more: Partial<NatsOptions> = {}): Promise<NatsEngine> => {
    const name = `test ${engines.length}`;
    const engine = await NatsEngine.connect({ url: server.url, name, prefix, beatMs: BEAT_MS, ...options, ...more });
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
    // An answer to an answer to what was given: each round takes everything one way further.
    settle: async () => {
      for (let round = 0; round < ROUNDS; round++) await flush();
    },
    stop: async () => {
      for (const engine of engines) await engine.close();
    },
  };
}
