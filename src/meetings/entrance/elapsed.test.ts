/** How long a meeting has gone on, as the answer to a join says it. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { AppRow } from "../../store/contract/store.ts";
import type { Joined, JoinRequest } from "../contract/contract.ts";
import { APP, callerAt, World } from "../testing/world.ts";

let world: World;
let node: ReturnType<World["node"]>;
let app: AppRow;
beforeEach(async () => {
  world = await World.open();
  node = world.node();
  app = (await world.store.apps()).find(({ id }) => id === APP) as AppRow;
  await world.room(node.rooms);
});
afterEach(() => world.close());

const join = async (request: JoinRequest = {}): Promise<Joined> =>
  (await node.meetings.join(app, "standup", request, callerAt())) as Joined;

test("the first one begins it; those who come later, or come back, see for how long it has gone on", async () => {
  const first = await join();
  expect(first.meetingElapsedSec).toBe(0);
  world.now += 10_000;
  await world.take(node, first);
  world.now += 90_500;
  expect((await join()).meetingElapsedSec).toBe(90);
  expect((await join({ resume: first.connect.token })).meetingElapsedSec).toBe(90);
});
