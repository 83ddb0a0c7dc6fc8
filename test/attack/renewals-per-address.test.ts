/** A renewal counts as a connect of its address: tokens cannot be guessed on open connections faster than by connecting. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { ownWorldForTests, tokenQuery } from "../conformance/raw/support/world.ts";
import { refusal } from "../support/wire/connect.ts";

setDefaultTimeout(60_000);

const world = await ownWorldForTests({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "15" } });

test("refused renewals on several connections use up the connects of the address", async () => {
  const guests = [await world.guest(), await world.guest(), await world.guest()];
  const codes: string[] = [];
  for (let i = 0; i < 4; i++)
    for (const { wire } of guests) {
      const answer = await wire.request({ type: "renew", token: "forged" });
      codes.push(answer.type === "error" ? answer.code : answer.type);
    }
  // 15 connects: three were made, and each refusal counts as ten. After two of them it takes 36 seconds until there is one again.
  expect(codes).toEqual([...new Array(2).fill("invalid_token"), ...new Array(10).fill("rate_limited")]);
  const refused = await refusal(world.url, { query: tokenQuery(world.token()) });
  expect(refused).toMatchObject({ status: 429, body: { error: "rate_limited" } });
  for (const { wire } of guests) expect(await wire.sync()).toEqual([]);
});
