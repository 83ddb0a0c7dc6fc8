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
