import { expect, test } from "bun:test";
import { offeredKey, offeredToken } from "./offered.ts";

const DIGITS = "0123456789abcdef0123456789abcdef";
const SECRET = `sk_secret_${"S".repeat(48)}`;

test("of the id of a key, the beginning is shown", () => {
  expect(offeredKey(`pk_live_${DIGITS}`)).toBe("pk_live_01234567…");
  expect(offeredKey(`sk_id_${DIGITS}`)).toBe("sk_id_01234567…");
  expect(offeredToken("eyJ.e30.c2ln", `sk_id_${DIGITS}`)).toBe("token of sk_id_01234567…");
});

test.each([
  [SECRET, "secret of a key, 58 characters"],
  [`sk_id_${DIGITS}:${SECRET}`, "secret of a key, 97 characters"],
  [`op_${"o".repeat(48)}`, "operator's token, 51 characters"],
  [`parley_admin_${"p".repeat(48)}`, "operator's token, 61 characters"],
  ["hunter2", "text, 7 characters"],
  ["h", "text, 1 character"],
  ["", "text, 0 characters"],
  ["eyJhbGciOi.e30.c2lnbmF0dXJl", "token, 27 characters"],
  [`pk_live_${SECRET.slice(10, 40)}`, "malformed pk_live_…, 38 characters"],
  [`sk_id_${DIGITS}x`, "malformed sk_id_…, 39 characters"],
])("of %j only its kind and length", (text, shown) => {
  expect([offeredKey(text), offeredToken(text)]).toEqual([shown, shown]);
});

test("what a token says of its key is shown only if it is an id", () => {
  for (const kid of [SECRET, 7, undefined, `sk_id_${DIGITS}\n`])
    expect(offeredToken("eyJ.e30.c2ln", kid)).toBe("token, 12 characters");
});
