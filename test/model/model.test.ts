/** A sample of the model test. Long runs: sh bin/dev test/model/run.ts --steps 1000000 --seed 7 */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { NUMBER_MAX, NUMBERS } from "./acts.ts";
import { walk, walks } from "./walks.ts";

const SEED = 20_263;
const RULES_SEED = 8310;
/** The number of acts of the longer walks. */
const STEPS = Number(process.env.PARLEY_TEST_MODEL_STEPS ?? 20_000);
/** Those with channel rules wait for a store, and are slower. */
const RULES_STEPS = STEPS / 5;
const act = fc.array(fc.nat(NUMBER_MAX - 1), { minLength: NUMBERS, maxLength: NUMBERS });
const acts = fc.array(act, { minLength: 20, maxLength: 150, size: "max" });

test("whatever happens on one to three nodes, each connection gets what it must, in order, and nothing else", async () => {
  const property = fc.asyncProperty(act, acts, async (setting, acts) => {
    const fault = await walk(setting, acts);
    if (fault) throw new Error([fault.message, ...fault.trail].join("\n"));
  });
  await fc.assert(property, {
    numRuns: process.env.PARLEY_TEST_FULL ? 300 : 80,
    seed: SEED,
    includeErrorInReport: true,
  });
}, 60_000);

test("the same on longer walks, on which every kind of event happens", async () => {
  const { found, counts } = await walks(SEED, STEPS);
  expect(found && [found.message, ...found.trail].join("\n")).toBeUndefined();
  const seen = [...counts.keys()];
  const closings = ["closed 1006", "closed 4001", "closed 4002", "closed 4020"];
  const refusals = ["refused invalid_token", "refused token_expired", "refused unauthorized"];
  const errors = ["action_not_permitted", "channel_not_authorized", "peer_not_found", "token_expired", "invalid_token"];
  expect(seen).toEqual(expect.arrayContaining([...closings, ...refusals, ...errors.map((code) => `error ${code}`)]));
  expect(seen).toEqual(expect.arrayContaining(["ack", "message", "direct", "roster", "presence", "renewed"]));
  expect(seen).toEqual(expect.arrayContaining(["held back", "damped at the end"]));
}, 900_000);

test("with channel rules: histories, recoveries, states and graces", async () => {
  const { found, counts } = await walks(RULES_SEED, RULES_STEPS, "rules");
  expect(found && [found.message, ...found.trail].join("\n")).toBeUndefined();
  const seen = [...counts.keys()];
  expect(seen).toEqual(expect.arrayContaining(["stored", "duplicate", "recover true", "recover false", "rewind true"]));
  expect(seen).toEqual(expect.arrayContaining(["replayed", "lost", "state of another", "node died", "closed 1001"]));
  expect(seen).toEqual(
    expect.arrayContaining(["store refusing", "store losing", "store hanging", "error backend_error"]),
  );
}, 900_000);
