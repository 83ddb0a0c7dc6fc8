import { expect, test } from "bun:test";
import { nextTurn } from "../../test/support/wait.ts";
import type { Store } from "../store/contract/store.ts";
import { OpenChanges } from "./open-changes.ts";

test("a change ends after the calls that it did not wait for, kept or undone: later they would not be part of it", async () => {
  for (const isKept of [true, false]) {
    const events: string[] = [];
    const { promise: written, resolve: write } = Promise.withResolvers<void>();
    const putMeta = async (): Promise<void> => {
      await written;
      events.push("written");
    };
    const change = async (
      work: (change: object) => Promise<void>,
      committed: (result: unknown, revision: number) => void,
    ): Promise<void> => {
      try {
        await work({ putMeta });
        committed(undefined, 7);
      } finally {
        events.push("over");
      }
    };
    const changes = new OpenChanges({ change } as unknown as Pick<Store, "change">);
    const nr = await changes.begin();
    const call = changes.call(nr, "putMeta", ["a", "b"]);
    const ending = changes.end(nr, isKept);
    // A call that arrives now is too late.
    await nextTurn();
    expect(await changes.call(nr, "putMeta", []).catch((error: Error) => error.message)).toContain(
      "the change is over",
    );
    write();
    await call;
    expect(await ending).toBe(isKept ? 7 : 0);
    expect(events).toEqual(["written", "over"]);
  }
});
