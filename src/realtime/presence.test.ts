import { describe, expect, test } from "bun:test";
import { type Client, inShort, PUBLISHABLE_KEY, type Received, World } from "./testing/kit.ts";

const presenceOf = (frames: readonly Received[]): Received[] => frames.filter((frame) => frame.type === "presence");

describe("the roster", () => {
  test("follows the ack behind a ping: on the first tick after its pong, also when it is empty", () => {
    const world = new World();
    const ann = world.connect("ann").holdPongs();
    ann.subscribe("c");
    expect(ann.news()).toEqual(["ack r1"]);
    expect(ann.socket.pings).toEqual(["1"]);
    world.advance(200);
    expect(ann.news()).toEqual([]);
    ann.socket.pong();
    world.advance(9);
    expect(ann.news()).toEqual([]);
    world.advance(1);
    expect(ann.socket.written.at(-1)).toBe('{"type":"presence","channel":"c","joined":[],"left":[],"snapshot":true}');
  });

  test("an earlier ping's pong does not open it, a later one's does", () => {
    const world = new World();
    const ann = world.connect("ann").holdPongs();
    ann.subscribe("c");
    ann.subscribe("d");
    ann.take();
    ann.socket.pong("1");
    world.advance(20);
    expect(presenceOf(ann.take()).map((frame) => frame.channel)).toEqual(["c"]);
    ann.subscribe("e");
    ann.socket.pong("3");
    world.advance(20);
    expect(presenceOf(ann.take()).map((frame) => frame.channel)).toEqual(["d", "e"]);
  });

  test("liveness pings and strange pongs open nothing", () => {
    const world = new World();
    const ann = world.connect("ann").holdPongs();
    ann.subscribe("c");
    ann.take();
    for (const payload of ["", "x", "0", "-1"]) ann.socket.pong(payload);
    world.advance(50);
    expect(ann.news()).toEqual([]);
  });

  test("is there 500 ms after the ack at the latest, though no pong ever came", () => {
    const world = new World();
    const ann = world.connect("ann").holdPongs();
    world.advance(7);
    ann.subscribe("c");
    world.advance(400);
    expect(ann.news()).toEqual(["ack r1"]);
    world.advance(100);
    expect(ann.news()).toEqual(["roster:"]);
  });

  test("each subscription without a pong has its own 500 ms", () => {
    const world = new World();
    const ann = world.connect("ann").holdPongs();
    ann.subscribe("c");
    world.advance(100);
    ann.subscribe("d");
    world.advance(1000);
    const rosters = presenceOf(ann.take());
    expect(rosters.map((frame) => frame.channel)).toEqual(["c", "d"]);
  });

  test("a pong that comes after the deadline writes no second one", () => {
    const world = new World();
    const ann = world.connect("ann").holdPongs();
    ann.subscribe("c");
    world.advance(600);
    ann.take();
    ann.socket.pong();
    world.advance(600);
    expect(ann.news()).toEqual([]);
  });

  test("no other presence frame comes between ack and roster, and messages do", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    const ann = world.connect("ann").holdPongs();
    ann.subscribe("c");
    const cat = world.connect("cat");
    cat.subscribe("c");
    world.advance(20);
    ben.publish("c", 1);
    cat.vanish();
    world.advance(20);
    ann.socket.pong();
    world.advance(10);
    expect(ann.news()).toEqual(["ack r1", "message ben 1", "roster: ben"]);
  });

  test("shows everybody but oneself, wherever one stands in it, with metadata where there is some", () => {
    const world = new World();
    const people = ["ann", "ben", "cat"].map((name, i) => world.join(name, "c", i === 1 ? { metadata: { i } } : {}));
    for (const client of people) client.subscribe("c");
    world.advance(20);
    expect(people.map((client) => client.news().slice(-1))).toEqual([
      ['roster: ben{"i":1} cat'],
      ["roster: ann cat"],
      ['roster: ann ben{"i":1}'],
    ]);
  });

  test("leaves out another connection of oneself as well", () => {
    const world = new World();
    world.join("ann", "c", { metadata: { at: "home" } });
    world.join("ben", "c");
    const again = world.connect("ann", { metadata: { at: "work" } });
    again.subscribe("c");
    world.advance(20);
    expect(again.news()).toEqual(["ack r1", "roster: ben"]);
  });

  test("comes again on a repeated subscribe, behind its own ack and ping, and nobody else notices", () => {
    const world = new World();
    const [ann, ben] = [world.join("ann", "c"), world.join("ben", "c")];
    ann.take();
    ann.holdPongs().subscribe("c");
    const cat = world.connect("cat");
    cat.subscribe("c");
    world.advance(50);
    expect(ann.news()).toEqual(["ack r2"]);
    ann.socket.pong();
    world.advance(10);
    expect(ann.news()).toEqual(["roster: ben cat"]);
    ann.subscribe("c");
    cat.vanish();
    world.advance(20);
    expect(ann.news()).toEqual(["ack r3"]);
    ann.socket.pong();
    world.advance(10);
    expect(ann.news()).toEqual(["roster: ben"]);
    ben.publish("c", 1);
    expect(ann.news()).toEqual(["message ben 1"]);
    expect(ben.news()).toEqual(["joined: cat", "left: cat", "ack r2"]);
  });

  test("asked for twice within one tick is written once, and changes are told once from then on", () => {
    const world = new World();
    const ann = world.connect("ann").holdPongs();
    for (let i = 0; i < 2; i++) {
      ann.subscribe("c");
      ann.socket.pong();
    }
    world.advance(10);
    expect(ann.news()).toEqual(["ack r1", "ack r2", "roster:"]);
    world.connect("ben").subscribe("c");
    world.advance(20);
    expect(ann.news()).toEqual(["joined: ben"]);
    // ann's roster and her news of ben, ben's roster: nobody was counted twice.
    expect(world.node.metrics.presenceFrames.value).toBe(3);
  });
});

test("a subscribe repeated between pong and tick waits for its own pong", () => {
  const world = new World();
  const ann = world.connect("ann").holdPongs();
  ann.subscribe("c");
  ann.socket.pong();
  ann.subscribe("c");
  world.advance(100);
  expect(ann.news()).toEqual(["ack r1", "ack r2"]);
  ann.socket.pong();
  world.advance(10);
  expect(ann.news()).toEqual(["roster:"]);
});

describe("those who are there", () => {
  test("learn of a newcomer once its roster is written, in the same tick, not before", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben", { metadata: { name: "Ben" } }).holdPongs();
    ben.subscribe("c");
    world.advance(100);
    expect(ann.news()).toEqual([]);
    // Nor does a tick that has other news bring it out.
    world.connect("cat").subscribe("c");
    world.advance(100);
    expect(ann.news()).toEqual(["joined: cat"]);
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

  test("learn of several newcomers and leavers of one tick in one frame", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const leavers = ["x", "y"].map((name) => world.join(name, "c", { metadata: name }));
    const comers = ["p", "q"].map((name) => world.connect(name).holdPongs());
    for (const comer of comers) comer.subscribe("c");
    ann.take();
    for (const leaver of leavers) leaver.vanish();
    for (const comer of comers) comer.socket.pong();
    world.advance(10);
    expect(ann.news()).toEqual(['joined: p q left: x"x" y"y"']);
  });

  test("newcomers of one tick see each other in their rosters and are not announced to each other again", () => {
    const world = new World();
    world.join("ann", "c");
    const comers = ["p", "q", "r"].map((name) => world.connect(name).holdPongs());
    for (const comer of comers) comer.subscribe("c");
    for (const comer of comers) comer.socket.pong();
    world.advance(100);
    expect(comers.map((comer) => comer.news().slice(1))).toEqual([
      ["roster: ann q r"],
      ["roster: ann p r"],
      ["roster: ann p q"],
    ]);
  });

  test("learn nothing where somebody leaves and joins within one tick with the same metadata", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c", { metadata: { v: 1 } });
    ann.take();
    ben.holdPongs();
    ben.unsubscribe("c");
    ben.subscribe("c");
    ben.socket.pong();
    world.advance(100);
    expect(ann.news()).toEqual([]);
    expect(ben.news().at(-1)).toBe("roster: ann");
  });

  test("learn nothing of somebody who joins and leaves within one tick", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben").holdPongs();
    ben.subscribe("c");
    ben.socket.pong();
    ben.vanish();
    world.advance(600);
    expect(ann.news()).toEqual([]);
  });

  test("learn of a leave and join with other metadata as joined again, and of nothing left", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const old = world.join("ben", "c", { metadata: { v: 1 } });
    ann.take();
    const fresh = world.connect("ben", { metadata: { v: 2 } }).holdPongs();
    fresh.subscribe("c");
    fresh.socket.pong();
    old.vanish();
    world.advance(10);
    expect(ann.news()).toEqual(['joined: ben{"v":2}']);
  });

  test("hear of a leave one tick later, once, with the metadata that was shown", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c", { metadata: { v: 1 } });
    ann.take();
    ben.unsubscribe("c");
    world.advance(9);
    expect(ann.news()).toEqual([]);
    world.advance(1);
    expect(ann.news()).toEqual(['left: ben{"v":1}']);
    ben.unsubscribe("c");
    ben.vanish();
    world.advance(100);
    expect(ann.news()).toEqual([]);
  });

  test("hear of changes only in channels they subscribe to, and no longer after unsubscribing", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    world.join("ben", "d");
    ann.unsubscribe("c");
    ann.take();
    world.join("cat", "c").vanish();
    world.advance(600);
    expect(ann.news()).toEqual([]);
  });
});

describe("several connections of one peer", () => {
  test("are one member: joined with the first, left after the last", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const first = world.join("ben", "c");
    const second = world.join("ben", "c");
    expect(ann.news()).toEqual(["joined: ben"]);
    first.vanish();
    world.advance(600);
    expect(ann.news()).toEqual([]);
    second.unsubscribe("c");
    world.advance(600);
    expect(ann.news()).toEqual(["left: ben"]);
  });

  test("show the metadata of the newest; when it goes, that of the one before it", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = [1, 2, 3].map((v) => world.join("ben", "c", { metadata: { v } }));
    expect(ann.news()).toEqual(['joined: ben{"v":1}', 'joined: ben{"v":2}', 'joined: ben{"v":3}']);
    ben[1]?.vanish();
    world.advance(100);
    expect(ann.news()).toEqual([]);
    ben[2]?.vanish();
    world.advance(100);
    expect(ann.news()).toEqual(['joined: ben{"v":1}']);
    ben[0]?.vanish();
    world.advance(100);
    expect(ann.news()).toEqual(['left: ben{"v":1}']);
  });

  test("the newest connection counts, not the newest subscription", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const older = world.connect("ben", { metadata: { v: 1 } });
    const newer = world.connect("ben", { metadata: { v: 2 } });
    newer.subscribe("c");
    world.advance(50);
    older.subscribe("c");
    world.advance(50);
    expect(ann.news()).toEqual(['joined: ben{"v":2}']);
  });

  test("one that comes back before its old socket is reaped never flaps for the others", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const old = world.join("ben", "c");
    ann.take();
    const fresh = world.connect("ben").holdPongs();
    fresh.subscribe("c");
    world.advance(5);
    // The old socket is noticed to be gone while the new one still waits for its roster: ben was here all the time.
    old.vanish();
    world.advance(200);
    expect(ann.news()).toEqual([]);
    fresh.socket.pong();
    world.advance(20);
    expect(ann.news()).toEqual([]);
    expect(fresh.news()).toEqual(["ack r1", "roster: ann"]);
    fresh.vanish();
    world.advance(20);
    expect(ann.news()).toEqual(["left: ben"]);
  });
});

describe("presence before words", () => {
  test("what is still to be told about a peer is written before its message", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben").holdPongs();
    ben.subscribe("c");
    ben.publish("c", "hello");
    expect(ann.news()).toEqual(["joined: ben", 'message ben "hello"']);
    ben.socket.pong();
    world.advance(50);
    expect(ann.news()).toEqual([]);
    expect(ben.news()).toEqual(["ack r1", "ack r2", "roster: ann"]);
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
    expect(ann.news()).toEqual(["left: ben", "message ben 1"]);
  });

  test("also where REST speaks in a peer's name", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben").holdPongs();
    ben.subscribe("c");
    const envelope = { from: "ben", metadataJson: undefined, dataJson: "1" };
    world.node.hub.delivery.publish("app", "c", envelope);
    expect(ann.news()).toEqual(["joined: ben", "message ben 1"]);
    ben.unsubscribe("c");
    void world.node.hub.delivery.send("app", "ann", envelope);
    expect(ann.news()).toEqual(["left: ben", "direct ben 1"]);
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
    expect(ann.news()).toEqual([]);
  });

  test("a direct message tells its receiver alone; the others are told with the roster, and everybody once", () => {
    const world = new World();
    const [ann, cat] = [world.join("ann", "c"), world.join("cat", "c")];
    ann.take();
    const ben = world.connect("ben").holdPongs();
    ben.subscribe("c");
    ben.send("ann", 1);
    expect([ann.news(), cat.news()]).toEqual([["joined: ben", "direct ben 1"], []]);
    // A tick with other news reaches ann too, and says nothing of ben.
    world.connect("dan").subscribe("c");
    world.advance(20);
    expect([ann.news(), cat.news()]).toEqual([["joined: dan"], ["joined: dan"]]);
    ben.socket.pong();
    world.advance(20);
    expect([ann.news(), cat.news(), ben.news().at(-1)]).toEqual([[], ["joined: ben"], "roster: ann cat dan"]);
    ben.vanish();
    world.advance(20);
    expect([ann.news(), cat.news()]).toEqual([["left: ben"], ["left: ben"]]);
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
    expect([ann.news(), cat.news()]).toEqual([["joined: ben", "direct ben 1", "left: ben"], []]);
  });

  test("a leave is told to the receiver of a direct message first, and to nobody twice", () => {
    const world = new World();
    const [ann, cat] = [world.join("ann", "c"), world.join("cat", "c")];
    const ben = world.join("ben", "c");
    for (const client of [ann, cat]) client.take();
    ben.unsubscribe("c");
    ben.send("ann", 1);
    expect([ann.news(), cat.news()]).toEqual([["left: ben", "direct ben 1"], []]);
    world.advance(20);
    expect([ann.news(), cat.news()]).toEqual([[], ["left: ben"]]);
  });

  test("one that was told alone and subscribes again takes its roster, and what follows", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben").holdPongs();
    ben.subscribe("c");
    ben.send("ann", 1);
    ann.subscribe("c");
    world.advance(20);
    expect(ann.news()).toEqual(["joined: ben", "direct ben 1", "ack r2", "roster:"]);
    ben.socket.pong();
    world.advance(20);
    expect(ann.news()).toEqual(["joined: ben"]);
  });

  test("a message after a direct one tells the others before it, and its first receiver nothing again", () => {
    const world = new World();
    const [ann, cat] = [world.join("ann", "c"), world.join("cat", "c")];
    ann.take();
    const ben = world.connect("ben").holdPongs();
    ben.subscribe("c");
    ben.send("ann", 1);
    ben.publish("c", 2);
    expect(ann.news()).toEqual(["joined: ben", "direct ben 1", "message ben 2"]);
    expect(cat.news()).toEqual(["joined: ben", "message ben 2"]);
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
    expect(ann.news()).toEqual(["joined: ben", "message ben 1"]);
    world.advance(10);
    expect(ann.news()).toEqual(["left: cat"]);
  });
});

describe("without the presence action", () => {
  test("a subscriber gets neither ping nor roster nor changes, and is shown to nobody", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const shy = world.connect("shy", { actions: ["publish", "subscribe", "send"] });
    shy.subscribe("c");
    world.advance(600);
    const ben = world.join("ben", "c");
    shy.publish("c", 1);
    expect(shy.socket.pings).toEqual([]);
    expect(shy.news()).toEqual(["ack r1", "ack r2"]);
    expect(ann.news()).toEqual(["joined: ben", "message shy 1"]);
    ben.subscribe("c");
    world.advance(20);
    expect(ben.news()).toEqual(["message shy 1", "ack r2", "roster: ann"]);
  });

  test("when a key loses it: the others see left, it sees nothing more, messages go on", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c", { key: PUBLISHABLE_KEY });
    ann.take();
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "subscribe", "send"] });
    world.advance(10);
    expect(ann.news()).toEqual(["left: ben"]);
    world.join("cat", "c");
    ann.publish("c", 1);
    expect(ben.news()).toEqual(["message ann 1"]);
    ben.publish("c", 2);
    ben.vanish();
    world.advance(600);
    expect(ann.news()).toEqual(["joined: cat", "ack r2", "message ben 2"]);
  });

  test("when a key loses it while a roster is waited for, none comes", () => {
    const world = new World();
    const ben = world.connect("ben", { key: PUBLISHABLE_KEY }).holdPongs();
    ben.subscribe("c");
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "subscribe", "send"] });
    ben.socket.pong();
    world.advance(600);
    expect(ben.news()).toEqual(["ack r1"]);
  });

  test("when a key loses it between the pong and the tick, no roster comes either", () => {
    const world = new World();
    world.join("ann", "c");
    const ben = world.connect("ben", { key: PUBLISHABLE_KEY }).holdPongs();
    ben.subscribe("c");
    ben.socket.pong();
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "subscribe", "send"] });
    world.advance(600);
    world.join("cat", "c");
    expect(ben.news()).toEqual(["ack r1"]);
  });

  test("when a key loses it and gets it back, the peer is shown again behind its new roster only", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c", { key: PUBLISHABLE_KEY });
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "subscribe", "send"] });
    world.advance(50);
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "subscribe", "send", "presence"] });
    ben.holdPongs().subscribe("c");
    const cat = world.connect("cat");
    cat.subscribe("c");
    world.advance(50);
    expect(ann.news()).toEqual(["joined: ben", "left: ben", "joined: cat"]);
    ben.socket.pong();
    world.advance(50);
    expect([ann.news(), ben.news()]).toEqual([["joined: ben"], ["ack r2", "roster: ann cat"]]);
  });

  test("when a key gets it back, the next subscribe brings a roster and shows the peer", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "subscribe", "send"] });
    const ben = world.join("ben", "c", { key: PUBLISHABLE_KEY });
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "subscribe", "send", "presence"] });
    ben.subscribe("c");
    world.advance(600);
    expect(ben.news()).toEqual(["ack r2", "roster: ann"]);
    expect(ann.news()).toEqual(["joined: ben"]);
  });
});

describe("unsubscribing or vanishing before the roster", () => {
  const ways: [string, (ben: Client) => void][] = [
    ["unsubscribes", (ben) => void ben.unsubscribe("c")],
    ["vanishes", (ben) => ben.vanish()],
  ];
  for (const [name, go] of ways) {
    test(`one who ${name} while its pong is awaited is never shown and gets no roster`, () => {
      const world = new World();
      const ann = world.join("ann", "c");
      const ben = world.connect("ben").holdPongs();
      ben.subscribe("c");
      go(ben);
      ben.socket.pong();
      world.advance(600);
      expect(ann.news()).toEqual([]);
      expect(presenceOf(ben.take())).toEqual([]);
    });

    test(`one who has spoken and ${name} while its pong is awaited is told as left`, () => {
      const world = new World();
      const ann = world.join("ann", "c");
      const ben = world.connect("ben").holdPongs();
      ben.subscribe("c");
      ben.publish("c", 1);
      go(ben);
      world.advance(600);
      expect(ann.news()).toEqual(["joined: ben", "message ben 1", "left: ben"]);
    });
  }

  test("a roster for a subscription that was given up and taken again is written once, for the new one", () => {
    const world = new World();
    const ben = world.connect("ben").holdPongs();
    ben.subscribe("c");
    ben.unsubscribe("c");
    ben.subscribe("c");
    ben.socket.pong("1");
    world.advance(20);
    expect(ben.news()).toEqual(["ack r1", "ack r2", "ack r3"]);
    ben.socket.pong("2");
    world.advance(600);
    expect([ben.news(), ben.peer.gated]).toEqual([["roster:"], 0]);
  });
});
