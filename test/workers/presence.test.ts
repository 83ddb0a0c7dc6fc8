/**
 * The same as with nodes: rosters, states and lists of several workers agree with each other and with the truth. In full: samples
 * are in together.test.ts.
 */
import { afterAll, beforeAll, describe, setDefaultTimeout, test } from "bun:test";
import type { World } from "../conformance/raw/support/world.ts";
import { GRACE_RULES, type Joined, pairs, walk } from "../support/presence-scenario.ts";
import { Chance } from "../support/random.ts";
import { IS_FULL } from "../support/slack.ts";
import { joinedWorkers, startWorkers } from "./support/workers.ts";

setDefaultTimeout(600_000);

/** The same in every run, so that a failure comes from a change. */
const SEED = Number(process.env.PARLEY_TEST_SEED ?? 42_000);
const WORKERS = 3;
const WALKS = [
  ["stop for a moment", { peers: 12, steps: 20, pauseMaxMs: 500, stops: 6, stopMaxMs: 1500 }],
  ["stop until the supervisor replaces them", { peers: 8, steps: 20, pauseMaxMs: 2000, stops: 3, stopMaxMs: 8000 }],
] as const;

describe.if(IS_FULL)("in full", () => {
  let world: World;
  let service: Joined;
  beforeAll(async () => {
    const env = { PARLEY_REST_REQUESTS_PER_SECOND: "0", PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0", PARLEY_DEMO: "off" };
    world = await startWorkers({ env }, WORKERS);
    await world.admin.must("PATCH", `/apps/${world.app._id}`, { channelRules: GRACE_RULES });
    service = joinedWorkers(world, WORKERS);
  });
  afterAll(() => world.stop());

  test("60 times two connections of a peer at the same moment: all are shown the same", () => pairs(service, 60));

  for (const [how, wanted] of WALKS)
    test(`random tabs and states, with workers that ${how}: everyone knows the truth (seed ${SEED})`, () =>
      walk(service, wanted, new Chance(SEED)));
});
