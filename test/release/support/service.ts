/** An installed service: its start, its tour, and how long each step takes. */
import { expect } from "bun:test";
import type { Running } from "../../deploy/support/program.ts";
import { runSuites } from "../../support/suites.ts";
import { until } from "../../support/wait.ts";

/** The first start of a clone installs its packages. */
const START_MAX_MS = 300_000;

export async function ready(service: Running): Promise<void> {
  await until("the start", () => service.hasEnded || service.output.includes("parley is ready"), START_MAX_MS);
  expect(service.output).toContain("parley is ready");
}

/** Prints the time that a step takes: `timed("npm: installed in", …)`. */
export async function timed<T>(step: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await work();
  console.log(`${step} ${((performance.now() - began) / 1000).toFixed(1)} s`);
  return result;
}

/** The tour with this command instead of a clone's, with a meeting that is recorded and mended. */
export async function tourPasses(program: string): Promise<void> {
  const env = { PARLEY_TEST_INSTALLED: program };
  const { code, failed, output } = await runSuites(["./test/defaults/tour.test.ts"], env);
  if (code !== 0) console.log(output);
  expect({ code, failed }).toEqual({ code: 0, failed: [] });
}
