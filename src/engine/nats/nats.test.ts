/** The engine's suite against a real nats-server. */
import { afterAll, beforeAll } from "bun:test";
import type { Cluster } from "../cluster.ts";
import { engineContract } from "../contract.ts";
import { NatsEngine } from "./nats.ts";
import { type NatsServer, startNats } from "./test-server.ts";

let server: NatsServer;
let installation = 0;

beforeAll(async () => {
  server = await startNats();
});
afterAll(() => server?.stop());

const ROUNDS = 5;

async function cluster(nodes: number): Promise<Cluster> {
  const prefix = `t${++installation}`;
  const engines: NatsEngine[] = [];
  for (let i = 0; i < nodes; i++)
    engines.push(await NatsEngine.connect({ url: server.url, name: `test ${i}`, prefix, beatMs: 500 }));
  const flush = async (): Promise<void> => {
    for (const engine of engines) await engine.flush().catch(() => undefined);
  };
  return {
    engines,
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

engineContract("NATS", cluster, { runs: 300 });
