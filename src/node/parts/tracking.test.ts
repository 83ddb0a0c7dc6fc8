/** What events of connections and members add up to is what is so, over nodes that come, die, freeze and stop, and a store that is away. */
import { describe, expect, test } from "bun:test";
import { spaceOf } from "../../base/ids.ts";
import { APP, type Client } from "../../realtime/testing/kit.ts";
import { newFolders } from "../../store/testing/places.ts";
import { ALL, join, STEP_MS, Tracked } from "../testing/tracked.ts";

const newFolder = newFolders();

async function tracked(nodes: number, work: (one: Tracked) => Promise<void>): Promise<void> {
  const one = await Tracked.open(newFolder, nodes);
  try {
    await work(one);
  } finally {
    await one.close();
  }
}

describe("connections and members", () => {
  test("are said when they come and go; a channel is vacated after 5 s", () =>
    tracked(1, async (one) => {
      one.book.ask(ALL);
      const ann = join(one, "ann", "c");
      await one.pass(1500);
      expect(one.saidNow()).toEqual(["connection.opened", "channel.occupied", "peer.joined"]);
      ann.vanish();
      await one.pass(2000);
      expect(one.saidNow()).toEqual(["connection.closed", "peer.left"]);
      await one.pass(5000);
      expect(one.saidNow()).toEqual(["channel.vacated"]);
    }));

  test("of rooms, reserved channels and channels that no pattern names are not followed", () =>
    tracked(1, async (one) => {
      one.book.ask(["peer.*", "channel.*"], ["calls/*"]);
      join(one, "ann", "c");
      await one.pass(2000);
      expect(one.saidNow()).toEqual([]);
      join(one, "ben", "calls/1");
      await one.pass(2000);
      expect(one.saidNow()).toEqual(["channel.occupied", "peer.joined"]);
    }));

  test("that are there when someone begins to ask make no events, until they end", () =>
    tracked(2, async (one) => {
      const clients = Array.from({ length: 300 }, (_, i) => join(one, `p${i}`, `c${i % 7}`, i % 2));
      await one.pass(1500);
      one.book.ask(ALL);
      await one.pass(2000);
      expect(one.saidNow()).toEqual([]);
      for (const { connections, members, channels } of [one.so]) {
        for (const id of connections) one.reported.connections.add(id);
        for (const name of members) one.reported.members.add(name);
        for (const name of channels) one.reported.channels.add(name);
      }
      for (const client of clients.slice(10)) client.vanish();
      await one.pass(8000);
      expect(one.said).toEqual(one.so);
      // More channels are asked for: those that were are said as before.
      one.book.ask(["connection.*"]);
      await one.pass(8000);
      one.saidNow();
      one.book.ask(ALL);
      join(one, "new", "d");
      await one.pass(8000);
      expect(one.saidNow()).toEqual(["connection.opened", "channel.occupied", "peer.joined"]);
    }));

  test("over a grace and a move to another node, a member has not left", () =>
    tracked(2, async (one) => {
      one.book.ask(["peer.*", "channel.*"]);
      const ann = join(one, "ann", "calls/1");
      join(one, "ben", "calls/1", 1);
      await one.pass(2000);
      one.saidNow();
      ann.vanish();
      await one.pass(3000);
      expect(one.saidNow()).toEqual([]);
      const back = join(one, "ann", "calls/1", 1);
      await one.pass(8000);
      expect(one.saidNow()).toEqual([]);
      back.vanish();
      await one.pass(4000);
      expect(one.saidNow()).toEqual([]);
      await one.pass(3000);
      expect(one.saidNow()).toEqual(["peer.left"]);
    }));

  test("of a node that is silent end after 10 s, and are said again when it wakes", () =>
    tracked(2, async (one) => {
      one.book.ask(ALL);
      join(one, "ann", "c");
      await one.pass(12_000);
      one.saidNow();
      one.cut.add(0);
      await one.pass(6000);
      expect(one.saidNow()).toEqual([]);
      await one.pass(15_000);
      expect(one.saidNow()).toEqual(["connection.closed", "peer.left", "channel.vacated"]);
      join(one, "ben", "c");
      await one.pass(1000);
      one.cut.delete(0);
      await one.pass(8000);
      expect(one.said).toEqual(one.so);
      expect(one.saidNow()).toHaveLength(5);
    }));

  test("of a node that has died end, and a store that was away makes no one silent", () =>
    tracked(2, async (one) => {
      one.book.ask(ALL);
      join(one, "ann", "c");
      join(one, "ben", "c", 1);
      await one.pass(12_000);
      one.saidNow();
      one.isAway = true;
      await one.pass(30_000);
      one.isAway = false;
      await one.pass(30_000);
      expect(one.saidNow()).toEqual([]);
      one.world.kill(0);
      one.lead();
      await one.pass(25_000);
      expect(one.saidNow()).toEqual(["connection.closed", "peer.left"]);
      expect(one.said).toEqual(one.so);
    }));

  test("that stop with their node: held members are expected, all others end", () =>
    tracked(2, async (one) => {
      one.book.ask(ALL);
      join(one, "ann", "calls/1");
      join(one, "ben", "calls/1");
      await one.pass(2000);
      one.saidNow();
      void one.world.nodeAt(0).gateway.drain(100);
      await one.pass(300);
      const stopping = one.trackers[0]?.stop();
      await one.pass(STEP_MS);
      await stopping;
      one.world.kill(0);
      await one.pass(3000);
      expect(one.saidNow()).toEqual(["connection.closed", "connection.closed"]);
      join(one, "ann", "calls/1", 1);
      await one.pass(15_000);
      expect(one.saidNow()).toEqual(["connection.opened", "peer.left"]);
      expect(one.said).toEqual(one.so);
    }));

  test("of more changes than a node keeps while the store is away are written again as they are then", () =>
    tracked(1, async (one) => {
      one.book.ask(ALL);
      const clients = Array.from({ length: 50 }, (_, i) => join(one, `p${i}`, `c${i % 7}`));
      await one.pass(3000);
      one.isAway = true;
      for (const client of clients.slice(25)) client.vanish();
      for (let i = 0; i < 300; i++) join(one, `q${i}`, `d${i % 50}`).vanish();
      for (let i = 0; i < 300; i++) {
        const id = `r${i}`;
        one.world.connect(id);
        const client = join(one, id, "e");
        client.unsubscribe("e");
      }
      for (let i = 0; i < 20_001; i++) one.trackers[0]?.memberChanged(spaceOf(APP), `x${i}`, "p");
      await one.pass(2000);
      one.isAway = false;
      await one.pass(20_000);
      expect(one.said).toEqual(one.so);
      expect(one.said.connections.length).toBe(25 + 600);
    }));
});

/** A small generator of numbers, so that a failure can be repeated. */
function numbers(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b_3c6d) + 0x9e37_79b9) | 0;
    return ((((state ^ (state >>> 13)) >>> 0) * below) / 2 ** 32) | 0;
  };
}

async function walk(seed: number): Promise<void> {
  const one = await Tracked.open(newFolder, 3);
  const below = numbers(seed);
  const clients: Client[] = [];
  const channels = ["c", "d", "calls/1", "calls/2"];
  one.book.ask(ALL);
  const live = (): number[] => one.world.nodes.flatMap(({ clock }, i) => (clock.isStopped ? [] : [i]));
  for (let step = 0; step < 120; step++) {
    const [what, node, channel] = [below(20), live()[below(live().length)] ?? 0, channels[below(4)] ?? "c"];
    const client = clients[below(Math.max(1, clients.length))];
    const isOpen = client?.closeCode === undefined;
    if (what < 7) clients.push(join(one, `p${below(12)}`, channel, node));
    else if (what < 9 && client && isOpen) client.unsubscribe(channel);
    else if (what < 11 && client && isOpen) client.subscribe(channel);
    else if (what < 14 && client && isOpen) client.vanish();
    else if (what < 15 && client && isOpen) client.socket.close(1000, "");
    else if (what === 15) one.isAway = !one.isAway;
    else if (what === 16) one.losesAnswers = !one.losesAnswers;
    else if (what === 17) one.cut.has(node) ? one.cut.delete(node) : one.cut.add(node);
    else if (what === 18 && live().length > 1 && below(3) === 0) one.world.kill(node);
    else if (what === 19 && below(3) === 0) one.start();
    else one.lead();
    await one.pass(below(4) === 0 ? STEP_MS * below(150) : STEP_MS * below(5));
  }
  one.isAway = false;
  one.losesAnswers = false;
  one.cut.clear();
  await one.pass(60_000);
  expect({ seed, ...one.said }).toEqual({ seed, ...one.so });
  await one.close();
}

test("after any walk over faults, what events add up to is what is so", async () => {
  for (let seed = 1; seed <= 4; seed++) await walk(seed);
}, 60_000);

test("a clock that is set makes no one go or come, and no one stay", () =>
  tracked(1, async (one) => {
    one.book.ask(ALL);
    await one.pass(500);
    join(one, "ann", "c");
    await one.pass(15_000);
    one.saidNow();
    for (const ms of [3_600_000, -3_600_000, -86_400_000]) {
      one.clock.jump(ms);
      await one.pass(20_000);
      expect([ms, one.saidNow()]).toEqual([ms, []]);
    }
    for (const ms of [3_600_000, -7_200_000]) {
      const ben = join(one, "ben", "d");
      await one.pass(1000);
      expect(one.saidNow()).toEqual(["connection.opened", "channel.occupied", "peer.joined"]);
      ben.vanish();
      await one.pass(200);
      one.clock.jump(ms);
      await one.pass(20_000);
      expect([ms, one.saidNow()]).toEqual([ms, ["connection.closed", "peer.left", "channel.vacated"]]);
    }
  }));
