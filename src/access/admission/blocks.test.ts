import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { openStore } from "../../store/open.ts";
import { newFolders } from "../../store/testing/places.ts";
import { BLOCKS_PER_APP_MAX } from "../limits.ts";
import { BlockSweep } from "./block-sweep.ts";
import { Blocks } from "./blocks.ts";

const A = anAppId("a");
const B = anAppId("b");

const newFolder = newFolders();

test("a block ends at its time, and holds for one peer of one application", () => {
  const blocks = new Blocks();
  blocks.add({ app: A, peerId: "ann", untilMs: 100 });
  expect(blocks.isBlocked(A, "ann", 99)).toBe(true);
  expect(blocks.isBlocked(A, "ann", 100)).toBe(false);
  expect(blocks.isBlocked(A, "ben", 99)).toBe(false);
  expect(blocks.isBlocked(B, "ann", 99)).toBe(false);
  expect(blocks.add({ app: A, peerId: "ann", untilMs: 100 })).toBe(false);
  expect(blocks.add({ app: A, peerId: "ann", untilMs: 200 })).toBe(true);
  expect(blocks.isBlocked(A, "ann", 199)).toBe(true);
});

test("a block that is removed ends at once, for one peer of one application", () => {
  const blocks = new Blocks();
  for (const app of [A, B]) for (const peerId of ["ann", "ben"]) blocks.add({ app, peerId, untilMs: 100 });
  blocks.remove(A, "ann");
  blocks.remove(A, "unknown");
  expect([A, B].map((app) => ["ann", "ben"].map((peerId) => blocks.isBlocked(app, peerId, 50)))).toEqual([
    [false, true],
    [true, true],
  ]);
});

test("the blocks of an application come by peer id, in pages, without those that have ended", () => {
  const blocks = new Blocks();
  for (const peerId of ["cid", "ann", "dan", "ben"]) blocks.add({ app: A, peerId, untilMs: 100 });
  blocks.add({ app: A, peerId: "old", untilMs: 50 });
  blocks.add({ app: B, peerId: "abe", untilMs: 100 });
  const ids = (after: string | undefined, limit: number): string[] =>
    blocks.page(A, { after, limit }, 50).map(({ peerId }) => peerId);
  expect([ids(undefined, 3), ids("cid", 3)]).toEqual([["ann", "ben", "cid"], ["dan"]]);
});

test("replaced by those of the store, what changes while it is read stays as it is then", async () => {
  const blocks = new Blocks();
  const row = (peerId: string, untilMs = 100) => ({ app: A, peerId, untilMs });
  blocks.load([row("kept"), row("removed elsewhere"), row("removed here")]);
  const added = await blocks.replace(async () => {
    blocks.add(row("added here"));
    blocks.remove(A, "removed here");
    return [row("kept"), row("removed here"), row("added elsewhere")];
  });
  expect(added).toEqual([row("added elsewhere")]);
  expect(blocks.page(A, { limit: 9 }, 50).map(({ peerId }) => peerId)).toEqual([
    "added elsewhere",
    "added here",
    "kept",
  ]);
});

test("blocks that have ended are removed from memory and from the store", async () => {
  const store = await openStore(newFolder());
  const blocks = new Blocks();
  for (let i = 0; i < 100; i++) {
    const row = { app: A, peerId: `p${i}`, untilMs: i < 90 ? 1000 : 5000 };
    await store.putBlock(row, 1);
    blocks.add(row);
  }
  const failures: unknown[] = [];
  const sweep = new BlockSweep({ blocks, store, nowMs: () => 2000, failed: (error) => failures.push(error) });
  await sweep.sweep();
  expect(blocks.size).toBe(10);
  expect(await store.blocks(0)).toHaveLength(10);
  await store.close();
  // A store that is unreachable is retried by the next sweep.
  await sweep.sweep();
  expect(failures).toHaveLength(1);
});

test("an application has a maximum of blocks; ended ones make room, and a blocked peer may be blocked for longer", () => {
  const blocks = new Blocks();
  for (let i = 0; i < BLOCKS_PER_APP_MAX; i++) blocks.add({ app: A, peerId: `p${i}`, untilMs: i === 0 ? 100 : 900 });
  expect(blocks.hasRoomFor(A, "one more", 50)).toBe(false);
  expect(blocks.hasRoomFor(A, "p7", 50)).toBe(true);
  expect(blocks.hasRoomFor(B, "one more", 50)).toBe(true);
  expect(blocks.hasRoomFor(A, "one more", 100)).toBe(true);
});
