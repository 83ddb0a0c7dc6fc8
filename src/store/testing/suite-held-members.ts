/** Part of the suite of every store: notes about held members. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Store } from "../contract/store.ts";
import type { NewPlace } from "./places.ts";

const NOW = 1_800_000_000_123;

export function heldMembersSuite(newPlace: NewPlace): void {
  describe("notes about held members", () => {
    let store: Store;
    beforeAll(async () => {
      store = await (await newPlace())();
    });
    afterAll(() => store.close());

    test("there is none at first", async () => {
      expect(await store.heldMembers.take(NOW)).toBeUndefined();
      expect(await store.heldMembers.read(NOW, "n1")).toBeUndefined();
    });

    test("a note is read whole, of one node or of all, until it has ended; a store that no other node uses forgets it then", async () => {
      const [first, second] = [
        { untilMs: NOW + 100, texts: ['["ä","\\u0000"]', "[2]"] },
        { untilMs: NOW + 200, texts: Array.from({ length: 12 }, (_, i) => `[${i}]`) },
      ];
      await store.heldMembers.put("n1", first, NOW);
      await store.heldMembers.put("n2", second, NOW);
      expect(await store.heldMembers.read(NOW, "n1")).toEqual(first);
      expect(await store.heldMembers.read(NOW + 100, "n1")).toBeUndefined();
      expect(await store.heldMembers.take(NOW + 200)).toBeUndefined();
      const both = { untilMs: NOW + 200, texts: [...second.texts, ...first.texts] };
      expect(await store.heldMembers.take(NOW + 100)).toEqual(second);
      if (!store.isShared) {
        await store.heldMembers.put("n1", first, NOW);
        await store.heldMembers.put("n2", second, NOW);
      }
      expect(await store.heldMembers.take(NOW)).toEqual(both);
      expect(await store.heldMembers.take(NOW)).toEqual(store.isShared ? both : undefined);
      expect(await store.heldMembers.read(NOW, "n1")).toEqual(store.isShared ? first : undefined);
    });

    test("a node that starts gets the notes of nodes that have stopped together with the last one, and no older ones", async () => {
      const at = (untilMs: number) => ({ untilMs: NOW + untilMs, texts: [`[${untilMs}]`] });
      for (const [node, untilMs] of Object.entries({ old: 5000, n1: 11_000, n2: 20_000 }))
        await store.heldMembers.put(node, at(untilMs), NOW + 200);
      expect(await store.heldMembers.take(NOW + 200)).toEqual({ untilMs: NOW + 20_000, texts: ["[20000]", "[11000]"] });
      for (const node of ["old", "n1", "n2"])
        await store.heldMembers.put(node, { untilMs: 0, texts: [] }, NOW + 30_000);
    });

    test("notes are dropped with those that end before them", async () => {
      for (const [node, untilMs] of Object.entries({ n1: 11_000, n2: 12_000, n3: 13_000 }))
        await store.heldMembers.put(node, { untilMs: NOW + untilMs, texts: ["[]"] }, NOW);
      await store.heldMembers.drop(NOW + 12_000);
      expect(await store.heldMembers.take(NOW)).toEqual({ untilMs: NOW + 13_000, texts: ["[]"] });
      await store.heldMembers.drop(NOW + 13_000);
      expect(await store.heldMembers.take(NOW)).toBeUndefined();
    });

    test("a node's second note replaces its first; notes that have ended are removed", async () => {
      await store.heldMembers.put("n2", { untilMs: NOW + 300, texts: ["[]"] }, NOW + 150);
      expect(await store.heldMembers.read(NOW, "n2")).toEqual({ untilMs: NOW + 300, texts: ["[]"] });
      expect(await store.heldMembers.read(NOW, "n1")).toBeUndefined();
      await store.heldMembers.put("n2", { untilMs: NOW + 300, texts: [] }, NOW + 150);
      expect(await store.heldMembers.read(NOW, "n2")).toBeUndefined();
    });
  });
}
