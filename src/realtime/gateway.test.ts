/** A connect that has to wait for room under the cap. */
import { describe, expect, test } from "bun:test";
import type { Claim } from "../engine/engine.ts";
import { Problem } from "../protocol/codes.ts";
import type { SocketData } from "./gateway.ts";
import { PUBLISHABLE_KEY, turn, World } from "./test-kit.ts";

interface Waiting {
  readonly world: World;
  readonly upgraded: SocketData[];
  readonly ended: () => number;
  /** The others have answered. */
  answer(isRoom: boolean): void;
  /** "in", or why not. */
  readonly outcome: Promise<string>;
}

function waiting(): Waiting {
  const asked = Promise.withResolvers<Claim | undefined>();
  const world = new World({ engine: (engine) => Object.assign(engine, { claim: () => asked.promise }) });
  world.editApp({ maxConcurrentConnections: 5 });
  let ended = 0;
  const upgraded: SocketData[] = [];
  const request = new Request(`http://node.test/v1?key=${PUBLISHABLE_KEY}`, { headers: { upgrade: "websocket" } });
  const upgrade = (data: SocketData): boolean => upgraded.push(data) > 0;
  const client = [127, 0, 0, 1] as const;
  const connecting = Promise.resolve(world.node.gateway.connect({ request, client, upgrade }));
  const outcome = connecting.then(
    () => "in",
    (problem) => (problem instanceof Problem ? problem.code : String(problem)),
  );
  const answer = (isRoom: boolean): void => asked.resolve(isRoom ? { end: () => void ended++ } : undefined);
  return { world, upgraded, ended: () => ended, answer, outcome };
}

describe("while other nodes are asked for room", () => {
  test("nobody is let in; then with the claim, or to be told that there is none", async () => {
    for (const isRoom of [true, false]) {
      const it = waiting();
      await turn();
      expect(it.upgraded).toEqual([]);
      it.answer(isRoom);
      expect(await it.outcome).toBe("in");
      expect(it.upgraded).toMatchObject([{ isOverCap: !isRoom }]);
      expect(it.ended()).toBe(0);
    }
  });

  test("a key that is revoked lets nobody in any more, and the room is free", async () => {
    const it = waiting();
    it.world.editKey(PUBLISHABLE_KEY, { revoked: 1 });
    it.answer(true);
    expect(await it.outcome).toBe("unauthorized");
    expect([it.upgraded, it.ended()]).toEqual([[], 1]);
  });

  test("an edit of the key counts for whoever comes in", async () => {
    const it = waiting();
    it.world.editKey(PUBLISHABLE_KEY, { actions: ["subscribe"] });
    it.answer(true);
    expect(await it.outcome).toBe("in");
    const [data] = it.upgraded;
    expect(data && "grant" in data && data.grant.key.actions).toBe(
      it.world.grant("x", { key: PUBLISHABLE_KEY }).key.actions,
    );
  });

  test("a node that begins to drain lets nobody in, and the room is free", async () => {
    const it = waiting();
    await it.world.node.gateway.drain(0);
    it.answer(true);
    expect(await it.outcome).toBe("internal_error");
    expect([it.upgraded, it.ended()]).toEqual([[], 1]);
  });
});
