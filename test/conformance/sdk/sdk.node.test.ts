/**
 * The public SDK, unmodified, under Node with `ws` in its default settings: one process per scenario. A sixth of the scenarios,
 * and all with PARLEY_TEST_FULL or against a deployment: sdk.history.test.ts plays nearly all of them under Bun.
 */
import { afterAll, beforeAll } from "bun:test";
import { isInSample } from "../../support/sample.ts";
import { NodeRunner } from "./node.ts";
import { SCENARIOS } from "./scenarios/all.ts";
import { suite } from "./suite.ts";

const IS_WHOLE = process.env.PARLEY_TEST_FULL !== undefined || process.env.PARLEY_TEST_URL !== undefined;
const runner = new NodeRunner();

beforeAll(() => runner.build());
afterAll(() => runner.finish(), 30_000);

suite(
  "Node and ws",
  ({ name }, env) => runner.play(name, env),
  undefined,
  SCENARIOS.filter(({ name }, at) => IS_WHOLE || isInSample(at, 6) || name.includes("at the same moment")),
);
