import { expect, test } from "bun:test";
import { digestOf, fits, Vault } from "./vault.ts";

const vault = new Vault(Buffer.alloc(32, 1));

test("a sealed secret opens only for the row it was sealed for", () => {
  const sealed = vault.seal("sk_secret_x", "row 1");
  expect(sealed).not.toContain("sk_secret_x");
  expect(vault.open(sealed, "row 1")).toBe("sk_secret_x");
  expect(vault.open(sealed, "row 2")).toBeUndefined();
  expect(vault.seal("sk_secret_x", "row 1")).not.toBe(sealed);
});

test("another master key, a changed byte or a malformed value does not open", () => {
  const sealed = vault.seal("sk_secret_x", "row");
  expect(new Vault(Buffer.alloc(32, 2)).open(sealed, "row")).toBeUndefined();
  const bytes = Buffer.from(sealed.slice(3), "base64");
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes);
    changed[i] = (changed[i] ?? 0) ^ 1;
    expect(vault.open(`v1.${changed.toString("base64")}`, "row")).toBeUndefined();
  }
  for (const garbage of ["", "v1.", "v2.AAAA", "v1.AAAA"]) expect(vault.open(garbage, "row")).toBeUndefined();
});

test("derived keys differ by label", () => {
  expect(vault.derive("a")).not.toEqual(vault.derive("b"));
});

test("a secret is compared by its digest", () => {
  expect(fits("x", digestOf("x"))).toBe(true);
  expect(fits("y", digestOf("x"))).toBe(false);
});
