/** A sample of the fuzzer; run.ts goes on as long as it is told. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { fuzzConnections } from "./connections.ts";
import { fuzzDecode } from "./decode.ts";

setDefaultTimeout(120_000);

/** Another one each day finds more; it is in the name of the test, and run.ts takes it. */
const SEED = Math.floor(Date.now() / 86_400_000);

test(`200,000 texts are decoded or refused, and none is misread (seed ${SEED})`, () => {
  const { accepted } = fuzzDecode(200_000, SEED);
  // Neither all nor nothing, or it would prove nothing.
  expect(accepted).toBeGreaterThan(20_000);
  expect(accepted).toBeLessThan(180_000);
});

test(`20,000 frames over connections neither end the server nor hold up a healthy peer (seed ${SEED})`, async () => {
  const { frames, connects, pings } = await fuzzConnections(20_000, SEED);
  expect(frames).toBeGreaterThanOrEqual(20_000);
  expect(connects).toBeGreaterThan(20);
  expect(pings).toBeGreaterThan(0);
});
