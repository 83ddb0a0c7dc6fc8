/** Which changes members are shown, and when. */
import { describe, expect, test } from "bun:test";
import { inShort, PUBLISHABLE_KEY, type Received, World } from "../testing/kit.ts";

describe("members of a channel", () => {
  test("are shown a newcomer once its roster is written, in the same tick, not before", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben", { metadata: { name: "Ben" } }).withholdPongs();
    ben.subscribe("c");
    world.advance(100);
    expect(ann.newFrames()).toEqual([]);
    // A tick with other changes does not show it either.
    world.connect("cat").subscribe("c");
    world.advance(100);
    expect(ann.newFrames()).toEqual(["joined: cat"]);
    const order: string[] = [];
    for (const [name, { socket }] of Object.entries({ ann, ben })) {
      const send = socket.send.bind(socket);
      socket.send = (text) => {
        order.push(`${name} ${inShort(JSON.parse(text) as Received)}`);
        return send(text);
      };
    }
    ben.socket.pong();
    world.advance(10);
    expect(order).toEqual(["ben roster: ann cat", 'ann joined: ben{"name":"Ben"}']);
    expect(ann.socket.written.at(-1)).toBe(
      '{"type":"presence","channel":"c","joined":[{"peerId":"ben","metadata":{"name":"Ben"}}],"left":[]}',
    );
  });

  test("are shown all joins and leaves of one tick in one frame", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const leavers = ["x", "y"].map((name) => world.join(name, "c", { metadata: name }));
    const comers = ["p", "q"].map((name) => world.connect(name).withholdPongs());
    for (const comer of comers) comer.subscribe("c");
    ann.take();
    for (const leaver of leavers) leaver.vanish();
    for (const comer of comers) comer.socket.pong();
    world.advance(10);
    expect(ann.newFrames()).toEqual(['joined: p q left: x"x" y"y"']);
  });

  test("that join in one tick see each other in their rosters and are not shown to each other twice", () => {
    const world = new World();
    world.join("ann", "c");
    const comers = ["p", "q", "r"].map((name) => world.connect(name).withholdPongs());
    for (const comer of comers) comer.subscribe("c");
    for (const comer of comers) comer.socket.pong();
    world.advance(100);
    expect(comers.map((comer) => comer.newFrames().slice(1))).toEqual([
      ["roster: ann q r"],
      ["roster: ann p r"],
      ["roster: ann p q"],
    ]);
  });

  test("are shown nothing when a peer leaves and joins within one tick with the same metadata", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c", { metadata: { v: 1 } });
    ann.take();
    ben.withholdPongs();
    ben.unsubscribe("c");
    ben.subscribe("c");
    ben.socket.pong();
    world.advance(100);
    expect(ann.newFrames()).toEqual([]);
    expect(ben.newFrames().at(-1)).toBe("roster: ann");
  });

  test("are shown nothing of a peer that joins and leaves within one tick", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben").withholdPongs();
    ben.subscribe("c");
    ben.socket.pong();
    ben.vanish();
    world.advance(600);
    expect(ann.newFrames()).toEqual([]);
  });

  test("are shown a leave and a join with other metadata as a join alone", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const old = world.join("ben", "c", { metadata: { v: 1 } });
    ann.take();
    const fresh = world.connect("ben", { metadata: { v: 2 } }).withholdPongs();
    fresh.subscribe("c");
    fresh.socket.pong();
    old.vanish();
    world.advance(10);
    expect(ann.newFrames()).toEqual(['joined: ben{"v":2}']);
  });

  test("are shown a leave one tick later, once, with the metadata that was shown", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c", { metadata: { v: 1 } });
    ann.take();
    ben.unsubscribe("c");
    world.advance(9);
    expect(ann.newFrames()).toEqual([]);
    world.advance(1);
    expect(ann.newFrames()).toEqual(['left: ben{"v":1}']);
    ben.unsubscribe("c");
    ben.vanish();
    world.advance(100);
    expect(ann.newFrames()).toEqual([]);
  });

  test("are shown changes only in channels they subscribe to, and none after unsubscribing", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    world.join("ben", "d");
    ann.unsubscribe("c");
    ann.take();
    world.join("cat", "c").vanish();
    world.advance(600);
    expect(ann.newFrames()).toEqual([]);
  });
});

describe("several connections of one peer", () => {
  test("are one member: joined with the first, left after the last", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const first = world.join("ben", "c");
    const second = world.join("ben", "c");
    expect(ann.newFrames()).toEqual(["joined: ben"]);
    first.vanish();
    world.advance(600);
    expect(ann.newFrames()).toEqual([]);
    second.unsubscribe("c");
    world.advance(600);
    expect(ann.newFrames()).toEqual(["left: ben"]);
  });

  test("have the metadata of the newest; when it ends, of the one before it", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = [1, 2, 3].map((v) => world.join("ben", "c", { metadata: { v } }));
    expect(ann.newFrames()).toEqual(['joined: ben{"v":1}', 'joined: ben{"v":2}', 'joined: ben{"v":3}']);
    ben[1]?.vanish();
    world.advance(100);
    expect(ann.newFrames()).toEqual([]);
    ben[2]?.vanish();
    world.advance(100);
    expect(ann.newFrames()).toEqual(['joined: ben{"v":1}']);
    ben[0]?.vanish();
    world.advance(100);
    expect(ann.newFrames()).toEqual(['left: ben{"v":1}']);
  });

  test("are ordered by when they connected, not by when they subscribed", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const older = world.connect("ben", { metadata: { v: 1 } });
    const newer = world.connect("ben", { metadata: { v: 2 } });
    newer.subscribe("c");
    world.advance(50);
    older.subscribe("c");
    world.advance(50);
    expect(ann.newFrames()).toEqual(['joined: ben{"v":2}']);
  });

  test("never flap when the peer reconnects before its old socket is closed", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const old = world.join("ben", "c");
    ann.take();
    const fresh = world.connect("ben").withholdPongs();
    fresh.subscribe("c");
    world.advance(5);
    // The old socket ends while the new one still waits for its roster: ben was a member all the time.
    old.vanish();
    world.advance(200);
    expect(ann.newFrames()).toEqual([]);
    fresh.socket.pong();
    world.advance(20);
    expect(ann.newFrames()).toEqual([]);
    expect(fresh.newFrames()).toEqual(["ack r1", "roster: ann"]);
    fresh.vanish();
    world.advance(20);
    expect(ann.newFrames()).toEqual(["left: ben"]);
  });
});

describe("without the presence action", () => {
  test("a subscriber gets neither ping nor roster nor changes, and is shown to no one", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const shy = world.connect("shy", { actions: ["publish", "subscribe", "send"] });
    shy.subscribe("c");
    world.advance(600);
    const ben = world.join("ben", "c");
    shy.publish("c", 1);
    // Those without a text only ask whether it is there, as all connections are.
    expect(shy.socket.pings.filter((ping) => ping !== "")).toEqual([]);
    expect(shy.newFrames()).toEqual(["ack r1", "ack r2"]);
    expect(ann.newFrames()).toEqual(["joined: ben", "message shy 1"]);
    ben.subscribe("c");
    world.advance(20);
    expect(ben.newFrames()).toEqual(["message shy 1", "ack r2", "roster: ann"]);
  });

  test("when a key loses it, the others see left, and it gets messages but no more changes", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c", { key: PUBLISHABLE_KEY });
    ann.take();
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "subscribe", "send"] });
    world.advance(10);
    expect(ann.newFrames()).toEqual(["left: ben"]);
    world.join("cat", "c");
    ann.publish("c", 1);
    expect(ben.newFrames()).toEqual(["message ann 1"]);
    ben.publish("c", 2);
    ben.vanish();
    world.advance(600);
    expect(ann.newFrames()).toEqual(["joined: cat", "ack r2", "message ben 2"]);
  });

  test("when a key loses it while a roster waits for its pong, no roster comes", () => {
    const world = new World();
    const ben = world.connect("ben", { key: PUBLISHABLE_KEY }).withholdPongs();
    ben.subscribe("c");
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "subscribe", "send"] });
    ben.socket.pong();
    world.advance(600);
    expect(ben.newFrames()).toEqual(["ack r1"]);
  });

  test("when a key loses it between the pong and the tick, no roster comes either", () => {
    const world = new World();
    world.join("ann", "c");
    const ben = world.connect("ben", { key: PUBLISHABLE_KEY }).withholdPongs();
    ben.subscribe("c");
    ben.socket.pong();
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "subscribe", "send"] });
    world.advance(600);
    world.join("cat", "c");
    expect(ben.newFrames()).toEqual(["ack r1"]);
  });

  test("when a key loses it and gets it back, the peer is shown again only after its new roster", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c", { key: PUBLISHABLE_KEY });
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "subscribe", "send"] });
    world.advance(50);
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "subscribe", "send", "presence"] });
    ben.withholdPongs().subscribe("c");
    const cat = world.connect("cat");
    cat.subscribe("c");
    world.advance(50);
    expect(ann.newFrames()).toEqual(["joined: ben", "left: ben", "joined: cat"]);
    ben.socket.pong();
    world.advance(50);
    expect([ann.newFrames(), ben.newFrames()]).toEqual([["joined: ben"], ["ack r2", "roster: ann cat"]]);
  });

  test("when a key gets it back, the next subscribe brings a roster and shows the peer", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "subscribe", "send"] });
    const ben = world.join("ben", "c", { key: PUBLISHABLE_KEY });
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "subscribe", "send", "presence"] });
    ben.subscribe("c");
    world.advance(600);
    expect(ben.newFrames()).toEqual(["ack r2", "roster: ann"]);
    expect(ann.newFrames()).toEqual(["joined: ben"]);
  });
});
