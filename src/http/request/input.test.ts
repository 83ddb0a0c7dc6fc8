import { expect, test } from "bun:test";
import { Call } from "./call.ts";
import { reportIgnoredQuery } from "./input.ts";

/** What X-Parley-Ignored says of the query. */
function ignoredIn(query: string): string | undefined {
  const connection = { address: () => "192.0.2.1", setIdleSeconds: () => undefined };
  const request = new Request(`http://localhost/healthz${query}`);
  const call = new Call(request, connection, { trustedProxies: [], domain: "localhost" }, {});
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
