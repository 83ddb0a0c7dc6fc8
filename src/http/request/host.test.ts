import { expect, test } from "bun:test";
import fc from "fast-check";
import { appLabel } from "./host.ts";

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?$/);
const port = fc.option(fc.nat(65_535)).map((number) => (number === null ? "" : `:${number}`));

test("an application's host is one label under the domain, in any case, with any port", () => {
  fc.assert(
    fc.property(label, fc.constantFrom("localhost", "meet.example.com"), port, (name, domain, end) => {
      expect(appLabel(`${name}.${domain}${end}`, domain)).toBe(name);
      expect(appLabel(`${name}.${domain}${end}`.toUpperCase(), domain)).toBe(name);
    }),
  );
});

test.each([
  null,
  "",
  "localhost",
  "localhost:8080",
  ".localhost",
  "a.b.localhost",
  "demo.localhost.evil.example",
  "demolocalhost",
  "demo.localhost/",
  "demo.localhost:80x",
  "127.0.0.1",
  "[::1]:8080",
])("%p is no application's host", (host) => {
  expect(appLabel(host, "localhost")).toBeUndefined();
});
