/** Direct messages between three nodes, one of which is stopped for a while (SIGSTOP): each arrives at most once, and in order. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { tokenQuery } from "../conformance/raw/support/world.ts";
import type { SecretKey } from "../support/admin.ts";
import {
  closeByService,
  faultsOf,
  HastySender,
  type Placed,
  type Places,
  RULES,
  receivedBy,
  roundOf,
  type Stop,
} from "../support/direct-stops.ts";
import { selfSigned } from "../support/jwt.ts";
import type { Server } from "../support/parley.ts";
import { until } from "../support/wait.ts";
import type { Wire } from "../support/wire/wire.ts";
import { Cluster, connect } from "./support/cluster.ts";

/** Messages are sent before the stop and after it. */
const BEFORE_MS = 300;
const AFTER_MS = 500;
/** Longer than sends wait behind the answer that a peer is held, so that the next one is tried at once. */
const ANSWER_FORGOTTEN_MS = 800;

setDefaultTimeout(180_000);

const IS_FULL = process.env.PARLEY_TEST_FULL === "1";

describe.skipIf(!IS_FULL)("three nodes", () => {
  let cluster: Cluster;
  let key: SecretKey;
  beforeAll(async () => {
    cluster = await Cluster.start({ nodes: 3 });
    const [node] = cluster.pair;
    const app = await node.admin.createApp();
    await node.admin.must("PATCH", `/apps/${app._id}`, RULES);
    key = await node.admin.createKey(app._id);
    places = { url: node.url, credential: key.credential, connect: connectAt };
  });
  afterAll(() => cluster.stop());

  let places: Places;
  const connectAt = async (sub: string, index: number): Promise<Placed> => {
    const at = cluster.nodes[index];
    if (!at) throw new Error("there is no such node");
    const wire = await connect(at, tokenQuery(selfSigned(key.keyId, key.secret, { sub })));
    await wire.frame("welcome");
    return { wire, at };
  };

  test("a node that stops: no direct message to one of its peers finds no one while they come back to another", async () => {
    const [leaving] = await cluster.add(1);
    const at = cluster.nodes.indexOf(leaving as Server);
    const peers = Array.from({ length: 60 }, (_, n) => `moving-${n}`);
    const before = await Promise.all(peers.map((peer) => connectAt(peer, at)));
    const placed = await Promise.all([0, 1, 0, 1].map((index, n) => connectAt(`mover-${n}`, index)));
    const senders = peers.map((peer, n) => new HastySender(`to-${peer}`, placed[n % 4]?.wire as Wire, peer, 60));
    for (const sender of senders) sender.start();
    await Bun.sleep(BEFORE_MS);
    const stopped = leaving?.stop();
    const after = await Promise.all(
      before.map(async ({ wire }, n) => {
        await wire.closed();
        await Bun.sleep(1000 + 20 * n);
        const { wire: next } = await connectAt(peers[n] ?? "", n % 2);
        return next;
      }),
    );
    await stopped;
    await Bun.sleep(AFTER_MS);
    await Promise.all(senders.map((sender) => sender.stop()));
    const answers = new Set(senders.flatMap((sender) => [...sender.answers.values()]));
    expect([...answers]).toEqual(["ack"]);
    for (const [n, sender] of senders.entries()) {
      const wires = [before[n]?.wire as Wire, after[n] as Wire];
      await until("all have arrived", () => receivedBy(wires).length >= sender.sent);
      expect(faultsOf([sender], receivedBy(wires))).toEqual([]);
    }
  });

  test("a peer on two nodes: the connection that was closed by the service and is back misses nothing", async () => {
    const [sender, other, closed] = await Promise.all([
      connectAt("to-tabs", 0),
      connectAt("tabs", 1),
      connectAt("tabs", 2),
    ]);
    await closeByService(places, closed.wire, "kept-tabs");
    const send = ({ wire }: Placed, n: number) => wire.request({ type: "send", to: "tabs", data: n });
    // The node that expects it back answers that it is held; the other one delivers it.
    expect((await send(sender, 0)).type).toBe("ack");
    expect(await send(other, 0)).toMatchObject({ code: "peer_not_found" });
    const back = await connectAt("tabs", 2);
    await Bun.sleep(ANSWER_FORGOTTEN_MS);
    for (let n = 1; n <= 4; n++) {
      expect((await send(sender, n)).type).toBe("ack");
      for (const { wire } of [other, back]) await wire.until("direct", ({ data }) => data === n);
    }
    // From one of its own connections to the other.
    expect((await send(other, 5)).type).toBe("ack");
    await back.wire.until("direct", ({ data }) => data === 5);
    const got = back.wire.frames.flatMap((frame) => (frame.type === "direct" ? [frame.data] : []));
    expect(got).toEqual([1, 2, 3, 4, 5]);
  });

  let rounds = 0;
  // 12 s: longer than NATS waits for a client that does not read, and the store for one that holds locks (10 s).
  const stops: Stop["of"][] = ["receiver", "sender", "holder"];
  for (const of of stops)
    for (const isHeld of [true, false])
      for (const ms of isHeld ? [400, 2900] : [400, 1500, 2900, 12_000])
        test(`the ${of}'s is stopped for ${ms} ms${isHeld ? ", and the receiver was expected back" : ""}`, async () => {
          const { faults, received } = await roundOf(places, `peer-${++rounds}`, isHeld, { of, ms });
          expect(faults).toEqual([]);
          expect(received).toBeGreaterThan(20);
        });
});
