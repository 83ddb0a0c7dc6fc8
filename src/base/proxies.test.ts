import { afterAll, beforeAll, expect, test } from "bun:test";
import { LOOPBACK, withoutProxy } from "./proxies.ts";

test("hosts join those that are called without a proxy already, once", () => {
  const env: NodeJS.ProcessEnv = { no_proxy: "intern.example" };
  for (let i = 0; i < 2; i++) withoutProxy(["localhost", "127.0.0.1"], env);
  const expected = "intern.example,localhost,127.0.0.1";
  expect(env).toEqual({ NO_PROXY: expected, no_proxy: expected });
  const none = { NO_PROXY: "*" };
  withoutProxy(LOOPBACK, none);
  expect(none).toEqual({ NO_PROXY: "*" });
});

const seen: string[] = [];
let proxy: Bun.Server<undefined>;
beforeAll(() => {
  proxy = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ headers }) => {
      seen.push(headers.get("authorization") ?? "");
      return new Response("proxy");
    },
  });
});
afterAll(() => proxy.stop(true));

test.each(["HTTP_PROXY", "http_proxy"])("a command calls a service on this machine without %s", async (variable) => {
  const child = Bun.spawn([process.execPath, "src/main.ts", "apps", "list", "--url", "http://127.0.0.1:1"], {
    env: { [variable]: proxy.url.href, PARLEY_ADMIN_TOKEN: "parley_admin_secret", XDG_RUNTIME_DIR: "/proc/self" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  expect(await child.stderr.text()).toContain("cannot reach a server at http://127.0.0.1:1");
  expect(seen).toEqual([]);
});
