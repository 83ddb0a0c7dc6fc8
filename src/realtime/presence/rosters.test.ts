/** Channels with many members: rosters in parts, and ticks that keep the cost of many joins linear. */
import { describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { Engine, MemberState, RemoteMembers } from "../../engine/engine.ts";
import { type Client, type Received, World } from "../testing/kit.ts";

const APP = anAppId("app");

const presenceOf = (frames: readonly Received[]): Received[] => frames.filter((frame) => frame.type === "presence");

/** An engine that answers that every channel has these members on another node. */
const withStrangers =
  (states: readonly MemberState[]) =>
  (engine: Engine): Engine =>
    Object.assign(engine, {
      watch: (_app: string, _channel: string, found: (members: RemoteMembers) => void) =>
        found(new Map([["far", states]])),
    });

const strangers = (count: number, metadataJson?: string): MemberState[] =>
  Array.from({ length: count }, (_, i) => ({ peerId: `far${i}`, metadataJson, since: i + 1, node: "far" }));

describe("a roster too long for one frame", () => {
  const LONG = JSON.stringify("x".repeat(4000));
  const many = (): World => new World({ engine: withStrangers(strangers(500, LONG)) });
  const sizes = (frames: readonly Received[]): number[] => frames.map((frame) => frame.joined?.length ?? 0);

  test("is written in parts under the limit, each marked as a roster, with every member once", () => {
    const world = many();
    const ann = world.connect("ann");
    ann.subscribe("c");
    world.advance(600);
    const rosters = presenceOf(ann.take());
    expect(rosters.length).toBe(3);
    expect(rosters.every((frame) => frame.snapshot === true)).toBe(true);
    expect(new Set(rosters.flatMap((frame) => frame.joined?.map((entry) => entry.peerId))).size).toBe(500);
    expect(ann.socket.written.every((text) => Buffer.byteLength(text) <= 960_200)).toBe(true);
  });

  test("begins before the newcomer is shown to the others, which is done once", () => {
    const world = many();
    const ann = world.connect("ann");
    ann.subscribe("c");
    world.advance(600);
    const ben = world.connect("ben");
    ben.subscribe("c");
    const order: string[] = [];
    for (const [name, { socket }] of Object.entries({ ann, ben })) {
      const send = socket.send.bind(socket);
      socket.send = (text) => {
        order.push(name);
        return send(text);
      };
    }
    world.advance(600);
    expect([order[0], order.filter((name) => name === "ann").length]).toEqual(["ben", 1]);
  });

  test("is written part by part as each drains, and changes of the channel wait behind them", () => {
    const world = many();
    const ann = world.connect("ann").withholdPongs();
    ann.subscribe("c");
    ann.take();
    ann.socket.stalled = true;
    ann.socket.pong();
    world.advance(600);
    const first = ann.take();
    expect([first.length, first[0]?.snapshot]).toEqual([1, true]);
    const ben = world.connect("ben", { metadata: { v: 1 } });
    ben.subscribe("c");
    world.advance(600);
    world.node.hub.engineCallbacks.membersChanged("far", APP, "c", [], ["far0", "far499"]);
    world.advance(600);
    expect(ann.newFrames()).toEqual([]);
    ann.socket.read();
    ann.socket.read();
    const rest = ann.take();
    expect([rest.length, rest.every((frame) => frame.snapshot)]).toEqual([2, true]);
    expect(sizes(first)[0] ?? 0).toBeLessThan(241);
    ann.socket.read();
    expect(ann.take().map((frame) => [frame.snapshot, frame.joined?.length, frame.left?.length])).toEqual([
      [undefined, 1, 2],
    ]);
    // From here on it is shown changes like the others, and the next drain writes nothing twice.
    ann.socket.read();
    ben.vanish();
    world.advance(600);
    expect(ann.newFrames()).toEqual(['left: ben{"v":1}']);
  });

  test("is not followed by a peer that joined and left meanwhile, or changed and changed back", () => {
    const world = many();
    const ann = world.connect("ann").withholdPongs();
    ann.subscribe("c");
    ann.take();
    ann.socket.stalled = true;
    ann.socket.pong();
    world.advance(600);
    ann.take();
    const ben = world.join("ben", "c");
    ben.vanish();
    world.advance(600);
    for (let i = 0; i < 3; i++) ann.socket.read();
    expect(ann.take().map((frame) => frame.snapshot)).toEqual([true, true]);
  });

  test("ends when its receiver unsubscribes or disconnects in the middle", () => {
    for (const go of [(ann: Client) => void ann.unsubscribe("c"), (ann: Client) => ann.vanish()]) {
      const world = many();
      const ann = world.connect("ann");
      ann.socket.stalled = true;
      ann.subscribe("c");
      world.advance(600);
      ann.socket.read();
      ann.take();
      go(ann);
      ann.socket.read();
      ann.socket.read();
      expect(presenceOf(ann.take())).toEqual([]);
    }
  });

  test("begins anew after a repeated subscribe in the middle", () => {
    const world = many();
    const ann = world.connect("ann");
    ann.socket.stalled = true;
    ann.subscribe("c");
    world.advance(600);
    ann.take();
    ann.withholdPongs().subscribe("c");
    ann.socket.read();
    expect(ann.newFrames()).toEqual(["ack r2"]);
    ann.socket.stalled = false;
    ann.socket.pong();
    world.advance(600);
    expect(sizes(ann.take()).reduce((sum, one) => sum + one, 0)).toBe(500);
  });
});

describe("large channels", () => {
  test("tick less often, so that the cost of many joins stays linear, and still show everything", () => {
    const world = new World({ engine: withStrangers(strangers(1000)) });
    const ann = world.join("ann", "c");
    for (let i = 0; i < 50; i++) {
      world.connect(`p${i}`).subscribe("c");
      world.advance(10);
    }
    world.advance(500);
    const changes = presenceOf(ann.take());
    // 500 ms of joins and a tick about every 500 ms: 50 frames would be one per join.
    expect(changes.length).toBeGreaterThanOrEqual(2);
    expect(changes.length).toBeLessThanOrEqual(3);
    expect(changes.flatMap((frame) => frame.joined ?? []).length).toBe(50);
  });

  test("stay linear when joins take seconds and pongs never come; all end up knowing all others", () => {
    const world = new World();
    const all: Client[] = [];
    for (let i = 0; i < 400; i++) {
      all.push(world.connect(`p${i}`, { pongAfterMs: undefined }));
      all.at(-1)?.subscribe("c");
      world.advance(10);
    }
    world.advance(1000);
    const frames = all.map((client) => presenceOf(client.take()));
    // 4 s: each gets one roster, perhaps what it missed, and changes at most every 200 ms.
    expect(frames.flat().length).toBeLessThan(400 * 2 + (4000 / 200) * 400);
    for (const [i, own] of frames.entries()) {
      expect(own.filter(({ snapshot }) => snapshot).length).toBe(1);
      const names = own.flatMap(({ joined = [] }) => joined.map(({ peerId }) => peerId));
      expect(names.length).toBe(399);
      expect(new Set(names).size).toBe(399);
      expect(names).not.toContain(`p${i}`);
    }
  });

  describe("a roster before the tick", () => {
    /** ben's roster was due and is written; the channel is large and busy, and shows him some 60 ms later. */
    const early = (): { world: World; ann: Client; ben: Client; cat: Client } => {
      const world = new World({ engine: withStrangers(strangers(1000)) });
      const ann = world.join("ann", "c");
      const ben = world.connect("ben", { pongAfterMs: undefined });
      ben.subscribe("c");
      world.advance(20);
      const cat = world.connect("cat");
      cat.subscribe("c");
      world.advance(450);
      expect(ben.newFrames().map((text) => text.slice(0, 7))).toEqual(["ack r1", "roster:"]);
      expect(ann.newFrames().join()).not.toContain("ben");
      return { world, ann, ben, cat };
    };

    test("is followed by what has changed until the tick, which shows its receiver to the others, once", () => {
      const { world, ann, ben } = early();
      world.connect("dan").subscribe("c");
      world.advance(200);
      expect(ben.newFrames()).toEqual(["joined: dan"]);
      expect(ann.newFrames()).toEqual(["joined: ben dan"]);
      world.join("eve", "c");
      world.advance(600);
      expect([ann.newFrames(), ben.newFrames()]).toEqual([["joined: eve"], ["joined: eve"]]);
    });

    test("is followed by changes of a peer before that peer's message, joins and leaves", () => {
      const { world, ann, ben, cat } = early();
      const dan = world.connect("dan").withholdPongs();
      dan.subscribe("c");
      dan.publish("c", 1);
      expect(ben.newFrames()).toEqual(["joined: dan", "message dan 1"]);
      expect(ann.newFrames()).toEqual(["joined: ben dan", "message dan 1"]);
      const eve = world.connect("eve", { pongAfterMs: undefined });
      eve.subscribe("c");
      world.advance(470);
      expect(eve.newFrames().map((text) => text.slice(0, 7))).toEqual(["ack r1", "roster:"]);
      cat.unsubscribe("c");
      cat.send("eve", 2);
      expect(eve.newFrames()).toEqual(["left: cat", "direct cat 2"]);
    });

    test("does not delay a join before the receiver's own message, and the receiver is not shown itself", () => {
      const { world, ann, ben } = early();
      ben.publish("c", 1);
      expect(ann.newFrames()).toEqual(["joined: ben", "message ben 1"]);
      world.advance(600);
      expect([ann.newFrames(), ben.newFrames()]).toEqual([[], ["ack r2"]]);
    });

    test("leaves its receiver unseen by the others if it leaves before the tick", () => {
      const { world, ann, ben } = early();
      ben.unsubscribe("c");
      world.advance(600);
      expect([ann.newFrames(), ben.newFrames()]).toEqual([[], ["ack r2"]]);
    });

    test("does not show the receiver to itself when it drains before the tick", () => {
      const { world, ann, ben } = early();
      ben.socket.read();
      world.advance(600);
      expect([ann.newFrames(), ben.newFrames()]).toEqual([["joined: ben"], []]);
    });

    test("is written once more after a repeated subscribe before the tick", () => {
      const { world, ann, ben } = early();
      ben.subscribe("c");
      world.advance(1200);
      expect(ben.newFrames().map((text) => text.slice(0, 7))).toEqual(["ack r2", "roster:"]);
      expect(ann.newFrames()).toEqual(["joined: ben"]);
    });
  });

  test("do not slow down the ticks of a small channel", () => {
    const world = new World({ engine: (engine) => engine });
    const ann = world.join("ann", "c");
    world.advance(5);
    world.connect("ben").subscribe("c");
    world.advance(11);
    expect(ann.newFrames()).toEqual(["joined: ben"]);
  });

  test("never delay a roster for longer than 500 ms from its ack", () => {
    const world = new World({ engine: withStrangers(strangers(2500)) });
    world.join("ann", "c");
    const late: string[] = [];
    let changes = 0;
    const pass = (ms: number): void => {
      for (let i = 0; i < ms; i += 10) {
        // Changes of other members keep the channel as busy as possible.
        const state: MemberState = { peerId: "far0", metadataJson: `${++changes}`, since: 9, node: "far" };
        world.node.hub.engineCallbacks.membersChanged("far", APP, "c", [state], []);
        world.advance(10);
      }
    };
    for (let pongAfterMs = 0; pongAfterMs <= 520; pongAfterMs += 40) {
      const ben = world.connect("ben", { pongAfterMs });
      ben.subscribe("c");
      pass(500);
      if (ben.take().filter((frame) => frame.snapshot).length !== 1) late.push(`pong after ${pongAfterMs} ms`);
      ben.vanish();
      pass(700);
    }
    expect(late).toEqual([]);
  });
});
