/** Suites that were written for one process, against two workers: a sample, and all files of them with PARLEY_TEST_FULL=1. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { RAW, RAW_WHOLE, runSuites } from "../support/suites.ts";

setDefaultTimeout(900_000);

const IS_FULL = process.env.PARLEY_TEST_FULL === "1";
const raw = (names: readonly string[]): string[] => names.map((name) => `./${RAW}/${name}.test.ts`);

/** They wait more than they compute, so all of them run at once. */
const SUITES: Readonly<Record<string, readonly string[]>> = IS_FULL
  ? {
      "the raw socket suite passes": raw(RAW_WHOLE),
      "the public SDK's suite passes": ["./test/conformance/sdk"],
      "the suite of the REST API passes": ["./test/rest"],
    }
  : { "a sample of the raw socket suite passes": raw(["delivery"]) };

for (const [name, paths] of Object.entries(SUITES))
  test.concurrent(`${name} against two workers`, async () => {
    const { code, passed, failed, output } = await runSuites(paths, { PARLEY_TEST_WORKERS: "2" });
    if (code !== 0) console.log(output);
    expect({ code, failed }).toEqual({ code: 0, failed: [] });
    expect(passed).toBeGreaterThan(10);
  });
