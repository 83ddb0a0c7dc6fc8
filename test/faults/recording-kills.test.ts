/**
 * `kill -9` at random points of what pages of meetings record: uploads, completions, mending, deletions. Every acknowledged byte is in a listed
 * recording, what is listed is whole, what was deleted stays away, and nothing is left without an owner.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { type Killing, killAndJudge } from "./support/recordings/killing.ts";

setDefaultTimeout(1_800_000);

const SEED = Number(process.env.PARLEY_TEST_SEED ?? 21_000);

const ALL: readonly Killing[] =
  process.env.PARLEY_TEST_FULL === "1"
    ? [
        { setting: "folder", seed: SEED, kills: 30 },
        { setting: "bucket", seed: SEED + 3, kills: 30 },
        { setting: "three nodes", seed: SEED + 4, kills: 30 },
      ]
    : [{ setting: "folder", seed: SEED, kills: 2, pages: 3 }];

test.each(ALL)("$kills kills with the setting $setting, seed $seed", async (killing) => {
  const outcome = await killAndJudge(killing);
  console.log(`${killing.setting}, seed ${killing.seed}: ${JSON.stringify(outcome)}`);
  expect(outcome.kills).toBeGreaterThanOrEqual(killing.kills);
  expect(outcome.uploads).toBeGreaterThan(0);
});
