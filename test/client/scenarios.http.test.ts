/** The scenarios of the conformance suite with parley-client over HTTP, under Bun. */
import { afterAll, beforeAll, describe, setDefaultTimeout, test } from "bun:test";
import { Parley } from "../../client/src/index.ts";
import { play, SAMPLE, SCENARIOS } from "./scenarios/all.ts";
import { Backstage } from "./support/backstage.ts";
import { IS_FULL } from "./support/service.ts";

setDefaultTimeout(90_000);

describe("parley-client over HTTP", () => {
  let backstage: Backstage;
  beforeAll(async () => {
    backstage = await Backstage.start();
  });
  afterAll(() => backstage.stop());

  for (const { name } of IS_FULL ? SCENARIOS : SAMPLE)
    test(name, () => play(name, backstage.facts, (options) => new Parley({ ...options, transport: "http" })));
});
