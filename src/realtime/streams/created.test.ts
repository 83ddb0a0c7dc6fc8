/** Channels that are created streams: subscribers, publishers and readers over HTTP see one stream, on every node. */
import { expect, test } from "bun:test";
import { asAppId, spaceOf } from "../../base/ids.ts";
import type { Follower } from "../state/channel.ts";
import type { WriteRequest } from "./created.ts";
import { dataOf, StreamsWorld, seen } from "./testing/streams-world.ts";

const NAME = "stream/1";
const RULE = { seconds: 3600, bytes: 100_000 };
const RULES = [{ pattern: "stream/*", stream: RULE, graceSec: 0 }];
const KEPT = { kind: "created", rule: RULE } as const;

const author = { from: "server", metadataJson: undefined };
const writing = (data: readonly string[], change: Partial<WriteRequest> = {}): WriteRequest => ({
  author,
  data,
  contentType: "application/json",
  isMalformed: false,
  closes: false,
  seq: undefined,
  producer: undefined,
  ...change,
});

class CreatedWorld extends StreamsWorld {
  constructor(nodes = 1) {
    super({ rules: RULES, nodes });
  }

  get id() {
    return asAppId(this.app);
  }

  created(node = 0) {
    return this.nodeAt(node).hub.created;
  }

  async create(data: readonly string[] = [], contentType = "application/json", node = 0) {
    const times = { ttlSeconds: undefined, expiresAtMs: undefined, fork: undefined, check: "c" };
    const result = this.created(node).create(this.id, NAME, RULE, {
      author,
      data,
      contentType,
      isClosed: false,
      ...times,
    });
    await this.pass(30);
    return result;
  }

  async write(data: readonly string[], change: Partial<WriteRequest> = {}, node = 0) {
    const result = this.created(node).write(this.id, NAME, KEPT, writing(data, change));
    await this.pass(30);
    return result;
  }

  async subscribed(peerId: string, node = 0) {
    const client = this.connect(peerId, { node });
    client.subscribe(NAME);
    await this.pass(60);
    return client;
  }
}

test("a subscribe to a stream that does not exist is acked without a position; its creation closes the subscribers", async () => {
  const world = new CreatedWorld();
  const ann = await world.subscribed("ann");
  expect(ann.take().find(({ type }) => type === "ack")?.pos).toBeUndefined();
  await world.create(["1"]);
  expect(ann.closeCode).toBe(1001);
  const back = await world.subscribed("ann");
  expect(back.take().find(({ type }) => type === "ack")?.pos).toMatch(/^[a-z0-9]+\.1\./);
});

test("what is written over HTTP reaches subscribers on every node, in order, with positions", async () => {
  const world = new CreatedWorld(2);
  await world.create();
  const [ann, ben] = [await world.subscribed("ann", 0), await world.subscribed("ben", 1)];
  ann.take();
  ben.take();
  await world.write(['{"n":1}', "2"]);
  await world.write(["3"], {}, 1);
  expect([dataOf(ann.take()), dataOf(ben.take())]).toEqual([
    [{ n: 1 }, 2, 3],
    [{ n: 1 }, 2, 3],
  ]);
});

test("a message over WebSocket is stored before it is acked, and refused as the stream refuses it", async () => {
  const world = new CreatedWorld();
  const [ann, ben] = [await world.subscribed("ann"), await world.subscribed("ben")];
  ann.take();
  ben.take();
  ann.publish(NAME, 1);
  await world.pass(30);
  expect(seen(ann)).toEqual(["error stream_not_found"]);
  await world.create();
  const [eve, dan] = [await world.subscribed("eve"), await world.subscribed("dan")];
  eve.take();
  dan.take();
  eve.request({ type: "publish", channel: NAME, data: "a", id: "i" });
  eve.request({ type: "publish", channel: NAME, data: "a", id: "i" });
  await world.pass(30);
  expect([seen(eve), seen(dan)]).toEqual([["ack", "ack duplicate"], ["a"]]);
  await world.write([], { closes: true });
  eve.publish(NAME, "b");
  await world.pass(30);
  expect(seen(eve)).toEqual(["error stream_closed"]);
});

test("bytes come as base64 and say so; text as text; neither takes messages over WebSocket", async () => {
  const world = new CreatedWorld();
  await world.create(['"aGk="'], "application/octet-stream");
  const ann = world.connect("ann");
  ann.request({ type: "subscribe", channel: NAME, rewind: 10 });
  await world.pass(60);
  const [replayed] = ann.take().filter(({ type }) => type === "message");
  expect([replayed?.data, replayed?.encoding]).toEqual(["aGk=", "base64"]);
  await world.write(['"/w=="'], { contentType: "application/octet-stream" });
  expect(ann.take().map(({ data, encoding }) => [data, encoding])).toEqual([["/w==", "base64"]]);
  ann.publish(NAME, 1);
  await world.pass(30);
  expect(seen(ann)).toEqual(["error unsupported_option"]);
});

test("deleting a stream, and its expiry, close its subscribers", async () => {
  const world = new CreatedWorld(2);
  await world.create(["1"]);
  const ann = await world.subscribed("ann", 1);
  await world.created(0).delete(world.id, NAME);
  await world.pass(50);
  expect(ann.closeCode).toBe(1001);
  await world.create(["1"]);
  const ben = await world.subscribed("ben");
  expect(ben.closeCode).toBeUndefined();
  world.advance(RULE.seconds * 1000);
  await world.pass(1500);
  expect(ben.closeCode).toBe(1001);
});

test("a reader that follows a stream hears of messages and of its closing, and when it is another one", async () => {
  const world = new CreatedWorld(2);
  await world.create();
  const heard: string[] = [];
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const follower: Follower = { changed: () => heard.push("changed"), ended: () => heard.push("ended") };
  const { channels, spaces } = world.nodeAt(1).hub;
  const stop = channels.follow(spaceOf(world.id), NAME, follower, (stream) => resolve(stream?.isOpen === true));
  await world.pass(30);
  expect(await promise).toBeTrue();
  await world.write(["1"]);
  expect(heard).toEqual(["changed"]);
  expect(spaces.channel(spaceOf(world.id), NAME)?.stream?.delivered).toBe(1);
  await world.write([], { closes: true });
  expect(heard).toEqual(["changed", "changed"]);
  expect(spaces.channel(spaceOf(world.id), NAME)?.stream?.isClosed).toBeTrue();
  await world.created(0).delete(world.id, NAME);
  await world.pass(50);
  expect(heard).toEqual(["changed", "changed", "ended"]);
  stop();
  expect(spaces.channel(spaceOf(world.id), NAME)?.followers).toBeUndefined();
});

test("a channel that is followed only is forgotten when that ends", async () => {
  const world = new CreatedWorld();
  await world.create();
  const none: Follower = { changed: () => undefined, ended: () => undefined };
  const { channels, spaces } = world.nodeAt(0).hub;
  const stop = channels.follow(spaceOf(world.id), NAME, none, () => undefined);
  await world.pass(10);
  expect(spaces.channel(spaceOf(world.id), NAME)).toBeDefined();
  stop();
  stop();
  expect(spaces.channel(spaceOf(world.id), NAME)).toBeUndefined();
});

test("the history of a stream is read by page, from either form of a position", async () => {
  const world = new CreatedWorld();
  const created = await world.create(['"aGk="'], "application/octet-stream");
  await world.write(['"/w=="'], { contentType: "application/octet-stream" });
  if (created === "over_message_quota" || created.outcome !== "created") throw new Error("not created");
  const { epoch, topCheck } = created.stream;
  const ann = world.connect("ann");
  for (const after of [`${epoch}.1.${topCheck}`, `0000000000000001_${epoch}.${topCheck}`]) {
    ann.request({ type: "history", channel: NAME, after });
    await world.answers();
    const [page] = ann.take();
    expect(page).toMatchObject({ type: "history", more: false, messages: [{ data: "/w==", encoding: "base64" }] });
  }
  ann.request({ type: "history", channel: "stream/none" });
  await world.answers();
  expect(ann.take()).toMatchObject([{ type: "history", messages: [], more: false }]);
});

test("a position of a source is recovered on its fork only over HTTP: over WebSocket it is not recovered", async () => {
  const world = new CreatedWorld();
  await world.create(["1"]);
  const ann = world.connect("ann");
  ann.request({ type: "subscribe", channel: NAME, recover: "0000000000000000_zz.0" });
  await world.pass(60);
  expect(seen(ann)).toEqual(["ack recovered:false replay:0"]);
});
