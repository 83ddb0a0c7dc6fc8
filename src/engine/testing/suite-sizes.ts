/** Part of the engine's suite: what is larger than one payload of the transport. Clients can cause every size used here. */
import { expect, test } from "bun:test";
import { TOKEN_PEER_METADATA_MAX_BYTES } from "../../access/limits.ts";
import { MESSAGE_MAX_BYTES, PEER_ID_MAX_CHARS } from "../../protocol/limits.ts";
import type { MemberState } from "../engine.ts";
import { type Begin, LATE } from "./cluster.ts";
import { APP, plain } from "./test-node.ts";

/** 1.2 MB of metadata: above the default payload limit of NATS, 1 MiB. */
const WITH_METADATA = 300;
/** 1.2 MB of names. */
const NAMES = 9500;
const APPLICATIONS = 9500;

const longName = (at: number): string => `${at} `.padEnd(PEER_ID_MAX_CHARS, "x");

/** Of the largest legal size, with quotes, which are escaped in each layer of JSON, and characters of three bytes. */
const metadata = (at: number): string => {
  const text = `{"at":${at},"q":"${'\\"'.repeat(500)}","w":"${"€".repeat(1000)}"}`;
  return `${text.slice(0, -2)}${"x".repeat(TOKEN_PEER_METADATA_MAX_BYTES - Buffer.byteLength(text))}"}`;
};

const withMetadata = (): MemberState[] =>
  Array.from({ length: WITH_METADATA }, (_, at) => ({ peerId: `p${at}`, since: at, metadataJson: metadata(at) }));

const withLongNames = (): MemberState[] =>
  Array.from({ length: NAMES }, (_, at) => ({ peerId: longName(at), since: at, metadataJson: undefined }));

export function sizes(begin: Begin, size: number): void {
  test("an announcement arrives whole, in its place before what follows", async () => {
    const { nodes, ann, ben } = await begin();
    await ben.watch("c");
    const states = withMetadata();
    ann.say("c");
    ann.joinAll("c", states);
    const after = ann.say("c");
    await nodes.settle();
    expect(ben.picture("c")).toEqual(plain([[ann.id, states]]));
    expect([ben.log.length, ben.log.at(-1)]).toEqual([states.length + 2, `${after} on c`]);
  });

  test("a leave arrives whole", async () => {
    const { nodes, ann, ben } = await begin();
    ann.joinAll("c", withLongNames());
    await ben.watch("c");
    expect(ben.picture("c")[ann.id]).toHaveLength(NAMES);
    ann.partAll("c");
    await nodes.settle();
    expect(ben.picture("c")).toEqual({});
  });

  test("the answers to watch, channels and members arrive whole", async () => {
    const { nodes, ann, ben } = await begin();
    const [large, many] = [withMetadata(), withLongNames()];
    ann.joinAll("large", large);
    ann.joinAll("many", many);
    await nodes.settle();
    await ben.watch("large");
    expect(ben.picture("large")).toEqual(plain([[ann.id, large]]));
    const members = await nodes.answer(ben.engine.members(APP, "large"));
    expect(members === LATE || members === undefined ? members : plain(members)).toEqual(plain([[ann.id, large]]));
    expect(await nodes.answer(ben.engine.channels(APP))).toEqual([
      { channel: "large", peerIds: large.map(({ peerId }) => peerId), connections: large.length },
      { channel: "many", peerIds: many.map(({ peerId }) => peerId), connections: many.length },
    ]);
  });

  test("the connections of very many applications are known", async () => {
    const { nodes, ann } = await begin();
    const apps = Array.from({ length: APPLICATIONS }, (_, at) => longName(at).replaceAll(" ", "-"));
    for (const node of nodes.others(ann)) for (const app of apps) node.hold("eve", 1, app);
    const isKnown = (app: string): boolean => ann.engine.connections(app) === size - 1;
    expect(await nodes.until(() => isKnown(apps[0] ?? "") && isKnown(apps.at(-1) ?? ""))).toBeTrue();
    expect(apps.filter((app) => !isKnown(app))).toEqual([]);
    // A later count replaces the earlier ones, those of applications that have no connections any more too.
    for (const node of nodes.others(ann)) node.endAll();
    expect(await nodes.until(() => ann.engine.connections(apps[0] ?? "") === 0)).toBeTrue();
  });

  test("the largest message and the largest direct message arrive, in order with small ones", async () => {
    const { nodes, ann, ben } = await begin();
    ben.hold("eve", 1);
    await ben.watch("c");
    const said: string[] = [];
    const told: string[] = [];
    const reached: (number | Promise<number>)[] = [];
    for (const filling of ["", "€".repeat(MESSAGE_MAX_BYTES / 3), '"'.repeat(MESSAGE_MAX_BYTES / 2), ""]) {
      ann.filling = filling;
      said.push(ann.say("c"));
      const direct = ann.tell("eve");
      told.push(direct.name);
      reached.push(direct.reached);
    }
    expect(await nodes.answer(Promise.all(reached))).toEqual([1, 1, 1, 1]);
    expect([ben.heardOn("c"), ben.handedTo("eve")]).toEqual([said, told]);
    // One that nobody holds: every node has to be asked.
    ann.filling = '"'.repeat(MESSAGE_MAX_BYTES / 2);
    expect(await nodes.answer(ann.tell("nobody").reached)).toBe(0);
  });
}
