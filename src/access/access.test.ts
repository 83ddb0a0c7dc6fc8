import { describe, expect, test } from "bun:test";
import { newObjectId, newPublishableId, newSecretId, newSigningSecret } from "./ids.ts";
import { normalizeOrigin, originAllowed } from "./origin.ts";
import { BUCKETS_MAX, Throttle } from "./throttle.ts";
import { digestOf, fits, Vault } from "./vault.ts";

describe("identifiers", () => {
  test("have the shapes clients know", () => {
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
});

describe("origins", () => {
  test.each([
    ["https://example.com", ["https://example.com"], true],
    ["https://EXAMPLE.com:443", ["https://example.com"], true],
    ["http://example.com", ["https://example.com"], false],
    ["https://example.com:8443", ["https://example.com"], false],
    ["https://a.example.com", ["https://*.example.com"], true],
    ["https://a.b.example.com", ["https://*.example.com"], false],
    ["https://example.com", ["https://*.example.com"], false],
    ["https://evilexample.com", ["https://*.example.com"], false],
    ["null", ["https://example.com"], false],
    ["null", ["*"], true],
    ["https://anything", ["*"], true],
    ["https://*.example.com", ["https://*.example.com"], false],
    ["https://example.com", [], false],
    ["http://localhost:3000", ["http://localhost:3000"], true],
  ])("%s under %j: %p", (origin, allowed, expected) => {
    expect(originAllowed(origin, allowed)).toBe(expected);
  });

  test("what is no origin is refused where it is given", () => {
    for (const wrong of [
      "example.com",
      "https://example.com/",
      "https://",
      "https://a b",
      "https://*",
      "https://a.*.com",
      "null",
    ])
      expect(normalizeOrigin(wrong)).toBeUndefined();
    expect(normalizeOrigin("HTTPS://Example.com:443")).toBe("https://example.com");
  });
});

describe("throttle", () => {
  test("a burst at once, then the steady rate, with the seconds to wait", () => {
    let now = 0;
    const throttle = new Throttle(3, 0.5, () => now);
    expect([1, 2, 3].map(() => throttle.take("a"))).toEqual([0, 0, 0]);
    expect(throttle.take("a")).toBe(2);
    expect(throttle.take("b")).toBe(0);
    now += 1000;
    expect(throttle.wait("a")).toBe(1);
    now += 1000;
    expect(throttle.wait("a")).toBe(0);
    expect(throttle.take("a")).toBe(0);
    expect(throttle.take("a")).toBe(2);
  });

  test("a charge is paid back at the steady rate, however much it was", () => {
    let now = 0;
    const throttle = new Throttle(20, 10, () => now);
    for (let i = 0; i < 2; i++) {
      expect(throttle.take("a")).toBe(0);
      throttle.charge("a", 9);
    }
    expect(throttle.take("a")).toBe(1);
    now += 100;
    expect(throttle.take("a")).toBe(0);
    throttle.charge("a", 9);
    now += 900;
    expect(throttle.take("a")).toBe(1);
    now += 100;
    expect(throttle.take("a")).toBe(0);
    expect(throttle.take("b")).toBe(0);
    throttle.charge("b", -50);
    for (let i = 0; i < 20; i++) expect(throttle.take("b")).toBe(0);
    expect(throttle.take("b")).toBe(1);
  });

  test("0 is no limit, and what is full again is forgotten", () => {
    const unlimited = new Throttle(0, 0, () => 0);
    expect(Array.from({ length: 1000 }, () => unlimited.take("a")).every((wait) => wait === 0)).toBe(true);
    let now = 0;
    const throttle = new Throttle(1, 1, () => now);
    for (let i = 0; i < 20_000; i++) {
      now += 1;
      throttle.take(`key ${i}`);
    }
    expect(throttle.size).toBeLessThan(12_000);
  });

  test("more keys than it remembers make the oldest begin anew", () => {
    const throttle = new Throttle(1, 0.001, () => 0);
    for (let i = 0; i < BUCKETS_MAX + 5; i++) expect(throttle.take(`key ${i}`)).toBe(0);
    expect(throttle.size).toBe(BUCKETS_MAX);
    expect(throttle.take(`key ${BUCKETS_MAX}`)).toBeGreaterThan(0);
    expect(throttle.take("key 0")).toBe(0);
  });
});

describe("vault", () => {
  const vault = new Vault(Buffer.alloc(32, 1));

  test("opens what it sealed, for the same row only", () => {
    const sealed = vault.seal("sk_secret_x", "row 1");
    expect(sealed).not.toContain("sk_secret_x");
    expect(vault.open(sealed, "row 1")).toBe("sk_secret_x");
    expect(vault.open(sealed, "row 2")).toBeUndefined();
    expect(vault.seal("sk_secret_x", "row 1")).not.toBe(sealed);
  });

  test("another master key, a changed byte or garbage opens nothing", () => {
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

  test("digests compare", () => {
    expect(fits("x", digestOf("x"))).toBe(true);
    expect(fits("y", digestOf("x"))).toBe(false);
  });
});
