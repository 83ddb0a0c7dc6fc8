/** Registers every scenario as a test. */
import { afterAll, beforeAll, describe, test } from "bun:test";
import { type Running, serviceToTest } from "./own-service.ts";
import type { Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios/all.ts";
import { type Env, VARIABLE_OF } from "./service.ts";

/** Longer than a scenario's own timeout, so that the scenario's failure text is reported. */
const TEST_MS = 90_000;
const START_MS = 60_000;

/** Why the scenario cannot run against the named deployment; undefined if it can. */
function lacking({ needs }: Scenario): string | undefined {
  if (needs === undefined || process.env.PARLEY_TEST_URL === undefined) return undefined;
  const variable = VARIABLE_OF[needs];
  return process.env[variable] === undefined ? `${variable} is not set` : undefined;
}

export function suite(
  runtime: string,
  play: (scenario: Scenario, env: Env) => Promise<void>,
  start: () => Promise<Running> = () => serviceToTest(process.env),
  scenarios: readonly Scenario[] = SCENARIOS,
): void {
  describe(`@metered-ca/realtime under ${runtime}`, () => {
    let running: Running;

    beforeAll(async () => {
      running = await start();
    }, START_MS);

    afterAll(async () => {
      await running.stop();
    }, START_MS);

    for (const scenario of scenarios) {
      const reason = lacking(scenario);
      if (reason !== undefined) console.log(`skipped: ${scenario.name} (${reason})`);
      test.skipIf(reason !== undefined)(scenario.name, () => play(scenario, running.env), TEST_MS);
    }
  });
}
