/** The start page `/` without a browser: how a node serves it, which key it shows, and that it loads nothing from other hosts. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { commandAt } from "../../src/cli/declarations/all.ts";
import { call } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { MARKUP_FROM_TEXT, scriptsOf } from "./support/page-scripts.ts";

let server: Server;

beforeAll(async () => {
  server = await startParley();
});

afterAll(() => server.stop());

const page = async (): Promise<string> => (await call(`${server.url}/`)).text;
/** Without a key, nothing of the demo is in the page. */
function keyIn(html: string): string {
  const [, key = ""] = /<html [^>]*data-key="([^"]*)"/.exec(html) ?? [];
  if (!html.includes("<h1>")) return "no page";
  if (key === "") expect(html).not.toMatch(/pk_live|data-key|demo|first-run|bin\/parley/);
  return key;
}
const shownKey = async (): Promise<string> => keyIn(await page());

describe("the start page", () => {
  test("is HTML whose policy allows only its own scripts and its own server", async () => {
    const { status, headers } = await call(`${server.url}/`);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("cache-control")).toBe("no-store");
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("connect-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/https?:|wss?:|\*|unsafe/);
  });

  test("takes only GET and HEAD", async () => {
    expect((await call(`${server.url}/`, { method: "HEAD" })).status).toBe(200);
    for (const method of ["POST", "PUT", "DELETE"]) {
      const { status, headers, body } = await call(`${server.url}/`, { method });
      expect([status, headers.get("allow"), body.error]).toEqual([405, "GET", "method_not_allowed"]);
    }
  });

  test("does not exist on an application's host", async () => {
    const { status, body } = await call(`${server.url}/`, { headers: { Host: "demo.localhost" } });
    expect([status, body.error]).toEqual([404, "not_found"]);
  });

  test("refers to no other host", async () => {
    const html = await page();
    expect(html.match(/https?:\/\/|@import|\burl\(/g)).toBeNull();
    for (const [, target = ""] of html.matchAll(/(?:href|src|action)="([^"]*)"/g))
      expect(target).toMatch(/^(#|data:|\/(?!\/))/);
  });

  test("has a script that never makes markup from what a peer sends, and nothing inline", async () => {
    const html = await page();
    expect(html).not.toMatch(/<script>|<style|style="|onclick=/);
    const script = await scriptsOf(`${server.url}/`, html);
    expect(script.length).toBeGreaterThan(1000);
    expect(script.match(MARKUP_FROM_TEXT)).toBeNull();
  });

  test("names commands that exist, among them those that lead to a meeting", async () => {
    const html = await page();
    const named = [...html.matchAll(/<code>bin\/parley ([^<]+)<\/code>/g)].map(([, command = ""]) =>
      command.split(" "),
    );
    expect(named.filter((parts) => parts[0] !== "help" && commandAt(parts.slice(0, 2)) === undefined)).toEqual([]);
    expect(named.map((parts) => parts.slice(0, 2).join(" "))).toEqual(
      expect.arrayContaining(["rooms create", "rooms open"]),
    );
  });

  test("shows the version, and without the dashboard does not lead to it", async () => {
    expect(await page()).toMatch(/Parley \d+\.\d+\.\d+/);
    expect(await page()).toContain('href="/dashboard"');
    await using other = await startParley({ env: { PARLEY_DASHBOARD: "off", PARLEY_DEMO: "off" } });
    const { text } = await call(`${other.url}/`);
    expect(text).not.toContain("/dashboard");
    expect(keyIn(text)).toBe("");
  });

  test("links to pages that exist", async () => {
    const html = await page();
    for (const name of ["tour", "quickstart", "client", "cli", "history", "meetings", "recordings"])
      expect(html).toContain(`<a href="/docs/${name}">`);
    for (const [, path = ""] of html.matchAll(/<a href="(\/\w[^"]*)"/g))
      expect((await call(server.url + path)).status, path).toBe(200);
  });
});

describe("the key on the start page", () => {
  const demoKeys = async () => (await server.admin.keys("demo")).filter((key) => key.revoked === null);

  test("is the demo's publishable key, and the page holds no secret", async () => {
    const html = await page();
    expect(await shownKey()).toBe(server.keys.publishableKey);
    expect(html).not.toMatch(/sk_id_|sk_secret_/);
    for (const secret of [...server.keys.secretKey.split(":"), server.keys.appSecret, server.adminToken])
      expect(html.includes(secret)).toBe(false);
  });

  test("is shown only while every origin may use it", async () => {
    const keyId = server.keys.publishableKey;
    await server.admin.patchKey(keyId, { allowedOrigins: ["https://example.com"] });
    expect(await shownKey()).toBe("");
    await server.admin.patchKey(keyId, { allowedOrigins: ["https://example.com", "*"] });
    expect(await shownKey()).toBe(keyId);
  });

  describe("is shown only to a browser on the server's own machine", () => {
    /** The documentation gets it under the same conditions. */
    const keyFor = async (url: string, headers: Record<string, string> = {}): Promise<string> => {
      const key = keyIn((await call(`${url}/`, { headers })).text);
      const names = await call(`${url}/docs/demo.json`, { headers });
      expect(names.text).toBe(JSON.stringify(key === "" ? {} : { publishableKey: key }));
      expect([names.headers.get("cache-control"), names.headers.get("access-control-allow-origin")]).toEqual([
        "no-store",
        null,
      ]);
      return key;
    };

    test("under any of its own names", async () => {
      const { port } = new URL(server.url);
      for (const host of ["localhost", `localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`])
        expect([host, await keyFor(server.url, { Host: host })]).toEqual([host, server.keys.publishableKey]);
    });

    test("not under another name, which may belong to another site (DNS rebinding)", async () => {
      for (const host of ["example.com", "localhost.example.com", "127.0.0.1.example.com:80", "203.0.113.7"])
        expect([host, await keyFor(server.url, { Host: host })]).toEqual([host, ""]);
    });

    test("not through a proxy, trusted or not, whatever its headers claim", async () => {
      await using behind = await startParley({ env: { PARLEY_TRUSTED_PROXIES: "127.0.0.1" } });
      // A request without these headers may come from the proxy itself.
      expect(await keyFor(behind.url)).toBe("");
      for (const { url } of [server, behind])
        for (const [name, value] of [
          ["X-Forwarded-For", "203.0.113.7"],
          ["X-Forwarded-For", "127.0.0.1"],
          ["X-Forwarded-Host", "localhost"],
          ["X-Real-IP", "127.0.0.1"],
          ["Forwarded", "for=127.0.0.1"],
          ["Via", "1.1 proxy"],
        ] as const)
          expect([name, await keyFor(url, { [name]: value })]).toEqual([name, ""]);
    });

    const outside = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .find(({ internal, family }) => !internal && family === "IPv4");
    test.skipIf(!outside)("not to a client on the network", async () => {
      await using open = await startParley({ host: "0.0.0.0" });
      const { port } = new URL(open.url);
      const url = `http://${outside?.address}:${port}`;
      expect(await keyFor(url)).toBe("");
      expect(await keyFor(url, { Host: "localhost" })).toBe("");
    });
  });

  test("belongs to the application demo, not to another", async () => {
    const { _id } = await server.admin.createApp();
    const other = await server.admin.createPublishable(_id);
    await server.admin.revoke(server.keys.publishableKey);
    expect((await demoKeys()).map((key) => key.type)).toEqual(["secret"]);
    expect(await page()).not.toContain(other.keyId);
    expect(await shownKey()).toBe("");
    const next = await server.admin.createPublishable("demo");
    expect(await shownKey()).toBe(next.keyId);
  });

  test("is not shown after the application was deleted", async () => {
    await server.admin.must("DELETE", "/apps/demo");
    expect(await shownKey()).toBe("");
  });
});

test("first-run.txt names the page first", async () => {
  const text = await Bun.file(`${server.data}/first-run.txt`).text();
  const tries = text.slice(text.indexOf("Try:")).trim().split("\n").slice(1);
  expect(tries[0]?.trim()).toBe(`open ${server.url}/`);
});
