/** Snippets name the address that clients use, not that of the dashboard. */
import { expect, test } from "bun:test";
import type { SettingRow } from "../api/types.ts";
import { originFrom } from "./public-address.ts";

const HERE = new URL("http://admin.internal:9000/dashboard/apps/shop/keys");

const settings = (values: Readonly<Record<string, string>>): SettingRow[] => [
  { name: "PARLEY_PORT", value: "8080", source: "default", default: "8080", meaning: "" },
  ...Object.entries(values).map(([name, value]) => ({
    name,
    value,
    source: "flag" as const,
    default: "none",
    meaning: "",
  })),
];

test("the first public address comes first", () => {
  const PARLEY_PUBLIC_URL = "https://rt.example.com/, https://b.example.com";
  expect(originFrom(settings({ PARLEY_PUBLIC_URL }), HERE)).toBe("https://rt.example.com");
});

test("without one it is the dashboard's, unless that has a port of its own", () => {
  expect(originFrom([], HERE)).toBe("http://admin.internal:9000");
  expect(originFrom(settings({}), HERE)).toBe("http://admin.internal:9000");
  const PARLEY_ADMIN_LISTEN = "127.0.0.1:9000";
  expect(originFrom(settings({ PARLEY_ADMIN_LISTEN }), HERE)).toBe("http://admin.internal:8080");
  expect(originFrom(settings({ PARLEY_ADMIN_LISTEN, PARLEY_TLS_CERT: "a.pem" }), HERE)).toBe(
    "https://admin.internal:8080",
  );
});
