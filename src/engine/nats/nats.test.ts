/** The engine's suite against a real nats-server. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Cluster } from "../cluster.ts";
import { engineContract } from "../contract.ts";
import { APP, TestNode } from "../test-node.ts";
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

test("whatever is given while it closes, and after, is no fault", async () => {
  const engine = await NatsEngine.connect({ url: server.url, name: "test", prefix: `t${++installation}`, beatMs: 500 });
  const node = new TestNode("n", engine);
  engine.attach(node);
  let isOver = false;
  const closing = engine.close().then(() => {
    isOver = true;
  });
  const give = (i: number): void => {
    engine.announce(APP, "c", [], ["eve"]);
    engine.counted(APP, i);
    engine.publish(APP, "c", { from: "eve", metadataJson: undefined, dataJson: "1" });
    engine.hold(APP, `eve${i}`);
    engine.release(APP, `eve${i}`);
    engine.watch(APP, `c${i}`, () => undefined);
    engine.unwatch(APP, `c${i}`);
  };
  for (let i = 0; !isOver; i++) {
    give(i);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await closing;
  expect(() => give(-1)).not.toThrow();
});
