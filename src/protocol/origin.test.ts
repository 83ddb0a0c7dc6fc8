import { expect, test } from "bun:test";
import { normalizeOrigin, originAllowed } from "./origin.ts";

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
])("origin %s, allowed %j: %p", (origin, allowed, expected) => {
  expect(originAllowed(origin, allowed)).toBe(expected);
});

test("a text that is not an origin has no normal form", () => {
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
