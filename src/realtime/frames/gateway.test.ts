/** Connects: one that waits for capacity, and how often an address may try. */
import { describe, expect, test } from "bun:test";
import type { Claim } from "../../engine/engine.ts";
import { Problem } from "../../protocol/codes.ts";
import { OTHER_KEY, PUBLISHABLE_KEY, turn, World } from "../testing/kit.ts";
import type { SocketData } from "./socket-handlers.ts";

const HANDSHAKE = { origin: null, wantsWebSocket: true, version: "13" };

interface Waiting {
  readonly world: World;
  readonly upgraded: SocketData[];
  readonly ended: () => number;
  /** The other nodes answer. */
  answer(hasCapacity: boolean): void;
  /** "in", or the code of the refusal. */
  readonly outcome: Promise<string>;
}

function waiting(): Waiting {
  const asked = Promise.withResolvers<Claim | undefined>();
  const world = new World({ engine: (engine) => Object.assign(engine, { claim: () => asked.promise }) });
  world.keys.editApp({ maxConcurrentConnections: 5 });
  let ended = 0;
  const upgraded: SocketData[] = [];
  const upgrade = (data: SocketData): boolean => upgraded.push(data) > 0;
  const client = [127, 0, 0, 1] as const;
  const connecting = Promise.resolve(
    world.node.gateway.connect({ ...HANDSHAKE, query: `key=${PUBLISHABLE_KEY}`, client, upgrade }),
  );
  const outcome = connecting.then(
    () => "in",
    (problem) => (problem instanceof Problem ? problem.code : String(problem)),
  );
  const answer = (hasCapacity: boolean): void => asked.resolve(hasCapacity ? { end: () => void ended++ } : undefined);
  return { world, upgraded, ended: () => ended, answer, outcome };
}

describe("while other nodes are asked for capacity", () => {
  test("a connect waits; then it is let in with the claim, or closed because there is none", async () => {
    for (const hasCapacity of [true, false]) {
      const connect = waiting();
      await turn();
      expect(connect.upgraded).toEqual([]);
      connect.answer(hasCapacity);
      expect(await connect.outcome).toBe("in");
      expect(connect.upgraded).toMatchObject([{ isOverCap: !hasCapacity }]);
      expect(connect.ended()).toBe(0);
    }
  });

  test("a key that is revoked lets no one in, and the claim is released", async () => {
    const connect = waiting();
    connect.world.keys.editKey(PUBLISHABLE_KEY, { revoked: 1 });
    connect.answer(true);
    expect(await connect.outcome).toBe("unauthorized");
    expect([connect.upgraded, connect.ended()]).toEqual([[], 1]);
  });

  test("an edit of the key counts for the connection", async () => {
    const connect = waiting();
    connect.world.keys.editKey(PUBLISHABLE_KEY, { actions: ["subscribe"] });
    connect.answer(true);
    expect(await connect.outcome).toBe("in");
    const [data] = connect.upgraded;
    expect(data && "grant" in data && !data.grant.seat && data.grant.key.actions).toBe(
      connect.world.keys.grant("x", { key: PUBLISHABLE_KEY }).key.actions,
    );
  });

  test("a node that begins to drain lets no one in, and the claim is released", async () => {
    const connect = waiting();
    await connect.world.node.gateway.drain(0);
    connect.answer(true);
    expect(await connect.outcome).toBe("internal_error");
    expect([connect.upgraded, connect.ended()]).toEqual([[], 1]);
  });
});

describe("connects from one address", () => {
  const asks = async (
    world: World,
    key: string,
    address: readonly [number, number, number, number],
  ): Promise<string> => {
    try {
      await world.node.gateway.connect({ ...HANDSHAKE, query: `key=${key}`, client: address, upgrade: () => true });
      return "in";
    } catch (problem) {
      return problem instanceof Problem ? problem.code : String(problem);
    }
  };
  const HERE = [192, 0, 2, 1] as const;
  const count = async (world: World, key: string, tries: number): Promise<Record<string, number>> => {
    const outcomes = await Promise.all(Array.from({ length: tries }, () => asks(world, key, HERE)));
    return Object.fromEntries(
      Map.groupBy(outcomes, (one) => one)
        .entries()
        .map(([one, all]) => [one, all.length]),
    );
  };

  test("600 are let in at once; with a refused credential 60 are checked, and then one per second", async () => {
    const world = new World({ connectsPerMinute: 600 });
    expect(await count(world, PUBLISHABLE_KEY, 700)).toEqual({ in: 600, rate_limited: 100 });
    const guessed = new World({ connectsPerMinute: 600 });
    expect(await count(guessed, "pk_live_guess", 700)).toEqual({ unauthorized: 60, rate_limited: 640 });
    let guesses = 0;
    for (let ms = 0; ms < 60_000; ms += 100) {
      guessed.advance(100);
      if ((await asks(guessed, "pk_live_guess", HERE)) === "unauthorized") guesses++;
    }
    expect(guesses).toBeGreaterThanOrEqual(59);
    expect(guesses).toBeLessThanOrEqual(61);
    expect(await asks(guessed, PUBLISHABLE_KEY, [192, 0, 2, 2])).toBe("in");
  });

  test("while a credential is being checked it counts as refused; if it is good, or cannot be checked, as one connect", async () => {
    const latest = Promise.withResolvers<boolean>();
    const world = new World({ connectsPerMinute: 600, storeFollower: { catchUp: () => latest.promise } });
    world.keys.editKey(PUBLISHABLE_KEY, { revoked: 1 });
    const outcomes = count(world, PUBLISHABLE_KEY, 61);
    expect(await asks(world, PUBLISHABLE_KEY, HERE)).toBe("rate_limited");
    latest.resolve(false);
    expect(await outcomes).toEqual({ internal_error: 60, rate_limited: 1 });
    expect(await count(world, OTHER_KEY, 600)).toEqual({ in: 540, rate_limited: 60 });
  });
});

describe("a WebSocket of another version", () => {
  test("is 426 for a good credential, and the answer names the supported version", async () => {
    for (const version of [null, "8", "13, 8", "14"]) {
      const world = new World();
      const asked = (query: string): unknown => {
        try {
          const client = [127, 0, 0, 1];
          return world.node.gateway.connect({ ...HANDSHAKE, version, query, client, upgrade: () => true });
        } catch (problem) {
          return problem;
        }
      };
      const problem = asked(`key=${PUBLISHABLE_KEY}`) as Problem;
      expect([problem.code, problem.message]).toEqual(["upgrade_required", expect.stringContaining("version 13")]);
      expect((asked("key=x") as Problem).code).toBe("unauthorized");
    }
  });
});

test("a node without room refuses before it charges or checks anything, also a plain GET, and says when to try again", async () => {
  let [hasRoom, asked] = [false, 0];
  const room = {
    hasRoom: () => {
      asked++;
      return hasRoom;
    },
  };
  const world = new World({ connectsPerMinute: 60, room });
  const client = [192, 0, 2, 1] as const;
  const connect = async (key: string, wantsWebSocket = true): Promise<unknown> => {
    const upgrade = (): boolean => true;
    const attempt = { ...HANDSHAKE, wantsWebSocket, query: `key=${key}`, client, upgrade };
    return await Promise.try(() => world.node.gateway.connect(attempt)).catch((problem) => problem);
  };
  const full = { code: "internal_error", retryAfterSeconds: 5 };
  for (let i = 0; i < 100; i++) expect(await connect("pk_live_guess", i % 2 === 0)).toMatchObject(full);
  hasRoom = true;
  expect(await connect(PUBLISHABLE_KEY)).toBe(true);
  expect(asked).toBe(101);
});
