import { expect, test } from "bun:test";
import { nextTurn } from "../../../test/support/wait.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { Engine } from "../../engine/engine.ts";
import type { StoredMessage } from "../../history/contract/history.ts";
import type { Stream } from "../state/stream.ts";
import { Joins } from "./joins.ts";
import { JOIN_WAIT_MS } from "./limits.ts";

/** A channel without members here. */
const streamOf = (name: string): Stream =>
  ({ channel: { name, space: { id: "app" }, members: new Map() } }) as unknown as Stream;

const messageFrom = (from: string): StoredMessage => ({ from, connection: "c1" }) as unknown as StoredMessage;

test("a sender is waited for although another one, in another channel, looks like it when names are joined", async () => {
  const clock = new FakeClock();
  const engine = { members: async () => undefined } as unknown as Engine;
  const joins = new Joins({ engine, clock });
  const waits = async (channel: string, from: string): Promise<boolean> => {
    let isOver = false;
    const waiting = joins.of(streamOf(channel), [messageFrom(from)]).then(() => {
      isOver = true;
    });
    await nextTurn();
    const hasWaited = !isOver;
    while (!isOver) {
      clock.advance(JOIN_WAIT_MS);
      await nextTurn();
    }
    await waiting;
    return hasWaited;
  };
  expect(await waits("team", "a John")).toBe(true);
  expect(await waits("team", "a John")).toBe(false);
  expect(await waits("team a", "John")).toBe(true);
});
