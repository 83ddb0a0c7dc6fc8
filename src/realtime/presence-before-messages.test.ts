/** Receivers of a message are shown the pending presence changes of its sender first. */
import { describe, expect, test } from "bun:test";
import { World } from "./testing/kit.ts";

describe("presence before words", () => {
  test("what is still to be told about a peer is written before its message", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben").holdPongs();
    ben.subscribe("c");
    ben.publish("c", "hello");
    expect(ann.newFrames()).toEqual(["joined: ben", 'message ben "hello"']);
    ben.socket.pong();
    world.advance(50);
    expect(ann.newFrames()).toEqual([]);
    expect(ben.newFrames()).toEqual(["ack r1", "ack r2", "roster: ann"]);
  });

  test("and before its direct message, in every channel it is about", () => {
    const world = new World();
    const ann = world.connect("ann");
    for (const channel of ["c", "d"]) ann.subscribe(channel);
    world.advance(50);
    ann.take();
    const ben = world.connect("ben").holdPongs();
    ben.subscribe("c");
    ben.subscribe("d");
    ben.send("ann", 1);
    expect(ann.take().map((frame) => [frame.type, frame.channel])).toEqual([
      ["presence", "c"],
      ["presence", "d"],
      ["direct", undefined],
    ]);
  });

  test("a leave is told before what the peer still says from another connection", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c");
    ann.take();
    ben.unsubscribe("c");
    ben.publish("c", 1);
    expect(ann.newFrames()).toEqual(["left: ben", "message ben 1"]);
  });

  test("also where REST speaks in a peer's name", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben").holdPongs();
    ben.subscribe("c");
    const envelope = { from: "ben", metadataJson: undefined, dataJson: "1" };
    world.node.hub.delivery.publish("app", "c", envelope);
    expect(ann.newFrames()).toEqual(["joined: ben", "message ben 1"]);
    ben.unsubscribe("c");
    void world.node.hub.delivery.send("app", "ann", envelope);
    expect(ann.newFrames()).toEqual(["left: ben", "direct ben 1"]);
  });

  test("a direct message to nobody, and a message that nobody receives, tell nobody anything", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben").holdPongs();
    for (let i = 0; i < 5; i++) {
      ben.subscribe("c");
      ben.send("nobody", 1);
      ben.publish("empty", 1);
      ben.unsubscribe("c");
      ben.send("nobody", 1);
      ben.publish("empty", 1);
    }
    world.advance(600);
    expect(ann.newFrames()).toEqual([]);
  });

  test("a direct message tells its receiver alone; the others are told with the roster, and everybody once", () => {
    const world = new World();
    const [ann, cat] = [world.join("ann", "c"), world.join("cat", "c")];
    ann.take();
    const ben = world.connect("ben").holdPongs();
    ben.subscribe("c");
    ben.send("ann", 1);
    expect([ann.newFrames(), cat.newFrames()]).toEqual([["joined: ben", "direct ben 1"], []]);
    // A tick with other news reaches ann too, and says nothing of ben.
    world.connect("dan").subscribe("c");
    world.advance(20);
    expect([ann.newFrames(), cat.newFrames()]).toEqual([["joined: dan"], ["joined: dan"]]);
    ben.socket.pong();
    world.advance(20);
    expect([ann.newFrames(), cat.newFrames(), ben.newFrames().at(-1)]).toEqual([
      [],
      ["joined: ben"],
      "roster: ann cat dan",
    ]);
    ben.vanish();
    world.advance(20);
    expect([ann.newFrames(), cat.newFrames()]).toEqual([["left: ben"], ["left: ben"]]);
  });

  test("one that was told alone of a newcomer is told that it left, the others hear nothing of it", () => {
    const world = new World();
    const [ann, cat] = [world.join("ann", "c"), world.join("cat", "c")];
    ann.take();
    const ben = world.connect("ben").holdPongs();
    ben.subscribe("c");
    ben.send("ann", 1);
    ben.vanish();
    world.advance(20);
    expect([ann.newFrames(), cat.newFrames()]).toEqual([["joined: ben", "direct ben 1", "left: ben"], []]);
  });

  test("a leave is told to the receiver of a direct message first, and to nobody twice", () => {
    const world = new World();
    const [ann, cat] = [world.join("ann", "c"), world.join("cat", "c")];
    const ben = world.join("ben", "c");
    for (const client of [ann, cat]) client.take();
    ben.unsubscribe("c");
    ben.send("ann", 1);
    expect([ann.newFrames(), cat.newFrames()]).toEqual([["left: ben", "direct ben 1"], []]);
    world.advance(20);
    expect([ann.newFrames(), cat.newFrames()]).toEqual([[], ["left: ben"]]);
  });

  test("one that was told alone and subscribes again takes its roster, and what follows", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben").holdPongs();
    ben.subscribe("c");
    ben.send("ann", 1);
    ann.subscribe("c");
    world.advance(20);
    expect(ann.newFrames()).toEqual(["joined: ben", "direct ben 1", "ack r2", "roster:"]);
    ben.socket.pong();
    world.advance(20);
    expect(ann.newFrames()).toEqual(["joined: ben"]);
  });

  test("a message after a direct one tells the others before it, and its first receiver nothing again", () => {
    const world = new World();
    const [ann, cat] = [world.join("ann", "c"), world.join("cat", "c")];
    ann.take();
    const ben = world.connect("ben").holdPongs();
    ben.subscribe("c");
    ben.send("ann", 1);
    ben.publish("c", 2);
    expect(ann.newFrames()).toEqual(["joined: ben", "direct ben 1", "message ben 2"]);
    expect(cat.newFrames()).toEqual(["joined: ben", "message ben 2"]);
  });

  test("others' news keep waiting for the tick", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const cat = world.join("cat", "c");
    const ben = world.connect("ben").holdPongs();
    ben.subscribe("c");
    ann.take();
    cat.unsubscribe("c");
    ben.publish("c", 1);
    expect(ann.newFrames()).toEqual(["joined: ben", "message ben 1"]);
    world.advance(10);
    expect(ann.newFrames()).toEqual(["left: cat"]);
  });
});
