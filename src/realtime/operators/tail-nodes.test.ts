import { describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import {
  LEASE_MS,
  READ_ROLE_READERS_MAX,
  READERS_MAX,
  READERS_PER_ADMIN_MAX,
  READERS_PER_READ_OPERATOR_MAX,
  REMOTE_READ_ROLE_READERS_MAX,
  REMOTE_READERS_MAX,
} from "../../telemetry/tail/limits.ts";
import { TailCluster, type TailTestNode } from "../testing/tail-cluster.ts";

const A = anAppId("a");
const CLOSED = anAppId("closed");

function clusterOf(...ids: string[]) {
  const cluster = new TailCluster(...ids);
  const node = (at: number): TailTestNode => {
    const found = cluster.nodes[at];
    if (!found) throw new Error(`there is no node ${at}`);
    return found;
  };
  return { cluster, node };
}

describe("over several nodes", () => {
  test("a reader gets the events of all nodes, filtered where they happen", async () => {
    const { cluster, node } = clusterOf("n1", "n2", "n3");
    const reader = node(0).open({ channel: "chat/*" });
    expect(await reader.open.nodes).toBe(3);
    for (const one of cluster.nodes) {
      one.publish(A, `chat/${one.id}`);
      one.publish(A, "other");
    }
    await cluster.pass(200);
    expect(reader.events.map(({ nodeId, channel }) => `${nodeId} ${channel}`).sort()).toEqual([
      "n1 chat/n1",
      "n2 chat/n2",
      "n3 chat/n3",
    ]);
    expect(cluster.sent.join()).not.toContain("other");
  });

  test("closing it ends the work on all nodes at once", async () => {
    const { cluster, node } = clusterOf("n1", "n2");
    const [one, other] = [node(0).open(), node(0).open({ channel: "x" })];
    await other.open.nodes;
    one.open.close();
    await cluster.pass(100);
    expect([node(0).tail.size, node(1).tail.size]).toEqual([1, 1]);
    other.open.close();
    await cluster.pass(100);
    expect([node(0).listener, node(1).listener]).toEqual([undefined, undefined]);
    const { waiting } = cluster.clock;
    await cluster.pass(20_000);
    expect(cluster.clock.waiting).toBeLessThanOrEqual(waiting);
    expect(cluster.clock.waiting).toBe(0);
  });

  test("the lease is renewed while there is a reader, and ends when its node is gone", async () => {
    const { cluster, node } = clusterOf("n1", "n2");
    await node(0).open().open.nodes;
    await cluster.pass(30_000);
    expect(node(1).tail.size).toBe(1);
    node(0).isCut = true;
    await cluster.pass(LEASE_MS - 2500);
    expect(node(1).tail.size).toBe(1);
    await cluster.pass(3500);
    expect(node(1).listener).toBeUndefined();
    await cluster.pass(1000);
    expect(cluster.clock.waiting).toBe(0);
  });

  test("a node that joins later gathers from the next renewal on", async () => {
    const { cluster, node } = clusterOf("n1", "n2");
    node(1).isCut = true;
    const reader = node(0).open();
    expect(await reader.open.nodes).toBe(1);
    node(1).isCut = false;
    await cluster.pass(2100);
    node(1).publish(A, "c");
    await cluster.pass(200);
    expect(reader.events).toMatchObject([{ nodeId: "n2" }]);
  });

  test("an older request that arrives late does not bring a reader back", async () => {
    const { node } = clusterOf("n1", "n2");
    const request = (version: number, readers: object[]): Promise<string> =>
      node(1).requests.respond(JSON.stringify({ name: "tail", payload: { from: "n1", version, readers } }));
    const reader = { id: "r", query: { payloads: false } };
    await request(1, [reader]);
    await request(3, []);
    await request(2, [reader]);
    expect(node(1).tail.size).toBe(0);
  });

  test("what is lost on the way is counted when the next batch arrives", async () => {
    const { cluster, node } = clusterOf("n1", "n2");
    const reader = node(0).open();
    await reader.open.nodes;
    cluster.isLossy = true;
    for (let i = 0; i < 7; i++) node(1).publish(A, "c");
    await cluster.pass(100);
    cluster.isLossy = false;
    node(1).publish(A, "c");
    await cluster.pass(200);
    expect([reader.events.length, reader.dropped]).toEqual([1, 7]);
  });

  test("all nodes together fill at most a batch, and the rest is counted", async () => {
    const { cluster, node } = clusterOf("n1", "n2", "n3");
    const reader = node(0).open();
    await reader.open.nodes;
    for (const one of cluster.nodes) for (let i = 0; i < 500; i++) one.publish(A, "c");
    await cluster.pass(300);
    expect(reader.events.length).toBeLessThanOrEqual(600);
    expect(reader.events.length + reader.dropped).toBe(1500);
  });

  test("payloads come from other nodes only for readers and applications that may have them", async () => {
    const { cluster, node } = clusterOf("n1", "n2");
    const [admin, other] = [node(0).open({ payloads: true }), node(0).open()];
    await other.open.nodes;
    node(1).publish(anAppId("open"), "c", "ann", '{"a":1}');
    node(1).publish(CLOSED, "c", "ann", '{"a":2}');
    await cluster.pass(200);
    expect(admin.events.map(({ data }) => data)).toEqual([{ a: 1 }, undefined]);
    expect(other.events.map(({ data }) => data)).toEqual([undefined, undefined]);
  });
});

describe("bounds", () => {
  test.each([
    ["admin", true, READERS_PER_ADMIN_MAX],
    ["read", false, READERS_PER_READ_OPERATOR_MAX],
  ])("one operator of the role %s cannot take the places of the others", (role, payloads, max) => {
    const { node } = clusterOf("n1");
    const readers = Array.from({ length: max }, () => node(0).open({ payloads }, "ann"));
    expect(() => node(0).open({ payloads }, "ann")).toThrow(
      `each operator of the role ${role} with at most ${max} readers`,
    );
    expect(() => node(0).open({ payloads }, "ben")).not.toThrow();
    readers[0]?.open.close();
    expect(() => node(0).open({ payloads }, "ann")).not.toThrow();
  });

  test("operators of the role read leave places for admins, however many they are", () => {
    const { node } = clusterOf("n1");
    const readers = Array.from({ length: READ_ROLE_READERS_MAX }, (_, i) => node(0).open({}, `operator ${i}`));
    expect(() => node(0).open({}, "one more")).toThrow(
      "all operators of the role read together with at most 12 readers",
    );
    for (let i = READ_ROLE_READERS_MAX; i < READERS_MAX; i++) node(0).open({ payloads: true }, "admin");
    readers[0]?.open.close();
    expect(() => node(0).open({}, "one more")).not.toThrow();
  });

  test(`a node serves ${READERS_MAX} readers, and refuses more with a sentence`, () => {
    const { node } = clusterOf("n1");
    const readers = Array.from({ length: READERS_MAX }, (_, i) => node(0).open({ payloads: true }, `operator ${i}`));
    expect(() => node(0).open()).toThrow("at most 20 readers");
    readers[0]?.open.close();
    expect(() => node(0).open()).not.toThrow();
  });

  test("a node gathers for a bounded number of readers of other nodes", async () => {
    const { node } = clusterOf("n1");
    let version = 0;
    const ask = async (payloads: boolean, count = READERS_MAX): Promise<number> => {
      version++;
      const readers = Array.from({ length: count }, (_, id) => ({ id: `r${id}`, query: { payloads } }));
      for (const at of ["a", "b", "c", "d"]) {
        const payload = { from: `${at} ${payloads}`, version, readers };
        await node(0).requests.respond(JSON.stringify({ name: "tail", payload }));
      }
      return node(0).tail.size;
    };
    expect(await ask(false)).toBe(REMOTE_READ_ROLE_READERS_MAX);
    expect(await ask(true)).toBe(REMOTE_READERS_MAX);
    expect(await ask(true, 0)).toBe(REMOTE_READ_ROLE_READERS_MAX);
    expect(await ask(false, 0)).toBe(0);
    expect(await ask(false)).toBe(REMOTE_READ_ROLE_READERS_MAX);
  });

  test("a node that stops ends its readers, and takes no others", async () => {
    const { cluster, node } = clusterOf("n1", "n2");
    const reader = node(0).open();
    await reader.open.nodes;
    node(0).publish(A, "c");
    node(0).tails.close();
    expect(reader).toMatchObject({ isEnded: true, events: [{ kind: "publish" }] });
    expect(() => node(0).open()).toThrow("shutting down");
    node(1).open();
    await cluster.pass(100);
    expect(node(0).tail.size).toBe(1);
  });
});

describe("what another node sends", () => {
  const query = { payloads: false };
  test.each([
    ["no object", 5],
    ["no readers", { from: "x", version: 1 }],
    ["too many readers", { from: "x", version: 1, readers: Array(READERS_MAX + 1).fill({ id: "r", query }) }],
    ["a long name", { from: "x".repeat(65), version: 1, readers: [] }],
    ["no version", { from: "x", readers: [] }],
    ["a reader without an id", { from: "x", version: 1, readers: [{ query }] }],
    ["a filter of the wrong type", { from: "x", version: 1, readers: [{ id: "r", query: { app: {} } }] }],
    ["a malformed pattern", { from: "x", version: 1, readers: [{ id: "r", query: { channel: "***" } }] }],
    ["too many kinds", { from: "x", version: 1, readers: [{ id: "r", query: { kinds: Array(50).fill("send") } }] }],
  ])("is refused as a request: %s", async (_what, payload) => {
    const { node } = clusterOf("n1");
    await expect(node(0).requests.respond(JSON.stringify({ name: "tail", payload }))).rejects.toThrow();
    expect(node(0).tail.size).toBe(0);
  });

  test("cannot put into a stream what is no event, or more than is known of one", async () => {
    const { cluster, node } = clusterOf("n1");
    const reader = node(0).open({ payloads: true });
    await reader.open.nodes;
    const [id] = await node(0)
      .requests.respond(JSON.stringify({ name: "tail", payload: { from: "n1", version: 9, readers: [] } }))
      .then((text) => JSON.parse(text).watching as string[]);
    const event = { at: 1, kind: "publish", app: CLOSED, nodeId: "n2" };
    const lines = [
      "not json",
      JSON.stringify({ ...event, kind: "explode" }),
      JSON.stringify({ ...event, nodeId: 5 }),
      JSON.stringify({ ...event, token: "secret", channel: { a: 1 }, peerId: "x".repeat(300), data: "hidden" }),
    ];
    const send = (payload: object): void =>
      node(0).requests.notified("n2", JSON.stringify({ name: "tail events", payload }));
    send({ reader: id, lines, total: 4 });
    expect(() => send({ reader: id, lines: Array(500).fill("{}"), total: 1 })).toThrow();
    expect(() => send({ reader: id, lines: ["x".repeat(40_000)], total: 1 })).toThrow();
    expect(() => send({ reader: "unknown", lines: [], total: 0 })).not.toThrow();
    await cluster.pass(200);
    expect([reader.events, reader.dropped]).toEqual([[event], 3]);
  });
});
