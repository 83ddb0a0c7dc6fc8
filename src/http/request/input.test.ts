import { expect, test } from "bun:test";
import { z } from "zod";
import { Call } from "./call.ts";
import { readQuery, reportIgnoredQuery } from "./input.ts";

function callWith(query: string): Call {
  const connection = { address: () => "192.0.2.1", setIdleSeconds: () => undefined };
  const request = new Request(`http://localhost/healthz${query}`);
  return new Call(request, connection, { trustedProxies: [], domain: "localhost" }, {});
}

/** What X-Parley-Ignored says of the query. */
function ignoredIn(query: string): string | undefined {
  const call = callWith(query);
  reportIgnoredQuery(call, undefined, ["known"]);
  return call.headers["X-Parley-Ignored"];
}

test("parameters that nothing reads are reported, but a long query is not searched for them", () => {
  expect(ignoredIn("")).toBeUndefined();
  expect(ignoredIn("?known=1")).toBeUndefined();
  expect(ignoredIn("?known=1&a=1&b")).toBe("a, b");
  expect(ignoredIn(`?a=${"x".repeat(8000)}`)).toBe("a");
  expect(ignoredIn(`?a=${"x".repeat(9000)}`)).toBeUndefined();
});

test("a query that would take long to read is refused, whatever it asks for", () => {
  const schema = z.object({ a: z.string().optional() });
  expect(readQuery(callWith("?a=1"), schema)).toEqual({ a: "1" });
  expect(() => readQuery(callWith(`?a=1&${"b&".repeat(200)}`), schema)).toThrow(/128 parameters/);
  expect(() => readQuery(callWith(`?a=1&${"b&".repeat(5000)}`), schema)).toThrow(
    "The query has over 8192 characters or 128 parameters.",
  );
});
