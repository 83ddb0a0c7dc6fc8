/** The payload limit of NATS, beyond the engine's suite: lost parts, long questions, a limit that changes. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { NatsConnection } from "@nats-io/transport-node";
import { CHANNEL_MAX_BYTES, MESSAGE_MAX_BYTES } from "../../protocol/limits.ts";
import { type MemberState, UNAVAILABLE } from "../engine.ts";
import { Nodes } from "../testing/cluster.ts";
import { type NatsCluster, natsCluster } from "../testing/nats-cluster.ts";
import { freePort, type NatsServer, startNats } from "../testing/nats-server.ts";
import { APP, plain, TestNode } from "../testing/test-node.ts";
import type { Link } from "../transport/nats.ts";
import { NatsEngine } from "./cluster-engine.ts";
import { MESSAGE_MAX_CHARS } from "./payload.ts";

const NARROW = "max_payload: 64KB";
const WAIT_MS = 15_000;

let server: NatsServer;
beforeAll(async () => {
  server = await startNats([], undefined, NARROW);
});
afterAll(() => server?.stop());

let nodes: Nodes | undefined;
afterEach(async () => {
  const open = nodes;
  nodes = undefined;
  open?.check();
  await open?.stop();
});

async function pair(
  at: Pick<NatsServer, "url"> = server,
): Promise<{ ann: TestNode; ben: TestNode; faults: unknown[] }> {
  const faults: unknown[] = [];
  const made = await Nodes.of((size) => natsCluster(at, size, { fault: (error) => faults.push(error) }), 2);
  nodes = made;
  const [ann, ben] = made.all as [TestNode, TestNode];
  return { ann, ben, faults };
}

const settle = async (): Promise<void> => nodes?.settle();

async function until(isSo: () => boolean): Promise<void> {
  const end = performance.now() + WAIT_MS;
  while (!isSo()) {
    if (performance.now() > end) throw new Error("the condition did not become true in time");
    await settle();
    await Bun.sleep(10);
  }
}

const members = (count: number): MemberState[] =>
  Array.from({ length: count }, (_, at) => ({
    peerId: `p${at}`,
    since: at,
    metadataJson: `{"x":"${"x".repeat(4000)}"}`,
  }));

/** Drops payloads that a node publishes to channels, by their position. */
function lose(node: TestNode, isLost: (at: number) => boolean): { readonly given: number } {
  const link = Reflect.get(node.engine, "link") as object;
  const connection = Reflect.get(link, "connection") as NatsConnection;
  const publish = connection.publish.bind(connection);
  const count = { given: 0 };
  connection.publish = (subject, payload, options) => {
    if (subject.includes(".lane.") && isLost(count.given++)) return;
    publish(subject, payload, options);
  };
  return count;
}

describe("a part that is lost on the way", () => {
  test.each([
    ["in the middle", (at: number) => at === 3],
    ["at the end", (at: number) => at > 10],
  ])("%s of an announcement is noticed and asked for", async (_where, isLost) => {
    const { ann, ben, faults } = await pair();
    await ben.watch("c");
    const states = members(100);
    let isOn = true;
    const count = lose(ann, (at) => isOn && isLost(at));
    ann.joinAll("c", states);
    isOn = false;
    expect(count.given).toBeGreaterThan(10);
    await until(() => ben.picture("c")[ann.id]?.length === states.length);
    expect(ben.picture("c")).toEqual(plain([[ann.id, states]]));
    expect([ben.losses, faults]).toEqual([[], []]);
  });

  test.each([0, 1])("of a large message, fragment %d, is noticed and asked for", async (lost) => {
    const { ann, ben, faults } = await pair();
    await ben.watch("c");
    const count = lose(ann, (at) => at === lost);
    ann.filling = '"'.repeat(MESSAGE_MAX_BYTES / 2);
    const said = [ann.say("c")];
    expect(count.given).toBe(2);
    ann.filling = "";
    said.push(ann.say("c"));
    await until(() => ben.heardOn("c").length === 2);
    expect([ben.heardOn("c"), ben.losses, faults]).toEqual([said, [], []]);
  });
});

test("a node that comes late is asked about very many channels with long names", async () => {
  const cluster: NatsCluster = await natsCluster(server, 1);
  const made = await Nodes.of(async () => cluster, 1);
  nodes = made;
  const [ann] = made.all as [TestNode];
  // Quotes double as JSON: 250 KB altogether.
  const channels = Array.from({ length: 500 }, (_, at) => `${at} `.padEnd(CHANNEL_MAX_BYTES, '"'));
  for (const channel of channels) await ann.watch(channel);
  const ben = new TestNode("late", await cluster.add());
  ben.engine.attach(ben);
  for (const channel of channels) ben.join(channel, "eve", 1);
  const known = (): number => channels.filter((channel) => ann.picture(channel)[ben.id]?.length === 1).length;
  await until(() => known() === channels.length);
});

test("a server with a smaller limit, found on reconnect, takes what the one before took", async () => {
  const port = await freePort();
  let running = await startNats([], port);
  try {
    const { ann, ben, faults } = await pair(running);
    await ben.watch("c");
    const isUp = (): boolean => [ann, ben].every(({ engine }) => (engine as NatsEngine).isUp);
    await running.stop();
    await until(() => !isUp());
    const states = members(300);
    // Announced while the link is down: it gets sequence numbers and is asked for later.
    ann.joinAll("c", states.slice(0, 200));
    running = await startNats([], port, NARROW);
    await until(isUp);
    ann.joinAll("c", states);
    ann.filling = "x".repeat(MESSAGE_MAX_BYTES);
    const said = ann.say("c");
    await until(() => ben.picture("c")[ann.id]?.length === states.length && ben.heardOn("c").includes(said));
    expect(faults).toEqual([]);
    await nodes?.stop();
    nodes = undefined;
  } finally {
    await running.stop();
  }
});

describe("an answer that does not come", () => {
  test("is no empty list: neither of channels nor of members", async () => {
    const { ann, ben } = await pair();
    ben.join("c", "eve", 1);
    await settle();
    const [channels, peers] = [ben.localChannels, ben.localPeers];
    const silent = (): never => {
      throw new Error("planted");
    };
    [ben.localChannels, ben.localPeers] = [silent, silent];
    const answers = await Promise.all([ann.engine.channels(APP), ann.engine.members(APP, "c")]);
    expect(answers).toEqual([undefined, undefined]);
    [ben.localChannels, ben.localPeers] = [channels, peers];
    expect(await ann.engine.channels(APP)).toEqual([{ channel: "c", peerIds: ["eve"], connections: 1 }]);
    // A node that has gone owes no answer.
    await nodes?.close(ben);
    await settle();
    expect(await ann.engine.channels(APP)).toEqual([]);
  });

  test("because NATS is away neither", async () => {
    const own = await startNats();
    const { ann } = await pair(own);
    await own.stop();
    await until(() => !(ann.engine as NatsEngine).isUp);
    expect(await ann.engine.channels(APP)).toBeUndefined();
    expect(await ann.engine.members(APP, "c")).toBeUndefined();
    await nodes?.stop();
    nodes = undefined;
  });
});

test("a message larger than any legal one is refused before it gets a sequence number", async () => {
  const { ann, ben, faults } = await pair();
  ben.hold("eve", 1);
  await ben.watch("c");
  const envelope = { from: "x", metadataJson: undefined, dataJson: `"${"x".repeat(MESSAGE_MAX_CHARS)}"` };
  expect(ann.engine.publish(APP, "c", envelope)).toBeFalse();
  expect(await ann.engine.send(APP, "eve", envelope, false)).toBe(UNAVAILABLE);
  const said = ann.say("c");
  await settle();
  expect([ben.heardOn("c"), ben.losses, faults]).toEqual([[said], [], []]);
});

test("a subject longer than the server takes is not sent, and the link stays up", async () => {
  const { ann, ben, faults } = await pair();
  await ben.watch("c");
  const link = Reflect.get(ann.engine, "link") as Link;
  link.publish(`t.${"x".repeat(5000)}`, "[]");
  link.publish("t", "[]", `t.${"x".repeat(5000)}`);
  const said = ann.say("c");
  await until(() => ben.heardOn("c").length === 1);
  expect([ben.heardOn("c"), faults.length]).toEqual([[said], 2]);
});

describe("a server whose limit is", () => {
  const connect = async (config: string): Promise<string[]> => {
    const small = await startNats([], undefined, config);
    const warnings: string[] = [];
    try {
      const options = { url: small.url, name: "test", prefix: "t", warn: (text: string) => warnings.push(text) };
      await (await NatsEngine.connect(options)).close();
      return warnings;
    } finally {
      await small.stop();
    }
  };

  test("small is named in a warning, with what to set", async () => {
    expect(await connect("max_payload: 4096")).toEqual([
      expect.stringContaining("max_payload of the NATS server is 4096 bytes"),
    ]);
    expect(await connect(NARROW)).toEqual([]);
  });

  test("too small for anything is refused", async () => {
    await expect(connect("max_payload: 512")).rejects.toThrow("its max_payload is 512 bytes, at least 1024 are needed");
  });
});
