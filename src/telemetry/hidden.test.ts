import { expect, test } from "bun:test";
import { newAdminToken, newOperatorToken, newSigningSecret } from "../access/keys/ids.ts";
import { withoutCredentials } from "./hidden.ts";
import { makeLog } from "./log.ts";

const TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJlLXNpZ25hdHVyZQ";

test.each<[string, string, string]>([
  [
    "the query of an address",
    "GET https://a.example/x?token=abc&b=1 failed",
    "GET https://a.example/x?(hidden) failed",
  ],
  ["a fragment", "at https://a.example/room#token=abc", "at https://a.example/room?(hidden)"],
  ["a user and a password", "postgres://me:pass@db/parley refused", "postgres://(hidden)@db/parley refused"],
  ["both", "s3://key:secret@bucket?endpoint=x", "s3://(hidden)@bucket?(hidden)"],
  ["a connect token", `bad token ${TOKEN}`, "bad token (hidden)"],
  ["a token of a room", `"rt_${TOKEN}"`, '"(hidden)"'],
  ["a token without its end", `${TOKEN.slice(0, 30)}… (cut)`, "(hidden)… (cut)"],
])("%s is hidden", (_what, text, expected) => {
  expect(withoutCredentials(text)).toBe(expected);
});

test("secrets that the service makes are hidden, and their kind is still shown", () => {
  const made = [newSigningSecret(), newOperatorToken(), newAdminToken()].join(" ");
  expect(withoutCredentials(made)).toBe("sk_secret_(hidden) op_(hidden) parley_admin_(hidden)");
});

test("what holds no credential stays as it is", () => {
  const text = "ENOENT: no such file, open '/var/lib/parley/first-run.txt' (nats://10.0.0.1:4222, a?b)";
  expect(withoutCredentials(text)).toBe(text);
});

test.each(["json", "pretty"] as const)(
  "an error that quotes an address does not bring its query to the log (%s)",
  (format) => {
    let written = "";
    const log = makeLog("debug", format, "n", (line) => {
      written += line;
    });
    const url = "https://bucket.example/recording?X-Amz-Signature=0123456789abcdef";
    const inner = Object.assign(new Error(`cannot load ${url}`), { path: url, requests: [{ url, more: { url } }] });
    log.error({ err: new AggregateError([inner], "both failed", { cause: inner }) }, "failed");
    log.error({ err: inner }, "failed");
    log.error({ err: url }, "failed");
    expect(written).toContain("bucket.example/recording");
    expect(written).not.toContain("0123456789abcdef");
  },
);
