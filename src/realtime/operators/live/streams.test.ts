import { expect, test } from "bun:test";
import { APP, World } from "../../testing/kit.ts";
import { Live } from "./live.ts";

test("readers over HTTP and subscribers are added up over all nodes", async () => {
  const world = new World({ nodes: 2 });
  const lives = world.nodes.map(({ hub, clock }, i) => new Live(hub, clock, `node-${i}`));
  for (const node of [0, 1, 1]) world.join(`p${node}`, "docs/1", { node });
  const follower = { changed: () => undefined, ended: () => undefined };
  const followed = world.nodes[1]?.hub.spaces.channel(APP, "docs/1");
  if (!followed) throw new Error("no channel");
  followed.followers = new Set([follower, { ...follower, readerCount: 4 }, { ...follower, readerCount: 0 }]);
  for (const live of lives) {
    expect(await live.streams.audience(APP, "docs/1")).toEqual({ readers: 5, subscribers: 3, isComplete: true });
    expect(await live.streams.audience(APP, "docs/2")).toEqual({ readers: 0, subscribers: 0, isComplete: true });
  }
});
