/** Part of the engine's suite: texts above the payload limit of the transport. Clients can cause every size used here. */
import { expect, test } from "bun:test";
import { TOKEN_PEER_METADATA_MAX_BYTES } from "../../access/limits.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { MESSAGE_MAX_BYTES, PEER_ID_MAX_CHARS } from "../../protocol/limits.ts";
import type { MemberState, Sent } from "../engine.ts";
import { LATE, type Start } from "./cluster.ts";
import { plain } from "./rosters.ts";
import { APP } from "./test-node.ts";

/** The default payload limit of NATS. */
export const NATS_PAYLOAD_MAX_BYTES = 1024 * 1024;
/** Texts have this many times the payload limit, and at least as many bytes as the smallest sample. */
const ABOVE = 1.15;
const SAMPLE_MIN_BYTES = 32 * 1024;

const longName = (at: number): string => `${at} `.padEnd(PEER_ID_MAX_CHARS, "x");

/** The largest legal metadata, with quotes, which are escaped in each layer of JSON, and characters of three bytes. */
const metadata = (at: number): string => {
  const text = `{"at":${at},"q":"${'\\"'.repeat(500)}","w":"${"€".repeat(1000)}"}`;
  return `${text.slice(0, -2)}${"x".repeat(TOKEN_PEER_METADATA_MAX_BYTES - Buffer.byteLength(text))}"}`;
};

const withMetadata = (length: number): MemberState[] =>
  Array.from({ length }, (_, at) => ({ peerId: `p${at}`, since: at, node: "elsewhere", metadataJson: metadata(at) }));

const withLongNames = (length: number): MemberState[] =>
  Array.from({ length }, (_, at) => ({ peerId: longName(at), since: at, node: "elsewhere", metadataJson: undefined }));

/** `payloadBytes`: what the transport takes. With PARLEY_TEST_FULL all transports carry what is too large for the widest one. */
export function sizes(start: Start, size: number, payloadBytes: number): void {
  const limit = process.env.PARLEY_TEST_FULL ? NATS_PAYLOAD_MAX_BYTES : Math.max(payloadBytes, SAMPLE_MIN_BYTES);
  const metadataCount = Math.ceil((ABOVE * limit) / TOKEN_PEER_METADATA_MAX_BYTES);
  const nameCount = Math.ceil((ABOVE * limit) / PEER_ID_MAX_CHARS);

  test("an announcement arrives complete and in order", async () => {
    const { nodes, nodeA, nodeB } = await start();
    await nodeB.watch("c");
    const states = withMetadata(metadataCount);
    nodeA.publish("c");
    nodeA.joinAll("c", states);
    const after = nodeA.publish("c");
    await nodes.settle();
    expect(nodeB.roster("c")).toEqual(plain([[nodeA.id, states]]));
    expect([nodeB.log.length, nodeB.log.at(-1)]).toEqual([states.length + 2, `${after} on c`]);
  });

  test("a leave of many members arrives complete", async () => {
    const { nodes, nodeA, nodeB } = await start();
    nodeA.joinAll("c", withLongNames(nameCount));
    await nodeB.watch("c");
    expect(nodeB.roster("c")[nodeA.id]).toHaveLength(nameCount);
    nodeA.leaveAll("c");
    await nodes.settle();
    expect(nodeB.roster("c")).toEqual({});
  });

  test("the results of watch, channels and members arrive complete", async () => {
    const { nodes, nodeA, nodeB } = await start();
    const [large, many] = [withMetadata(metadataCount), withLongNames(nameCount)];
    nodeA.joinAll("large", large);
    nodeA.joinAll("many", many);
    await nodes.settle();
    await nodeB.watch("large");
    expect(nodeB.roster("large")).toEqual(plain([[nodeA.id, large]]));
    const members = await nodes.answer(nodeB.engine.members(APP, "large"));
    expect(members === LATE || members === undefined ? members : plain(members)).toEqual(plain([[nodeA.id, large]]));
    expect(await nodes.answer(nodeB.engine.channels(APP))).toEqual({
      counts: [
        { channel: "large", peerIds: large.map(({ peerId }) => peerId), connections: large.length },
        { channel: "many", peerIds: many.map(({ peerId }) => peerId), connections: many.length },
      ],
      steps: 2,
    });
  });

  test("the connections of very many applications arrive complete", async () => {
    const { nodes, nodeA } = await start();
    const apps = Array.from({ length: nameCount }, (_, at) => anAppId(longName(at).replaceAll(" ", "-")));
    for (const node of nodes.others(nodeA)) for (const app of apps) node.setConnections("eve", 1, app);
    const isKnown = (app = anAppId("")): boolean => nodeA.engine.connections(app) === size - 1;
    expect(await nodes.until(() => isKnown(apps[0]) && isKnown(apps.at(-1)))).toBeTrue();
    expect(apps.filter((app) => !isKnown(app))).toEqual([]);
    // A later count replaces all earlier ones, also of applications that have no connections any more.
    for (const node of nodes.others(nodeA)) node.disconnectAll();
    expect(await nodes.until(() => nodeA.engine.connections(apps[0] ?? APP) === 0)).toBeTrue();
  });

  test("the largest message and the largest direct message arrive, in order with small ones", async () => {
    const { nodes, nodeA, nodeB } = await start();
    nodeB.setConnections("eve", 1);
    await nodeB.watch("c");
    const published: string[] = [];
    const sent: string[] = [];
    const counts: Sent[] = [];
    for (const padding of ["", "€".repeat(MESSAGE_MAX_BYTES / 3), '"'.repeat(MESSAGE_MAX_BYTES / 2), ""]) {
      nodeA.padding = padding;
      published.push(nodeA.publish("c"));
      const direct = nodeA.send("eve");
      sent.push(direct.name);
      counts.push(direct.count);
    }
    expect(await nodes.answer(Promise.all(counts))).toEqual([1, 1, 1, 1]);
    expect([nodeB.receivedOn("c"), nodeB.deliveredTo("eve")]).toEqual([published, sent]);
    // A peer without connections: every node must be asked.
    nodeA.padding = '"'.repeat(MESSAGE_MAX_BYTES / 2);
    expect(await nodes.answer(nodeA.send("absent").count)).toBe(0);
  });
}
