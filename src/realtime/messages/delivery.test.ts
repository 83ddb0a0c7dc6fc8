import { describe, expect, test } from "bun:test";
import { type Engine, OVERTAKEN, UNAVAILABLE } from "../../engine/engine.ts";
import { APP, type Client, OTHER_KEY, turn, World } from "../testing/kit.ts";

describe("a message", () => {
  test("reaches every other subscriber, also the sender's other connections, and never the sending one", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const second = world.join("ann", "c");
    const ben = world.join("ben", "c");
    const cat = world.join("cat", "other");
    for (const client of [ann, second, ben, cat]) client.take();
    ann.publish("c", { hello: 1 });
    expect(ann.newFrames()).toEqual(["ack r2"]);
    for (const client of [second, ben]) expect(client.newFrames()).toEqual(['message ann {"hello":1}']);
    expect(cat.newFrames()).toEqual([]);
  });

  test("needs no subscription of the sender, and no subscriber at all", () => {
    const world = new World();
    const ann = world.connect("ann");
    const ben = world.join("ben", "c");
    ann.publish("c", 1);
    ann.publish("empty", 1);
    expect([ann.newFrames(), ben.newFrames()]).toEqual([["ack r1", "ack r2"], ["message ann 1"]]);
    expect(world.node.usage.messagesUsed(APP)).toBe(2);
    expect(world.node.hub.spaces.channelCount).toBe(1);
  });

  test("does not reach clients that have unsubscribed, nor the same channel of another application", () => {
    const world = new World();
    const ann = world.connect("ann");
    const ben = world.join("ben", "c");
    const stranger = world.join("ben", "c", { key: OTHER_KEY });
    ben.unsubscribe("c");
    ben.take();
    ann.publish("c", 1);
    expect([ben.newFrames(), stranger.newFrames()]).toEqual([[], []]);
  });

  test("arrives byte for byte", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    const data = '{"z":12345678901234567890,"a":[1.0, 2e3 ],"é":"\\u00e9","z ":null}';
    world.connect("ann").text(`{"type":"publish","channel":"c","data":${data}}`);
    expect(ben.socket.written.at(-1)).toBe(`{"type":"message","channel":"c","from":"ann","data":${data}}`);
  });

  test("carries the sender's metadata only to subscribers that asked for it; the last subscribe counts", () => {
    const world = new World();
    const ann = world.connect("ann", { metadata: { name: "Ann" } });
    const bare = world.connect("bare");
    const [asks, asksNot, asksLater, asksNoMore] = ["p", "q", "r", "s"].map((name) => world.connect(name)) as Client[];
    for (const one of [asks, asksNoMore]) one?.subscribe("c", { includeSenderMetadata: true });
    for (const one of [asksNot, asksLater]) one?.subscribe("c");
    asksLater?.subscribe("c", { includeSenderMetadata: true });
    asksNoMore?.subscribe("c");
    world.advance(600);
    const all = [asks, asksNot, asksLater, asksNoMore];
    for (const one of all) one?.take();
    ann.publish("c", 1);
    bare.publish("c", 2);
    expect(all.map((one) => one?.take().map((frame) => [frame.data, frame.fromMetadata]))).toEqual([
      [
        [1, { name: "Ann" }],
        [2, undefined],
      ],
      [
        [1, undefined],
        [2, undefined],
      ],
      [
        [1, { name: "Ann" }],
        [2, undefined],
      ],
      [
        [1, undefined],
        [2, undefined],
      ],
    ]);
  });

  test("comes once to a client that subscribed several times", () => {
    const world = new World();
    const ben = world.connect("ben");
    for (const includeSenderMetadata of [true, false, true, false]) {
      ben.subscribe("c", { includeSenderMetadata });
      world.advance(600);
      ben.take();
      world.connect("ann").publish("c", 1);
      expect(ben.newFrames()).toEqual(["message ann 1"]);
    }
    expect(world.node.hub.occupancy.localChannels(APP).counts).toEqual([
      { channel: "c", peerIds: ["ben"], connections: 1 },
    ]);
  });

  test("reaches the subscribers of one variant after those of the other have left", () => {
    for (const includeSenderMetadata of [true, false]) {
      const world = new World();
      const gone = world.connect("gone");
      gone.subscribe("c", { includeSenderMetadata });
      const ben = world.connect("ben");
      ben.subscribe("c", { includeSenderMetadata: !includeSenderMetadata });
      world.advance(600);
      gone.vanish();
      world.advance(600);
      ben.take();
      world.connect("ann").publish("c", 1);
      expect(ben.newFrames()).toEqual(["message ann 1"]);
    }
  });

  test("and direct messages of one connection arrive in the order sent", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    const ann = world.connect("ann");
    for (let i = 0; i < 6; i++) i % 2 === 0 ? ann.publish("c", i) : ann.send("ben", i);
    expect(ben.take().map((frame) => frame.data)).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

describe("a direct message", () => {
  test("reaches every connection of the peer, with the sender's metadata if there is some", () => {
    const world = new World();
    const ben = [world.connect("ben"), world.connect("ben")];
    world.connect("ann", { metadata: { name: "Ann" } }).text('{"type":"send","to":"ben","data":null}');
    world.connect("bare").text('{"type":"send","to":"ben","data":1}');
    for (const one of ben)
      expect(one.socket.written.slice(1)).toEqual([
        '{"type":"direct","from":"ann","fromMetadata":{"name":"Ann"},"data":null}',
        '{"type":"direct","from":"bare","data":1}',
      ]);
  });

  test("to the sender itself reaches its other connections; without any it is peer_not_found", () => {
    const world = new World();
    const ann = world.connect("ann");
    ann.send("ann", 1);
    const second = world.connect("ann");
    ann.send("ann", 2);
    expect([ann.newFrames(), second.newFrames()]).toEqual([["error peer_not_found r1", "ack r2"], ["direct ann 2"]]);
  });

  test("does not reach the peer of another application, nor one that is only a member on another node", () => {
    const world = new World();
    world.connect("ben", { key: OTHER_KEY });
    world.join("ann", "c");
    const ann = world.connect("ann");
    world.node.hub.engineCallbacks.membersChanged(
      "far",
      APP,
      "c",
      [{ peerId: "far", metadataJson: undefined, since: 1, node: "far" }],
      [],
    );
    ann.send("ben", 1);
    ann.send("far", 1);
    expect(ann.newFrames()).toEqual(["error peer_not_found r1", "error peer_not_found r2"]);
  });

  test("counts as used when it reached a connection, and not otherwise", () => {
    const world = new World();
    const ann = world.connect("ann");
    world.connect("ben");
    world.connect("ben");
    ann.send("ben", 1);
    ann.send("absent", 1);
    expect(world.node.usage.messagesUsed(APP)).toBe(1);
  });
});

describe("when the engine cannot reach other nodes", () => {
  const worldWith = (instead: Partial<Engine>): World =>
    new World({ engine: (engine) => Object.assign(engine, instead) });

  test("a publish is a backend_error, reaches no one and is not counted", () => {
    const world = worldWith({ publish: () => false });
    const ben = world.join("ben", "c");
    const ann = world.connect("ann");
    ann.publish("c", 1);
    expect([ann.newFrames(), ben.newFrames(), world.node.usage.messagesUsed(APP)]).toEqual([
      ["error backend_error r1"],
      [],
      0,
    ]);
  });

  test("a send is a backend_error, reaches no one and is not counted", () => {
    const world = worldWith({ send: () => UNAVAILABLE });
    const ben = world.connect("ben");
    const ann = world.connect("ann");
    ann.send("ben", 1);
    expect([ann.newFrames(), ben.newFrames(), world.node.usage.messagesUsed(APP)]).toEqual([
      ["error backend_error r1"],
      [],
      0,
    ]);
  });

  test("the text says of a publish that nothing was delivered, and of a send that this is not known", async () => {
    const world = worldWith({ publish: () => false, send: async () => UNAVAILABLE });
    const ann = world.connect("ann");
    ann.publish("c", 1);
    ann.send("ben", 1);
    await turn();
    const [publish, send] = ann.take().map(({ message }) => message);
    expect(publish).toContain("Nothing was delivered");
    expect(send).toContain("may or may not have been delivered");
  });

  test("and that is found out later, a send is a backend_error, although it reached a connection here: others may lack it", async () => {
    for (const elsewhere of [UNAVAILABLE, OVERTAKEN]) {
      const world = worldWith({ send: async () => elsewhere });
      const ben = world.connect("ben");
      const ann = world.connect("ann");
      ann.send("ben", 1);
      ann.send("absent", 1);
      expect(ann.newFrames()).toEqual([]);
      await turn();
      expect(ann.newFrames()).toEqual(["error backend_error r1", "error backend_error r2"]);
      expect(ben.newFrames()).toEqual(["direct ann 1"]);
    }
  });

  test("a repeat with the same id reaches connections here once, and is acked when all nodes have answered", async () => {
    const answers = [UNAVAILABLE, OVERTAKEN, 1];
    const world = worldWith({ send: async () => answers.shift() ?? 0 });
    const ben = world.connect("ben");
    const ann = world.connect("ann");
    for (let n = 0; n < 4; n++) {
      ann.request({ type: "send", to: "ben", data: 1, id: "x" });
      await turn();
    }
    expect(ann.newFrames()).toEqual(["error backend_error r1", "error backend_error r2", "ack r3", "ack r4"]);
    expect(ben.newFrames()).toEqual(["direct ann 1"]);
  });

  test("one that has waited for its receiver is not tried again when it has reached a connection here", async () => {
    const answers = [0];
    const world = worldWith({ send: async () => answers.shift() ?? UNAVAILABLE });
    world.join("ben", "c", { expiresInMs: 1000 });
    const ann = world.connect("ann");
    world.advance(1000);
    ann.send("ben", 1);
    const ben = world.join("ben", "c");
    for (let ms = 0; ms < 3000; ms += 50) {
      world.advance(50);
      await turn();
    }
    expect(ben.newFrames()).toEqual(["direct ann 1"]);
    expect(ann.newFrames()).toEqual(["error backend_error r1"]);
  });

  test("a message to a peer that is expected back waits for it, although it is not known whether another node has it", async () => {
    const answers = [UNAVAILABLE, 0];
    const world = worldWith({ send: async () => answers.shift() ?? 1 });
    world.join("ben", "c", { expiresInMs: 1000 });
    const ann = world.connect("ann");
    world.advance(1000);
    ann.send("ben", 1);
    await turn();
    expect(ann.newFrames()).toEqual([]);
    for (let ms = 0; ms < 3000; ms += 50) {
      world.advance(50);
      await turn();
    }
    expect(ann.newFrames()).toEqual(["ack r1"]);
  });

  test("and the answer comes after the sender has disconnected, nothing is written", async () => {
    for (const reached of [1, 0]) {
      const world = worldWith({ send: async () => reached });
      const ann = world.connect("ann");
      ann.send("far", 1);
      world.node.hub.connections.disconnect(ann.connection, 1006);
      await turn();
      expect(ann.newFrames()).toEqual([]);
    }
  });
});
