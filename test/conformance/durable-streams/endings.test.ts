/** What ends the readers and writers of a stream does so within a second, with a refusal that says why. */
import { describe, setDefaultTimeout, test } from "bun:test";
import { isInSample } from "../../support/sample.ts";
import { ENDINGS, EXPIRIES, endsFor } from "../../support/streams/endings.ts";
import { ownWorldForTests } from "../raw/support/world.ts";

setDefaultTimeout(60_000);

const { admin, url } = await ownWorldForTests();

describe("readers and writers of a stream end when", () => {
  for (const [at, [name, ending]] of Object.entries(ENDINGS).entries())
    test.skipIf(!isInSample(at, 3))(name, () => endsFor({ admin, urls: [url] }, ending));
});

test("readers of a stream end when it expires", async () => {
  await Promise.all(Object.values(EXPIRIES).map((expiry) => endsFor({ admin, urls: [url] }, expiry)));
});
