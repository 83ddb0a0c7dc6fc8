/** Receivers of a message are shown the pending presence changes of its sender first. */
import { describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { World } from "../testing/kit.ts";

const APP = anAppId("app");

describe("presence before messages", () => {
  test("a peer's pending change is written before its message", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben").withholdPongs();
    ben.subscribe("c");
    ben.publish("c", "hello");
    expect(ann.newFrames()).toEqual(["joined: ben", 'message ben "hello"']);
    ben.socket.pong();
    world.advance(50);
    expect(ann.newFrames()).toEqual([]);
    expect(ben.newFrames()).toEqual(["ack r1", "ack r2", "roster: ann"]);
  });

  test("and before its direct message, in every channel that has one", () => {
    const world = new World();
    const ann = world.connect("ann");
    for (const channel of ["c", "d"]) ann.subscribe(channel);
    world.advance(50);
    ann.take();
    const ben = world.connect("ben").withholdPongs();
    ben.subscribe("c");
    ben.subscribe("d");
    ben.send("ann", 1);
    expect(ann.take().map((frame) => [frame.type, frame.channel])).toEqual([
      ["presence", "c"],
      ["presence", "d"],
      ["direct", undefined],
    ]);
  });

  test("a leave is shown before a message from another connection of the peer", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c");
    ann.take();
    ben.unsubscribe("c");
    ben.publish("c", 1);
    expect(ann.newFrames()).toEqual(["left: ben", "message ben 1"]);
  });

  test("also before a message of REST in the peer's name", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben").withholdPongs();
    ben.subscribe("c");
    const envelope = { from: "ben", metadataJson: undefined, dataJson: "1" };
    world.node.hub.delivery.publish(APP, "c", envelope);
    expect(ann.newFrames()).toEqual(["joined: ben", "message ben 1"]);
    ben.unsubscribe("c");
    void world.node.hub.directs.send(APP, "ann", envelope);
    expect(ann.newFrames()).toEqual(["left: ben", "direct ben 1"]);
  });

  test("a direct or published message without a receiver shows nothing to anyone", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben").withholdPongs();
    for (let i = 0; i < 5; i++) {
      ben.subscribe("c");
      ben.send("absent", 1);
      ben.publish("empty", 1);
      ben.unsubscribe("c");
      ben.send("absent", 1);
      ben.publish("empty", 1);
    }
    world.advance(600);
    expect(ann.newFrames()).toEqual([]);
  });

  test("a direct message shows its sender to the receiver alone; the others see it with its roster, all once", () => {
    const world = new World();
    const [ann, cat] = [world.join("ann", "c"), world.join("cat", "c")];
    ann.take();
    const ben = world.connect("ben").withholdPongs();
    ben.subscribe("c");
    ben.send("ann", 1);
    expect([ann.newFrames(), cat.newFrames()]).toEqual([["joined: ben", "direct ben 1"], []]);
    // A tick with other changes reaches ann too, and does not mention ben.
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

  test("a receiver that alone was shown a newcomer is shown its leave; the others see neither", () => {
    const world = new World();
    const [ann, cat] = [world.join("ann", "c"), world.join("cat", "c")];
    ann.take();
    const ben = world.connect("ben").withholdPongs();
    ben.subscribe("c");
    ben.send("ann", 1);
    ben.vanish();
    world.advance(20);
    expect([ann.newFrames(), cat.newFrames()]).toEqual([["joined: ben", "direct ben 1", "left: ben"], []]);
  });

  test("a leave is shown to the receiver of a direct message first, and to no one twice", () => {
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

  test("a receiver that alone was shown something and subscribes again gets a roster and further changes", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben").withholdPongs();
    ben.subscribe("c");
    ben.send("ann", 1);
    ann.subscribe("c");
    world.advance(20);
    expect(ann.newFrames()).toEqual(["joined: ben", "direct ben 1", "ack r2", "roster:"]);
    ben.socket.pong();
    world.advance(20);
    expect(ann.newFrames()).toEqual(["joined: ben"]);
  });

  test("a message after a direct one shows its sender to the others, and not again to the first receiver", () => {
    const world = new World();
    const [ann, cat] = [world.join("ann", "c"), world.join("cat", "c")];
    ann.take();
    const ben = world.connect("ben").withholdPongs();
    ben.subscribe("c");
    ben.send("ann", 1);
    ben.publish("c", 2);
    expect(ann.newFrames()).toEqual(["joined: ben", "direct ben 1", "message ben 2"]);
    expect(cat.newFrames()).toEqual(["joined: ben", "message ben 2"]);
  });

  test("changes of other peers wait for the tick", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const cat = world.join("cat", "c");
    const ben = world.connect("ben").withholdPongs();
    ben.subscribe("c");
    ann.take();
    cat.unsubscribe("c");
    ben.publish("c", 1);
    expect(ann.newFrames()).toEqual(["joined: ben", "message ben 1"]);
    world.advance(10);
    expect(ann.newFrames()).toEqual(["left: cat"]);
  });
});
