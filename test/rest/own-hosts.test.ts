/** Host names under which the control plane and the metrics answer (DNS rebinding), and what a health check responds. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { serverForTests } from "../support/for-tests.ts";
import { rawCall, statusOf } from "../support/http.ts";
import { startParley } from "../support/parley.ts";
import { WORKERS } from "../support/workers.ts";

setDefaultTimeout(60_000);

const server = await serverForTests({ env: { PARLEY_PUBLIC_URL: "https://realtime.example.com, http://parley:8080" } });

const PATHS = ["/metrics", "/api/internal/v1/apps"];

const ask = (path: string, ...lines: string[]): Promise<string> =>
  rawCall(server.url, [`GET ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n"));
const withToken = (): string => `Authorization: Bearer ${server.adminToken}`;

describe("a host name that is not the service's own", () => {
  test.each(["evil.example", "evil.example:8080", "localhost.evil.example", "realtime.example.com.evil.example", "x"])(
    "%s: 421 with the setting to change",
    async (host) => {
      for (const path of PATHS) {
        const answer = await ask(path, `Host: ${host}`);
        expect({ path, status: statusOf(answer) }).toEqual({ path, status: 421 });
        expect(answer).toContain('"error":"wrong_host"');
        expect(answer).toContain("PARLEY_PUBLIC_URL");
      }
    },
  );

  test("is accepted with the admin token, so that proxies keep working", async () => {
    for (const path of PATHS) expect(statusOf(await ask(path, "Host: evil.example", withToken()))).toBe(200);
  });

  test("counts a wrong token as well", async () => {
    const tries = await Promise.all(
      Array.from({ length: 5 + 10 * WORKERS }, () =>
        ask("/metrics", "Host: evil.example", "Authorization: Bearer wrong"),
      ),
    );
    const statuses = tries.map(statusOf);
    expect(statuses).toContain(421);
    expect(statuses).toContain(429);
    expect(statuses).not.toContain(200);
  });
});

test.each([
  "localhost",
  "LOCALHOST:1",
  "localhost.",
  "127.0.0.1",
  "127.0.0.1:8080",
  "[::1]",
  "[::1]:8080",
  "192.0.2.1",
  "realtime.example.com",
  "Realtime.Example.com:443",
  "parley",
])("%s is one of the service's own names", async (host) => {
  expect(statusOf(await ask("/metrics", `Host: ${host}`))).toBe(200);
  expect(statusOf(await ask("/api/internal/v1/apps", `Host: ${host}`))).toBe(401);
});

describe("through a proxy on this machine", () => {
  test.each(["X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1", "X-Real-IP: 127.0.0.1", "Via: 1.1 proxy"])(
    "/metrics wants the admin token: %s",
    async (header) => {
      expect(statusOf(await ask("/metrics", "Host: localhost", header))).toBe(401);
      expect(statusOf(await ask("/metrics", "Host: localhost", header, withToken()))).toBe(200);
    },
  );

  test("a trusted proxy that forwards no address does not count as this machine", async () => {
    await using own = await startParley({ env: { PARLEY_TRUSTED_PROXIES: "127.0.0.1" } });
    const answer = await rawCall(own.url, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(statusOf(answer)).toBe(401);
  });

  test("the name that a trusted proxy forwards counts, not the one it connects to", async () => {
    await using own = await startParley({ env: { PARLEY_TRUSTED_PROXIES: "127.0.0.1" } });
    const host = (name: string): Promise<string> =>
      rawCall(own.url, `GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Host: ${name}\r\n\r\n`);
    expect(statusOf(await host("evil.example"))).toBe(421);
    expect(statusOf(await host("localhost"))).toBe(401);
  });
});
