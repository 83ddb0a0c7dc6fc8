import { expect, test } from "bun:test";
import { digestOf } from "../../access/keys/vault.ts";
import type { Snapshot } from "../../store/contract/store.ts";
import { AdminToken } from "./admin-token.ts";

const STORED = "admin_token_digest";
const snapshotWith = (stored?: string): Snapshot =>
  ({ meta: new Map(stored === undefined ? [] : [[STORED, digestOf(stored)]]) }) as unknown as Snapshot;

const digestAfter = (setting: string, justMade: string | undefined, stored?: string): string => {
  const token = new AdminToken(setting, justMade);
  token.update(snapshotWith(stored));
  return token.digest;
};

test("the setting takes precedence over the store", () => {
  expect(digestAfter("from-setting", undefined, "from-store")).toBe(digestOf("from-setting"));
});

test("without a setting, the token of the store is in force", () => {
  expect(digestAfter("", undefined, "from-store")).toBe(digestOf("from-store"));
});

test("a token that was just made is in force until the store has one", () => {
  const token = new AdminToken("", "just-made");
  token.update(snapshotWith());
  expect(token.digest).toBe(digestOf("just-made"));
  token.update(snapshotWith("reset-elsewhere"));
  expect(token.digest).toBe(digestOf("reset-elsewhere"));
});

test("without any token there is a digest that none has", () => {
  const token = new AdminToken("", undefined);
  token.update(snapshotWith());
  expect(token.exists).toBe(false);
  expect(token.digest).not.toBe(digestOf(""));
});
