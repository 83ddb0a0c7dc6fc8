/** The protocol's suites, unchanged, against two workers. They run with PARLEY_TEST_FULL=1. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { RAW, RAW_WHOLE, runSuites } from "../support/suites.ts";

setDefaultTimeout(900_000);

const IS_FULL = process.env.PARLEY_TEST_FULL === "1";

for (const [name, paths] of [
  ["raw socket", RAW_WHOLE.map((file) => `./${RAW}/${file}.test.ts`)],
  ["public SDK's", ["./test/conformance/sdk"]],
] as const)
  test.skipIf(!IS_FULL)(`the ${name} suite passes against two workers`, async () => {
    const { code, passed, failed, output } = await runSuites(paths, { PARLEY_TEST_WORKERS: "2" });
    if (code !== 0) console.log(output);
    expect({ code, failed }).toEqual({ code: 0, failed: [] });
    expect(passed).toBeGreaterThan(10);
  });
