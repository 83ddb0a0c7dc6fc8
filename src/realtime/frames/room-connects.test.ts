/** Connects with a token of a room: the room is asked before the upgrade, and what happens meanwhile counts. */

import { describe, expect, test } from "bun:test";
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import { roomSpaceOf } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import { turn } from "../testing/kit.ts";
import { RoomsWorld } from "../testing/rooms.ts";
import type { SocketData } from "./socket-handlers.ts";

interface Attempt {
  readonly upgraded: SocketData[];
  /** "in", or the code of the refusal. */
  readonly outcome: Promise<string>;
}

interface Connecting extends Partial<RoomClaims> {
  readonly token?: string;
  readonly wantsWebSocket?: boolean;
  readonly isMalformed?: boolean;
}

function connect(world: RoomsWorld, options: Connecting = {}): Attempt {
  const { token, wantsWebSocket = true, isMalformed = false, ...claims } = options;
  const upgraded: SocketData[] = [];
  const query = `token=${token ?? world.roomToken("ann", claims)}`;
  const upgrade = (data: SocketData): boolean => !isMalformed && upgraded.push(data) > 0;
  const attempt = { query, origin: null, version: "13", client: [127, 0, 0, 1], wantsWebSocket, upgrade };
  const outcome = (async () => world.node.gateway.connect(attempt))().then(
    () => "in",
    (problem) => (problem instanceof Problem ? `${problem.code}: ${problem.message}` : String(problem)),
  );
  return { upgraded, outcome };
}

test("the room lets a participant in: the connection has its seat, with the access that the room has given", async () => {
  const world = new RoomsWorld();
  const { upgraded, outcome } = connect(world);
  expect(await outcome).toBe("in");
  expect(upgraded).toMatchObject([
    { grant: { spaceId: roomSpaceOf(anAppId("app")), peerId: "ann", seat: { claims: { room: "room1" } } } },
  ]);
  expect(world.hooks.take()).toEqual(["enter ann"]);
});

test("what the room answers is the refusal, and is counted", async () => {
  const world = new RoomsWorld();
  world.hooks.refuses = new Problem("room_not_found", "This room was closed.");
  for (const wantsWebSocket of [true, false]) {
    const { upgraded, outcome } = connect(world, { wantsWebSocket });
    expect([await outcome, upgraded]).toEqual(["room_not_found: This room was closed.", []]);
  }
  expect(world.hooks.take()).toEqual(["enter ann", "check ann"]);
  expect(world.node.metrics.refused({ code: "room_not_found" }).value).toBe(2);
});

test("a plain GET begins nothing, and says that the WebSocket would be let in", async () => {
  const world = new RoomsWorld();
  expect(await connect(world, { wantsWebSocket: false }).outcome).toStartWith("upgrade_required");
  expect(world.hooks.take()).toEqual(["check ann"]);
});

test("a token that is not this service's, has expired, or is of no application never reaches the room", async () => {
  const world = new RoomsWorld();
  const good = world.roomToken("ann");
  const outcomes = [
    connect(world, { token: `${good}x` }),
    connect(world, { token: good.slice(3) }),
    connect(world, { token: `rt_${world.keys.token("ann")}` }),
    connect(world, { token: "rt_" }),
    connect(world, { exp: Math.floor(world.clock.wallMs() / 1000) }),
    connect(world, { app: anAppId("nowhere") }),
  ].map(({ outcome }) => outcome);
  const codes = (await Promise.all(outcomes)).map((text) => text.split(":")[0]);
  expect(codes).toEqual([...Array(4).fill("invalid_token"), "token_expired", "invalid_token"]);
  expect(world.hooks.take()).toEqual([]);
});

test("a failure of the room's store is no crash: the client tries again", async () => {
  const caught: unknown[] = [];
  const world = new RoomsWorld({ faults: { caught: (_where, error) => void caught.push(error) } });
  world.hooks.refuses = new Error("broken");
  expect(await connect(world).outcome).toBe("internal_error: The room cannot be entered at the moment. Try again.");
  expect(caught).toEqual([world.hooks.refuses]);
});

test("a node that stops while the room decides refuses the connect, and the stay is not left without a connection", async () => {
  const world = new RoomsWorld();
  const decided = Promise.withResolvers<void>();
  world.hooks.until = decided.promise;
  const { upgraded, outcome } = connect(world);
  await turn();
  await world.node.gateway.drain(0);
  decided.resolve();
  expect(await outcome).toStartWith("internal_error: This node is shutting down");
  expect(upgraded).toEqual([]);
  expect(world.hooks.take()).toEqual(["enter ann", "held ann without a connection"]);
});

test("so is an application that is deleted meanwhile, and a handshake that fails", async () => {
  const world = new RoomsWorld();
  expect(await connect(world, { isMalformed: true }).outcome).toStartWith("invalid_request");
  const decided = Promise.withResolvers<void>();
  world.hooks.until = decided.promise;
  const { outcome } = connect(world);
  await turn();
  world.keys.editApp({ deleted: 1 });
  decided.resolve();
  expect(await outcome).toStartWith("invalid_token");
  const lost = ["enter ann", "lost ann without a connection"];
  expect(world.hooks.take()).toEqual([...lost, ...lost]);
});

test("people in rooms count against the application's cap; one above it never enters", async () => {
  const world = new RoomsWorld();
  world.keys.editApp({ maxConcurrentConnections: 2 });
  world.connect("peer");
  await world.enter("ann");
  world.hooks.take();
  const { upgraded, outcome } = connect(world, { id: "ben" });
  expect([await outcome, upgraded]).toMatchObject(["in", [{ isOverCap: true }]]);
  expect(world.hooks.take()).toEqual([]);
});

test("a drained node's stays are held: they come back on another node", async () => {
  const world = new RoomsWorld();
  const ann = await world.enter("ann");
  world.hooks.take();
  await world.node.gateway.drain(0);
  expect([ann.closeCode, world.hooks.take()]).toEqual([1001, ["held ann"]]);
});

test("a token's time ends its connection as any other's", async () => {
  const world = new RoomsWorld();
  const ann = await world.enter("ann", { exp: Math.floor(world.clock.wallMs() / 1000) + 10 });
  world.advance(10_000);
  expect(ann.closeCode).toBe(4002);
});

describe("the rotation of the application's secret key", () => {
  const LATER = { secretSeq: 2, previousSecrets: [] };

  test("ends tokens that were made under it, for a connect and for a renewal; newer ones are not known here yet", async () => {
    const world = new RoomsWorld();
    const ann = await world.enter("ann", { gen: 1 });
    world.keys.editApp(LATER);
    for (const [gen, outcome] of [
      [1, "token_expired"],
      [undefined, "token_expired"],
      [2, "in"],
      [3, "in"],
    ] as const)
      expect((await connect(world, { id: "ben", gen }).outcome).split(":")[0]).toBe(outcome);
    const answerTo = (gen: number) => {
      ann.request({ type: "renew", token: world.roomToken("ann", { gen }) });
      return ann.take().at(-1);
    };
    expect(answerTo(1)).toMatchObject({ type: "error", code: "token_expired" });
    expect(answerTo(2)).toMatchObject({ type: "ack" });
  });

  test("counts also while the room decides", async () => {
    const world = new RoomsWorld();
    const decided = Promise.withResolvers<void>();
    world.hooks.until = decided.promise;
    const { upgraded, outcome } = connect(world, { gen: 1 });
    await turn();
    world.keys.editApp(LATER);
    decided.resolve();
    expect(await outcome).toStartWith("token_expired");
    expect(upgraded).toEqual([]);
    expect(world.hooks.take()).toEqual(["enter ann", "lost ann without a connection"]);
  });
});
