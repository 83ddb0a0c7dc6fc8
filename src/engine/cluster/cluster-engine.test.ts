/**
 * The engine's suite against a real nats-server with payloads of 64 KiB, in full runs also with its default limit of 1 MiB; and
 * against a transport in memory with the smallest payload limit that a transport may have.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { engineSuite } from "../testing/engine.suite.ts";
import { memoryCluster } from "../testing/memory-cluster.ts";
import { natsCluster } from "../testing/nats-cluster.ts";
import { type NatsServer, startNats } from "../testing/nats-server.ts";
import { NATS_PAYLOAD_MAX_BYTES } from "../testing/suite-sizes.ts";
import { APP, TestNode } from "../testing/test-node.ts";

let server: NatsServer;
let narrow: NatsServer;

beforeAll(async () => {
  [server, narrow] = await Promise.all([startNats(), startNats([], undefined, "max_payload: 64KB")]);
});
afterAll(() => Promise.all([server?.stop(), narrow?.stop()]));

if (process.env.PARLEY_TEST_FULL)
  engineSuite("NATS", (nodes) => natsCluster(server, nodes), { runs: 300, payloadBytes: NATS_PAYLOAD_MAX_BYTES });
engineSuite("NATS with payloads of 64 KiB", (nodes) => natsCluster(narrow, nodes), { runs: 200, payloadBytes: 65_536 });

engineSuite("a transport in memory with payloads of 1 KiB", (nodes) => memoryCluster(nodes));

test("calls while it closes and afterwards throw nothing and report no fault", async () => {
  const faults: unknown[] = [];
  const cluster = await natsCluster(server, 1, { fault: (error) => faults.push(error) });
  const [engine] = cluster.engines;
  if (!engine) throw new Error("there is no engine");
  engine.attach(new TestNode("n", engine));
  let isClosed = false;
  const closing = engine.close().then(() => {
    isClosed = true;
  });
  const callAll = (i: number): void => {
    engine.announce(APP, "c", [], ["eve"]);
    engine.counted(APP, i);
    engine.publish(APP, "c", { from: "eve", metadataJson: undefined, dataJson: "1" });
    engine.serve(APP, `eve${i}`);
    engine.release(APP, `eve${i}`);
    engine.watch(APP, `c${i}`, () => undefined);
    engine.unwatch(APP, `c${i}`);
  };
  for (let i = 0; !isClosed; i++) {
    callAll(i);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await closing;
  expect(() => callAll(-1)).not.toThrow();
  expect(faults).toEqual([]);
});
