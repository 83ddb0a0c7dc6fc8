/** The work that a message causes while changes of its sender are pending: counted, because it must not grow with every message. */
import { afterEach, describe, expect, spyOn, test } from "bun:test";
import type { MemberState, RemoteMembers } from "../../engine/engine.ts";
import { ROSTER_WAIT_MS } from "../../protocol/limits.ts";
import { Damping } from "../presence/damping.ts";
import { IndividualChanges } from "../presence/individual-changes.ts";
import { CHANGES_SHOWN_WINDOW_MS } from "../presence/limits.ts";
import { type Client, World } from "../testing/kit.ts";
import { Connection } from "./connection.ts";
import { Member } from "./member.ts";

const CHANNELS = Array.from({ length: 20 }, (_, i) => `c${i}`);
const RECEIVERS = 5;
const MESSAGES = 50;
/** Long enough for a pong and a tick. */
const STEP_MS = 30;

type Found = (members: RemoteMembers) => void;

const spies: { mockRestore(): void }[] = [];
afterEach(() => {
  for (const spy of spies.splice(0)) spy.mockRestore();
});

/** How often each of these is called while `act` runs. */
function counted(act: () => void): { lookUps: number; writeOverride: number; caughtUp: number; asked: number } {
  const lookUps = spyOn(Connection.prototype, "subscriptionTo");
  const writeOverride = spyOn(IndividualChanges.prototype, "writeOverride");
  const caughtUp = spyOn(IndividualChanges.prototype, "catchUp");
  const asked = spyOn(Damping.prototype, "allows");
  const all = { lookUps, writeOverride, caughtUp, asked };
  spies.push(...Object.values(all));
  act();
  const counts = Object.fromEntries(Object.entries(all).map(([name, spy]) => [name, spy.mock.calls.length]));
  return counts as ReturnType<typeof counted>;
}

const enter = (client: Client): void => {
  for (const channel of CHANNELS) client.subscribe(channel);
};
const exit = (client: Client): void => {
  for (const channel of CHANNELS) client.unsubscribe(channel);
};

/** Ann with several connections and Ben, all in every channel; Ben was shown to change at least `times` times. */
function flapped(times: number): { world: World; anns: Client[]; ben: Client } {
  const world = new World();
  const anns = Array.from({ length: RECEIVERS }, () => world.connect("ann"));
  for (const ann of anns) enter(ann);
  const ben = world.connect("ben");
  world.advance(600);
  for (let i = 0; i < times; i++) {
    if (i % 2 === 0) enter(ben);
    else exit(ben);
    world.advance(STEP_MS);
  }
  for (const client of [...anns, ben]) client.take();
  return { world, anns, ben };
}

const repeat = (times: number, act: (i: number) => void): void => {
  for (let i = 0; i < times; i++) act(i);
};

describe("messages of a peer whose changes are held back in many channels", () => {
  test("do not look at the receiver's subscriptions when they are direct, because nothing could be shown", () => {
    const { world, anns, ben } = flapped(6);
    const { lookUps, asked } = counted(() => repeat(MESSAGES, (i) => ben.send("ann", i + 1)));
    expect([lookUps, asked]).toEqual([0, 0]);
    for (const ann of anns)
      expect(ann.newFrames()).toEqual(Array.from({ length: MESSAGES }, (_, i) => `direct ben ${i + 1}`));
    world.advance(CHANGES_SHOWN_WINDOW_MS);
    for (const ann of anns) expect(ann.newFrames()).toEqual(CHANNELS.map(() => "left: ben"));
  });

  test("do not look at the channels when they are published", () => {
    const { anns, ben } = flapped(6);
    const { asked, caughtUp } = counted(() => repeat(MESSAGES, (i) => ben.publish("c0", i + 1)));
    expect([asked, caughtUp]).toEqual([0, 0]);
    expect(anns[0]?.newFrames().length).toBe(MESSAGES);
  });

  test("come after what was held back, once it is released, even before the tick", () => {
    const { world, anns, ben } = flapped(6);
    // The window of the first change ends 6 steps after it was shown; the tick that follows the release is 10 ms later.
    let waited = 0;
    while (!ben.connection.peer.pending && waited++ < 2 * CHANGES_SHOWN_WINDOW_MS) world.advance(1);
    ben.send("ann", 1);
    expect(anns[0]?.newFrames()).toEqual([...CHANNELS.map(() => "left: ben"), "direct ben 1"]);
  });
});

describe("direct messages of a peer that is still to be shown in many channels", () => {
  test("look at the receiver's connections once", () => {
    const { world, anns, ben } = flapped(0);
    ben.withholdPongs();
    enter(ben);
    const { writeOverride } = counted(() => repeat(MESSAGES, (i) => ben.send("ann", i + 1)));
    expect(writeOverride).toBe(CHANNELS.length * RECEIVERS);
    for (const ann of anns) {
      const [first, ...rest] = ann.newFrames().filter((one) => one !== "joined: ben");
      expect([first, rest.length]).toEqual(["direct ben 1", MESSAGES - 1]);
    }
    world.advance(600);
    expect(anns[0]?.newFrames()).toEqual([]);
  });

  test("look again for a connection that has got its roster since", () => {
    const { world, ben } = flapped(1);
    world.advance(2 * CHANGES_SHOWN_WINDOW_MS);
    for (const act of [exit, enter, exit, enter, exit, enter]) {
      act(ben);
      world.advance(STEP_MS);
    }
    ben.send("ann", 1);
    const late = world.connect("ann");
    late.subscribe("c0");
    world.advance(STEP_MS);
    expect(late.newFrames()).toEqual(["ack r1", "roster:"]);
    ben.send("ann", 2);
    expect(late.newFrames()).toEqual(["joined: ben", "direct ben 2"]);
  });

  test("look again for a connection that has got its roster before the tick", () => {
    // With this many members the channel ticks at most every 100 ms.
    const far: MemberState[] = Array.from({ length: 200 }, (_, i) => ({
      peerId: `far${i}`,
      metadataJson: undefined,
      since: i + 1,
      node: "far",
    }));
    const world = new World({
      engine: (engine) =>
        Object.assign(engine, { watch: (_a: string, _c: string, found: Found) => found(new Map([["far", far]])) }),
    });
    world.join("ann", "c0");
    const ben = world.connect("ben").withholdPongs();
    const late = world.connect("ann").withholdPongs();
    late.subscribe("c0");
    world.advance(ROSTER_WAIT_MS - 120);
    world.connect("cat").subscribe("c0");
    world.advance(20);
    ben.subscribe("c0");
    ben.send("ann", 1);
    late.take();
    world.advance(80);
    expect(late.newFrames()[0]).toStartWith("roster: cat far0");
    ben.send("ann", 2);
    expect(late.newFrames()).toEqual(["joined: ben", "direct ben 2"]);
    // Further messages do not look again.
    expect(counted(() => repeat(MESSAGES, (i) => ben.send("ann", i + 3))).writeOverride).toBe(0);
  });

  test("look again for each change of the sender", () => {
    const { anns, ben } = flapped(0);
    ben.withholdPongs();
    ben.subscribe("c0");
    ben.send("ann", 1);
    ben.unsubscribe("c0");
    ben.send("ann", 2);
    ben.subscribe("c0");
    ben.send("ann", 3);
    const expected = ["joined: ben", "direct ben 1", "left: ben", "direct ben 2", "joined: ben", "direct ben 3"];
    expect(anns[0]?.newFrames()).toEqual(expected);
  });
});

test("publishes of a member whose metadata is held back in many channels go through the channels once", () => {
  const { world, anns, ben } = flapped(1);
  const other = world.connect("ben", { metadata: 2 });
  const flip = (i: number): void => {
    if (i % 2 === 0) enter(other);
    else exit(other);
    world.advance(STEP_MS);
  };
  repeat(6, flip);
  // Ann is off the topic in all of them: she was shown Cat, and the others were not yet.
  const cat = world.connect("cat").withholdPongs();
  enter(cat);
  cat.send("ann", 1);
  flip(6);
  for (const ann of anns) ann.take();
  const shows = spyOn(Member.prototype, "show");
  spies.push(shows);
  repeat(MESSAGES, (i) => ben.publish("c0", i + 1));
  expect(shows.mock.calls.length).toBeLessThanOrEqual(CHANNELS.length);
  expect(anns[0]?.newFrames().length).toBe(MESSAGES);
});

test("a member with a pending change remembers a limited number of receivers", () => {
  const { world, ben } = flapped(0);
  ben.withholdPongs();
  ben.subscribe("c0");
  for (let i = 0; i < 200; i++) {
    world.connect(`p${i}`);
    ben.send(`p${i}`, 1);
  }
  const targets = ben.connection.subscriptionTo("c0")?.member?.upToDate?.targets;
  expect(targets?.size).toBeGreaterThan(0);
  expect(targets?.size).toBeLessThanOrEqual(64);
});

test("a publish looks, in subscriptions that are off the topic, at what they were shown of the sender only", () => {
  const { world, anns, ben } = flapped(0);
  const others = Array.from({ length: 10 }, (_, i) => world.connect(`other${i}`).withholdPongs());
  for (const other of others) {
    enter(other);
    other.send("ann", 1);
  }
  for (const ann of anns) expect(ann.connection.subscriptionTo("c0")?.overrides?.size).toBe(others.length);
  ben.withholdPongs();
  const maps = anns.flatMap(({ connection }) => connection.subscriptions.flatMap(({ overrides }) => overrides ?? []));
  const walks = maps.map((overrides) => spyOn(overrides, Symbol.iterator));
  for (const channel of CHANNELS) {
    ben.subscribe(channel);
    ben.publish(channel, 1);
  }
  expect(walks.filter((walk) => walk.mock.calls.length > 0)).toEqual([]);
  expect(anns[0]?.newFrames().slice(-2)).toEqual(["joined: ben", "message ben 1"]);
});

describe("the subscriptions of a connection", () => {
  test("are found by name, many or few, also after others have ended", () => {
    const world = new World();
    const ann = world.connect("ann");
    const names = Array.from({ length: 100 }, (_, i) => `room/${i}`);
    const expectFound = (held: readonly string[]): void => {
      for (const name of names)
        expect(ann.connection.subscriptionTo(name)?.channel.name).toBe(held.includes(name) ? name : undefined);
      expect(ann.connection.subscriptions.map(({ channel }) => channel.name)).toEqual([...held]);
    };
    const held: string[] = [];
    for (const name of names) {
      ann.subscribe(name);
      held.push(name);
      if (held.length % 9 === 0) expectFound(held);
    }
    while (held.length > 0) {
      const [name = ""] = held.splice(held.length >> 1, 1);
      ann.unsubscribe(name);
      if (held.length < 10) expectFound(held);
    }
    for (const name of names.slice(0, 12)) ann.subscribe(name);
    expectFound(names.slice(0, 12));
  });
});
