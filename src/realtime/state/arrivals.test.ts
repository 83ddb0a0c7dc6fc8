/** What direct messages that are written late show of their sender. */
import { describe, expect, test } from "bun:test";
import { type Client, turn, World } from "../testing/kit.ts";

/** Lets answers between nodes arrive while time goes on. */
async function pass(world: World, ms: number): Promise<void> {
  for (let done = 0; done < ms; done += 10) {
    world.advance(10);
    await turn();
  }
}

for (const nodes of [1, 2]) {
  /** Ann's token has expired in c. Ben, on the last node, has exchanged direct messages with her, and answers no ping any more. */
  const expired = async (isMember = false): Promise<{ world: World; ben: Client }> => {
    const world = new World({ nodes });
    const ben = world.connect("ben", { node: nodes - 1 }).withholdPongs();
    if (isMember) ben.subscribe("c");
    const ann = world.join("ann", "c", { expiresInMs: 3000 });
    ann.send("ben", "offer");
    ben.send("ann", "answer");
    await pass(world, 2400);
    expect(ann.closeCode).toBe(4002);
    ben.take();
    return { world, ben };
  };

  /** She is back, and waits for her roster. */
  const back = (world: World): Client => {
    const ann = world.connect("ann").withholdPongs();
    ann.subscribe("c");
    ann.take();
    return ann;
  };

  const reads = async (world: World, client: Client): Promise<string[]> => {
    client.socket.pong();
    await pass(world, 200);
    return client.newFrames();
  };

  describe(`a direct message that has waited, ${nodes} ${nodes === 1 ? "node" : "nodes"}`, () => {
    test("for the roster of its receiver does not show its sender where that has subscribed since, before its roster", async () => {
      const { world, ben } = await expired();
      const ann = back(world);
      ben.send("ann", 1);
      await pass(world, 20);
      ben.subscribe("c");
      await pass(world, 20);
      expect(await reads(world, ann)).toEqual(["roster:", "direct ben 1"]);
      await pass(world, 400);
      expect(ben.newFrames()).toEqual(["ack r2", "ack r3", "roster: ann"]);
      expect(ann.newFrames()).toEqual(["joined: ben"]);
    });

    test("for the return of its receiver does not either", async () => {
      const { world, ben } = await expired();
      ben.send("ann", 1);
      await pass(world, 600);
      const ann = back(world);
      ben.subscribe("c");
      await pass(world, 50);
      expect(await reads(world, ann)).toEqual(["roster:", "direct ben 1"]);
      await pass(world, 500);
      expect(ben.newFrames()).toEqual(["ack r3", "ack r2", "roster: ann"]);
      expect(ann.newFrames()).toEqual(["joined: ben"]);
    });

    test("shows its sender where that had subscribed when it sent it, as one that comes at once does", async () => {
      const { world, ben } = await expired();
      const ann = back(world);
      ben.subscribe("c");
      ben.send("ann", 1);
      await pass(world, 20);
      expect(await reads(world, ann)).toEqual(["roster:", "joined: ben", "direct ben 1"]);
      // The next one does not show it again.
      ben.send("ann", 2);
      await pass(world, 600);
      expect(ann.newFrames()).toEqual(["direct ben 2"]);
    });

    test("is not held against the next one, which shows its sender", async () => {
      const { world, ben } = await expired();
      const ann = back(world);
      ben.send("ann", 1);
      await pass(world, 20);
      ben.subscribe("c");
      ben.send("ann", 2);
      await pass(world, 20);
      expect(await reads(world, ann)).toEqual(["roster:", "direct ben 1", "joined: ben", "direct ben 2"]);
      await pass(world, 600);
      expect(ann.take()).toEqual([]);
    });

    test("does not show the return of its sender before the sender's roster, if that was lost since", async () => {
      const { world, ben } = await expired(true);
      const ann = back(world);
      ben.send("ann", 1);
      await pass(world, 20);
      ben.node.hub.connections.expire(ben.connection);
      await pass(world, 20);
      const returned = world.connect("ben", { node: nodes - 1 }).withholdPongs();
      returned.subscribe("c");
      await pass(world, 20);
      expect(await reads(world, ann)).toEqual(["roster: ben", "direct ben 1"]);
      await pass(world, 500);
      expect(ann.newFrames()).toEqual(["left: ben", "joined: ben"]);
    });
  });
}
