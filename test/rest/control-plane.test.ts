/** The control plane as a whole: credentials, addresses, and what all responses have in common (protocol.md 8). */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mint } from "../support/admin.ts";
import { CONFLICT, expectFrame, INVALID, NOT_FOUND, refused } from "../support/checks.ts";
import type { Document } from "../support/contract.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { type Answer, call, rawCall, statusOf } from "../support/http.ts";
import { startParley } from "../support/parley.ts";
import { WORKERS } from "../support/workers.ts";

setDefaultTimeout(60_000);

const APPS = "/apps";
const KEYS = "/signalling/keys";

const server = await checkedServerForTests();
const { admin } = server;

describe("tokens/check", () => {
  test("refuses an invalid request", async () => {
    for (const body of [{}, { token: "" }, { token: 1 }, "x", '{"token":"a","token":"b"}'])
      await refused(admin, INVALID, "POST", "/signalling/tokens/check", body);
  });
});

test("/node reports the node's configuration", async () => {
  expect((await admin.call("GET", "/node")).body).toMatchObject({
    host: "127.0.0.1",
    hasTls: false,
    masterKey: "file",
    adminToken: "setting",
    hasFirstRunFile: true,
  });
});

test("without a place for backups, a start of one says what to set", async () => {
  expect((await admin.call("GET", "/backups")).body).toMatchObject({ target: null, data: [], health: null });
  expect(await refused(admin, CONFLICT, "POST", "/backups")).toContain("PARLEY_BACKUP_TO");
});

describe("common rules", () => {
  const bodies: [string, string, string][] = [
    ["malformed JSON", '{"name":', "not valid JSON"],
    ["a key twice", '{"name":"a","name":"b"}', "twice"],
    ["a list", "[]", "object"],
  ];

  test.each(bodies)("%s is a 400 that names the fault", async (_name, body, says) => {
    expect(await refused(admin, INVALID, "POST", APPS, body)).toContain(says);
  });

  test("a body over the limit is a 413", async () => {
    const { status, body } = await admin.call("POST", APPS, `{"name":"${"x".repeat(128 * 1024)}"}`);
    expect({ status, error: body.error }).toEqual({ status: 413, error: "invalid_request" });
  });

  test("every call needs the admin token", async () => {
    const { body } = await call<Document>(`${server.url}/openapi.json`);
    const calls = Object.entries(body.paths).flatMap(([path, operations]) =>
      path.startsWith("/api/internal/") ? Object.keys(operations).map((method) => [method, path] as const) : [],
    );
    expect(calls.length).toBeGreaterThan(10);
    for (const [method, path] of calls) {
      const answer = await call(server.url + path.replace(/\{\w+\}/, "demo"), { method: method.toUpperCase() });
      expectFrame(answer);
      expect({ method, path, status: answer.status, error: answer.body.error }).toEqual({
        method,
        path,
        status: 401,
        error: "unauthorized",
      });
    }
  });

  test("an unknown address is a 404, a wrong method a 405 that names the allowed ones", async () => {
    for (const path of ["/nothing", "/apps/", "/apps/a/b", "", "/signalling", `${KEYS}/x/y`])
      await refused(admin, NOT_FOUND, "GET", path);
    const allowed = async (method: string, path: string): Promise<string[] | undefined> => {
      const { status, headers, body } = await admin.call(method, path);
      expect({ status, error: body.error }).toEqual({ status: 405, error: "method_not_allowed" });
      return headers.get("allow")?.split(", ").sort();
    };
    expect(await allowed("PUT", APPS)).toEqual(["GET", "POST"]);
    expect(await allowed("POST", `${APPS}/demo`)).toEqual(["DELETE", "GET", "PATCH"]);
    expect(await allowed("GET", `${KEYS}/x/rotate`)).toEqual(["POST"]);
    expect(await allowed("OPTIONS", KEYS)).toEqual(["GET", "POST"]);
    const { status, headers } = await call(`${server.url}/v1/tokens`, { method: "GET" });
    expect({ status, allow: headers.get("allow") }).toEqual({ status: 405, allow: "POST" });
  });

  test("no response has CORS headers, not even to a preflight", async () => {
    for (const method of ["OPTIONS", "GET", "POST"]) {
      const answer = await call(`${server.url}/api/internal/v1/apps`, {
        method,
        bearer: admin.token,
        headers: { Origin: "https://evil.example", "Access-Control-Request-Method": "POST" },
      });
      expectFrame(answer);
    }
  });

  test("each response has a new request id, whatever the caller sends", async () => {
    const ids = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const { headers } = await call(`${server.url}/healthz`, { headers: { "X-Request-Id": "mine" } });
        return headers.get("x-request-id");
      }),
    );
    expect(new Set(ids).size).toBe(5);
    expect(ids).not.toContain("mine");
  });

  test.each(["demo.localhost", "DEMO.localhost", "demo.localhost:8080", "nosuchapp.localhost", "demo.localhost."])(
    "the control plane does not exist on an application's host: %s",
    async (host) => {
      for (const path of ["/api/internal/v1/apps", `/api/internal/v1${KEYS}`, "/metrics"]) {
        const answer = await rawCall(
          server.url,
          `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${admin.token}\r\n\r\n`,
        );
        expect({ path, status: statusOf(answer) }).toEqual({ path, status: 404 });
        expect(answer).toContain('"not_found"');
      }
    },
  );

  test.each(["localhost", "127.0.0.1", "localhost:8080", "parley.example"])("it answers on %s", async (host) => {
    const answer = await rawCall(
      server.url,
      `GET /api/internal/v1/apps HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${admin.token}\r\n\r\n`,
    );
    expect(statusOf(answer)).toBe(200);
  });
});

describe("guessing the admin token", () => {
  const wrong = (url: string, headers: Record<string, string> = {}): Promise<Answer> =>
    call(`${url}/api/internal/v1/apps`, { bearer: "wrong", headers });

  test("ten wrong attempts, then 429 with Retry-After; the right token still works", async () => {
    await using own = await startParley();
    for (let i = 0; i < 20; i++) expect((await call(`${own.url}/api/internal/v1/apps`)).status).toBe(401);
    // All at once, so that the bucket does not refill on a slow machine.
    const answers = await Promise.all(Array.from({ length: 30 * WORKERS }, () => wrong(own.url)));
    const statuses = answers.map((answer) => answer.status);
    expect(statuses.filter((status) => status === 401).length).toBeGreaterThanOrEqual(10);
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(11 * WORKERS);
    const refused = answers.find((answer) => answer.status === 429)!;
    expect(refused.body).toEqual({ error: "rate_limited", message: expect.any(String) });
    const wait = Number(refused.headers.get("retry-after"));
    expect(wait).toBeGreaterThanOrEqual(1);
    expect(wait).toBeLessThanOrEqual(60);
    expectFrame(refused);
    expect((await call(`${own.url}/api/internal/v1/apps`, { bearer: own.adminToken })).status).toBe(200);
    // The right token does not refill the bucket either.
    expect((await Promise.all(Array.from({ length: 5 }, () => wrong(own.url)))).at(-1)?.status).toBe(429);
    // A forged client address does not help.
    const claimed = await Promise.all(
      Array.from({ length: 10 }, (_, i) => wrong(own.url, { "X-Forwarded-For": `10.0.0.${i}` })),
    );
    expect(claimed.filter((answer) => answer.status === 401).length).toBeLessThanOrEqual(1);
    // Other API calls are not affected.
    expect((await mint(own.url, own.keys.secretKey)).status).toBe(200);
  });

  test("behind a trusted proxy each client is counted separately, IPv6 by /64", async () => {
    await using own = await startParley({ env: { PARLEY_TRUSTED_PROXIES: "127.0.0.1" } });
    const from = (address: string): Promise<Answer> => wrong(own.url, { "X-Forwarded-For": address });
    await Promise.all(Array.from({ length: 30 }, () => from("203.0.113.7")));
    await Promise.all(Array.from({ length: 30 }, (_, i) => from(`2001:db8::${i}`)));
    const exhausted = async (address: string): Promise<boolean> => {
      const answers = await Promise.all(Array.from({ length: 5 }, () => from(address)));
      return answers.some((answer) => answer.status === 429);
    };
    expect(await exhausted("6.6.6.6, 203.0.113.7")).toBe(true);
    expect(await exhausted("2001:db8::ffff")).toBe(true);
    expect(await exhausted("203.0.113.8")).toBe(false);
    expect(await exhausted("2001:db8:0:1::1")).toBe(false);
  });
});
