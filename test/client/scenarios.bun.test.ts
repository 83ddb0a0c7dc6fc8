/** The scenarios of the conformance suite with parley-client under Bun, with its own WebSocket. */
import { afterAll, beforeAll, describe, setDefaultTimeout, test } from "bun:test";
import { Parley } from "../../client/src/index.ts";
import { play, SCENARIOS } from "./scenarios/all.ts";
import { Backstage } from "./support/backstage.ts";

setDefaultTimeout(90_000);

describe("parley-client under Bun", () => {
  let backstage: Backstage;
  beforeAll(async () => {
    backstage = await Backstage.start();
  });
  afterAll(() => backstage.stop());

  for (const { name } of SCENARIOS) test(name, () => play(name, backstage.facts, (options) => new Parley(options)));
});
