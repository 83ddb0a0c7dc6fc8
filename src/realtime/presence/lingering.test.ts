import { describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { RESYNC } from "../../protocol/close.ts";
import { LINGERING_PER_APP_MAX } from "../connections/limits.ts";
import { Subscription } from "../state/subscription.ts";
import { CALL, clientCloses, graceWorld, withStates } from "../testing/grace.ts";
import { PUBLISHABLE_KEY, SECRET_KEY, World } from "../testing/kit.ts";

const APP = anAppId("app");

describe("grace", () => {
  for (const nodes of [1, 2])
    test(`a member that is lost before its roster was never shown, and does not linger (nodes: ${nodes})`, () => {
      const world = graceWorld(nodes);
      const cat = world.join("cat", CALL);
      for (const end of ["lost", "closed by the service"]) {
        const ann = world.connect("ann").withholdPongs();
        ann.subscribe(CALL);
        world.advance(50);
        if (end === "lost") ann.vanish();
        else world.node.hub.connections.close(ann.connection, RESYNC);
        world.advance(60_000);
        expect(cat.newFrames(), end).toEqual([]);
      }
    });

  test("a member that was lost stays for its time; those with states are shown at once that it is lost", () => {
    const world = graceWorld();
    const [ann, ben] = [world.join("ann", CALL), world.join("ben", CALL)];
    const cat = withStates(world, "cat", CALL);
    ben.take();
    ann.request({ type: "state", channel: CALL, state: { n: 1 } });
    world.advance(20);
    cat.take();
    ann.vanish();
    world.advance(20);
    expect(cat.take()).toEqual([
      { type: "state", channel: CALL, changed: [{ peerId: "ann", state: { n: 1 }, lost: true }] },
    ]);
    world.advance(29_900);
    expect([ben.take(), cat.take()]).toEqual([[], []]);
    world.advance(200);
    expect([ben.newFrames(), cat.newFrames()]).toEqual([["left: ann"], ["left: ann"]]);
  });

  test("a client that closes with 1001 or 4000 is lost; with 1000, or after an unsubscribe, it leaves at once", () => {
    const world = graceWorld();
    const cat = world.join("cat", CALL);
    for (const [i, code] of [1001, 4000, 1005].entries()) clientCloses(world.join(`lost${i}`, CALL), code);
    cat.take();
    world.advance(1000);
    expect(cat.newFrames()).toEqual([]);
    const ann = world.join("ann", CALL);
    const ben = world.join("ben", CALL);
    cat.take();
    clientCloses(ann, 1000);
    ben.unsubscribe(CALL);
    ben.vanish();
    world.advance(20);
    expect(cat.newFrames()).toEqual(["left: ann ben"]);
  });

  test("without a grace period a lost member leaves at once", () => {
    const world = graceWorld();
    const cat = world.join("cat", "c");
    const ann = world.join("ann", "c");
    cat.take();
    ann.vanish();
    world.advance(20);
    expect(cat.newFrames()).toEqual(["left: ann"]);
  });

  test("a member that comes back was never away: nothing is shown but that it is not lost any more", () => {
    const world = graceWorld();
    const ann = world.join("ann", CALL);
    const ben = world.join("ben", CALL);
    const cat = withStates(world, "cat", CALL);
    ann.request({ type: "state", channel: CALL, state: { n: 1 } });
    world.advance(20);
    ann.vanish();
    world.advance(5000);
    for (const client of [ben, cat]) client.take();
    const returned = world.connect("ann");
    returned.subscribe(CALL);
    world.advance(600);
    expect(returned.newFrames()).toEqual(["ack r1", "roster: ben cat"]);
    expect(ben.take()).toEqual([]);
    expect(cat.take()).toEqual([{ type: "state", channel: CALL, changed: [{ peerId: "ann", state: { n: 1 } }] }]);
    world.advance(60_000);
    expect(ben.take()).toEqual([]);
    clientCloses(returned, 1000);
    world.advance(20);
    expect(ben.newFrames()).toEqual(["left: ann"]);
  });

  test("a state that a peer has taken back stays so, also when it subscribes again", () => {
    for (const isLater of [false, true]) {
      const world = graceWorld(2);
      const ben = withStates(world, "ben", CALL, 1);
      const early = isLater ? world.join("ann", CALL) : undefined;
      const other = world.join("ann", CALL, { node: 1 });
      other.request({ type: "state", channel: CALL, state: { n: 1 } });
      world.advance(50);
      other.vanish();
      world.advance(50);
      const ann = early ?? world.join("ann", CALL);
      ann.request({ type: "state", channel: CALL, state: null });
      world.advance(50);
      const states = ben.take().filter(({ type }) => type === "state");
      expect(states.at(-1)?.changed).toEqual([{ peerId: "ann", state: null }]);
      ann.subscribe(CALL);
      world.advance(5000);
      expect(ben.take()).toEqual([]);
    }
  });

  test("a newcomer finds lost members in its roster", () => {
    const world = graceWorld();
    world.join("ann", CALL).vanish();
    const ben = world.connect("ben");
    ben.subscribe(CALL, { state: true });
    world.advance(600);
    expect(ben.take().at(-1)?.joined).toEqual([{ peerId: "ann", state: null, lost: true }] as never);
  });

  test("a direct message to a lost member finds no one", () => {
    const world = graceWorld();
    world.join("ann", CALL).vanish();
    const ben = world.join("ben", CALL);
    ben.send("ann", 1);
    expect(ben.newFrames()).toEqual(["error peer_not_found r2"]);
  });

  test("a kick, the revocation of the key and its narrowing end a grace", async () => {
    const ends: ((world: World) => unknown)[] = [
      (world) => world.node.hub.kicks.kick(APP, "ann"),
      (world) => world.keys.editKey(SECRET_KEY, { revoked: 1 }),
      (world) => world.keys.editKey(SECRET_KEY, { channelPatterns: ["other"] }),
      (world) => world.keys.editKey(SECRET_KEY, { actions: ["subscribe"] }),
    ];
    for (const end of ends) {
      const world = graceWorld();
      const ben = world.join("ben", CALL, { key: PUBLISHABLE_KEY });
      world.join("ann", CALL).vanish();
      world.advance(100);
      ben.take();
      await end(world);
      world.advance(20);
      expect(ben.newFrames()).toEqual(["left: ann"]);
    }
  });

  test("the last connection decides: after its goodbye, one that was lost before does not count", () => {
    const world = graceWorld(2);
    const cat = world.join("cat", CALL, { node: 1 });
    const [first, second] = [world.join("ann", CALL), world.join("ann", CALL, { node: 1 })];
    cat.take();
    first.vanish();
    world.advance(100);
    clientCloses(second, 1000);
    world.advance(100);
    expect(cat.newFrames()).toEqual(["left: ann"]);
    world.advance(60_000);
    expect(cat.newFrames()).toEqual([]);
  });

  test("a subscribe that is refused before its ack does not end the grace of its peer", () => {
    const world = graceWorld();
    const ben = world.join("ben", CALL);
    world.join("ann", CALL).vanish();
    world.advance(100);
    ben.take();
    const { hub } = world.node;
    const { connection } = world.connect("ann");
    const channel = hub.spaces.channel(APP, CALL);
    if (!channel) throw new Error("there is no channel");
    const subscription = new Subscription(connection, channel);
    subscription.join(channel.member(connection.peer));
    hub.presence.onOpening(subscription);
    connection.addSubscription(subscription);
    channel.subscribers++;
    hub.channels.end(subscription, "left");
    world.advance(1000);
    expect(ben.take()).toEqual([]);
    world.advance(30_000);
    expect(ben.newFrames()).toEqual(["left: ann"]);
  });

  test("one application has no more than its share of the members that linger", () => {
    const world = graceWorld();
    const [ben, ann, dan] = [world.join("ben", CALL), world.join("ann", CALL), world.join("dan", CALL)];
    ben.take();
    const { space } = ben.connection.peer;
    space.lingeringCount = LINGERING_PER_APP_MAX - 1;
    ann.vanish();
    dan.vanish();
    world.advance(100);
    expect(ben.newFrames()).toEqual(["left: dan"]);
    world.advance(31_000);
    expect([ben.newFrames(), space.lingeringCount]).toEqual([["left: ann"], LINGERING_PER_APP_MAX - 1]);
  });

  test("nothing is left of members whose time is over", () => {
    const world = graceWorld();
    world.join("ann", CALL).vanish();
    world.advance(31_000);
    expect(world.node.hub.spaces.channelCount).toBe(0);
    expect(world.node.hub.presence.lingering.size).toBe(0);
  });
});

describe("uncommitted messages", () => {
  test("a leave waits until the store has answered for the last message", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    const ann = world.join("ann", "c");
    ben.take();
    const { connection } = ann;
    connection.withExtras.uncommitted = 1;
    clientCloses(ann, 1000);
    world.advance(5000);
    expect(ben.take()).toEqual([]);
    connection.withExtras.uncommitted = 0;
    for (const run of connection.extras?.whenCommitted ?? []) run();
    world.advance(20);
    expect(ben.newFrames()).toEqual(["left: ann"]);
  });

  test("a member that is lost meanwhile stays for its grace from then on", () => {
    const world = graceWorld();
    const ben = world.join("ben", CALL);
    const ann = world.join("ann", CALL);
    ben.take();
    const { connection } = ann;
    connection.withExtras.uncommitted = 1;
    ann.vanish();
    world.advance(100);
    for (const run of connection.extras?.whenCommitted ?? []) run();
    world.advance(29_000);
    expect(ben.take()).toEqual([]);
    world.advance(2000);
    expect(ben.newFrames()).toEqual(["left: ann"]);
  });

  for (const way of ["says goodbye", "is lost"])
    test(`a kick of a member that ${way} before does not show its leave before its message, and leaves no grace`, async () => {
      const world = graceWorld();
      const ben = world.join("ben", CALL);
      const ann = world.join("ann", CALL);
      ben.take();
      const { connection } = ann;
      connection.withExtras.uncommitted = 1;
      clientCloses(ann, way === "is lost" ? 1006 : 1000);
      world.advance(100);
      await world.node.hub.kicks.kick(APP, "ann");
      world.advance(100);
      expect(ben.take()).toEqual([]);
      connection.withExtras.uncommitted = 0;
      for (const run of connection.extras?.whenCommitted ?? []) run();
      world.advance(20);
      expect(ben.newFrames()).toEqual(["left: ann"]);
    });
});
