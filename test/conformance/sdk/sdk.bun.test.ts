/**
 * The public SDK, unmodified, under Bun with its own WebSocket. A sixth of the scenarios, because sdk.history.test.ts plays nearly
 * all of them under Bun, too; all with PARLEY_TEST_FULL, or against a deployment.
 */
import { play } from "./scenario.ts";
import { SCENARIOS } from "./scenarios/all.ts";
import { Service } from "./service.ts";
import { suite } from "./suite.ts";

const IS_WHOLE = process.env.PARLEY_TEST_FULL !== undefined || process.env.PARLEY_TEST_URL !== undefined;

suite(
  "Bun",
  (scenario, env) => play(scenario, new Service(env), (url) => new WebSocket(url)),
  undefined,
  SCENARIOS.filter(({ name }, at) => IS_WHOLE || at % 6 === 0 || name.includes("without history")),
);
