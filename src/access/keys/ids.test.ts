import { expect, test } from "bun:test";
import { newObjectId, newPublishableId, newSecretId, newSigningSecret } from "./ids.ts";

test("identifiers have the shapes that clients know", () => {
  expect(newPublishableId()).toMatch(/^pk_live_[0-9a-f]{32}$/);
  expect(newSecretId()).toMatch(/^sk_id_[0-9a-f]{32}$/);
  expect(newSigningSecret()).toMatch(/^sk_secret_[A-Za-z0-9_-]{48}$/);
  expect(newObjectId(1_700_000_000_000)).toMatch(/^[0-9a-f]{24}$/);
});

test("object ids are ordered by time, also within a millisecond and when the clock steps back", () => {
  const times = [5, 5, 5, 6, 4, 7].map((ms) => newObjectId(2_000_000_000_000 + ms));
  expect(times.toSorted()).toEqual(times);
  expect(new Set(times).size).toBe(times.length);
});
