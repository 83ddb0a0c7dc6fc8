/** What an operator's tools request: health, metrics, the OpenAPI document; rates, and a separate admin address. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { freePort } from "../../src/testing/ports.ts";
import { mint } from "../support/admin.ts";
import type { Document } from "../support/contract.ts";
import { serverForTests } from "../support/for-tests.ts";
import { call } from "../support/http.ts";
import { startParley } from "../support/parley.ts";
import { found } from "../support/wait.ts";
import { WORKERS } from "../support/workers.ts";

setDefaultTimeout(60_000);

/** It is a matter of milliseconds: the more often it is tried, the surer. */
const STARTS = process.env.PARLEY_TEST_FULL === "1" ? 8 : 2;

const server = await serverForTests();

describe("health", () => {
  test("/healthz and /readyz answer without a credential", async () => {
    expect((await call(`${server.url}/healthz`)).body).toEqual({ status: "ok" });
    const { status, body } = await call(`${server.url}/readyz`);
    const names = ["store", "writes", "keys", "recordings", "mending", "history", "files", "shutdown"];
    if (WORKERS > 1) names.push("workers", "bus", "versions");
    const checks = Object.fromEntries(names.map((name) => [name, "ok"]));
    expect({ status, body }).toEqual({ status: 200, body: { ready: true, degraded: [], checks } });
  });

  test("HEAD responds like GET without the body", async () => {
    const { status, text } = await call(`${server.url}/healthz`, { method: "HEAD" });
    expect({ status, text }).toEqual({ status: 200, text: "" });
  });

  test("a signal right after the log line that says it is ready is handled", async () => {
    const codes = await Promise.all(
      Array.from({ length: STARTS }, async () => {
        await using own = await startParley({ env: { PARLEY_DEMO: "off" } });
        return own.kill("SIGTERM");
      }),
    );
    expect(codes).toEqual(Array<number>(STARTS).fill(0));
  });

  test("SIGTERM and SIGINT end it with exit code 0", async () => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      await using own = await startParley({ env: { PARLEY_DEMO: "off" } });
      expect((await call(`${own.url}/healthz`)).status).toBe(200);
      expect(await own.kill(signal)).toBe(0);
    }
  });
});

describe("JSON", () => {
  const { url, adminToken, keys } = server;
  const app = { "X-Parley-App": "demo" };
  const admin = { Authorization: `Bearer ${adminToken}` };
  const key = { Authorization: `Bearer ${keys.secretKey}` };
  const calls: readonly { what: string; path: string; status: number; init?: RequestInit }[] = [
    { what: "health", path: "/healthz", status: 200 },
    { what: "readiness", path: "/readyz", status: 200 },
    { what: "a path without a route", path: "/nowhere/at/all", status: 404 },
    { what: "a method that is not allowed", path: "/v1/tokens", status: 405 },
    { what: "a connect without a credential", path: "/v1", status: 401, init: {} },
    { what: "the OpenAPI document", path: "/openapi.json", status: 200, init: { headers: { "Accept-Encoding": "" } } },
    { what: "a document that is changed", path: "/client.js", status: 405, init: { method: "POST" } },
    { what: "a call without a credential", path: "/v1/tokens", status: 401, init: { method: "POST" } },
    {
      what: "a body that is too large",
      path: "/v1/tokens",
      status: 413,
      init: { method: "POST", body: "x".repeat(200_000), headers: key },
    },
    {
      what: "a token",
      path: "/v1/tokens",
      status: 200,
      init: { method: "POST", body: '{"peerId":"a"}', headers: key },
    },
    {
      what: "a connect that is refused",
      path: "/v1?key=pk_none",
      status: 401,
      init: { headers: { Upgrade: "websocket" } },
    },
    { what: "the control plane", path: "/api/internal/v1/apps", status: 200, init: { headers: admin } },
    { what: "members of a channel", path: "/v1/channels/none/peers", status: 200, init: { headers: key } },
    { what: "a channel", path: "/api/internal/v1/apps/demo/channels/none", status: 200, init: { headers: admin } },
    {
      what: "rooms",
      path: "/api/v1/rooms",
      status: 200,
      init: { headers: { ...app, Authorization: `Bearer ${keys.appSecret}` } },
    },
    { what: "rooms without a credential", path: "/api/v1/rooms", status: 400, init: { headers: app } },
    { what: "a sign-in that is refused", path: "/dashboard/session", status: 403, init: { method: "POST" } },
  ];

  test.each(calls)("ends with a newline: $what", async ({ path, status, init }) => {
    const response = await fetch(url + path, init);
    const text = await response.text();
    expect([response.status, text.slice(-2)]).toEqual([status, text.startsWith("[") ? "]\n" : "}\n"]);
    expect(response.headers.get("content-type")).toBe("application/json;charset=utf-8");
    const length = String(Buffer.byteLength(text));
    expect(response.headers.get("content-length")).toBe(length);
    if (init) return;
    const head = await fetch(url + path, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([status, length, ""]);
  });
});

describe("/metrics", () => {
  test("answers requests from this machine, in the Prometheus text format", async () => {
    await mint(server.url, "wrong");
    const { status, headers, text } = await call(`${server.url}/metrics`);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(text).toMatch(/^parley_http_requests_total\{route="\/v1\/tokens",method="POST",status="401"\} [1-9]\d*$/m);
    for (const line of text.split("\n"))
      expect(line).toMatch(/^(|# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"]*",?)+\})? -?[0-9.e+]+(Inf)?)$/);
  });

  test("requires the admin token from other clients, also behind a proxy on this machine", async () => {
    for (const headers of [{ "X-Forwarded-For": "203.0.113.7" }, { Forwarded: "for=203.0.113.7" }]) {
      expect((await call(`${server.url}/metrics`, { headers })).status).toBe(401);
      const { status, text } = await call(`${server.url}/metrics`, { headers, bearer: server.adminToken });
      expect(status).toBe(200);
      expect(text).toContain("parley_info");
    }
  });

  test("an unknown path or method does not create a series", async () => {
    for (let i = 0; i < 3; i++) await call(`${server.url}/nothing-${i}`, { method: "PROPFIND" });
    const { text } = await call(`${server.url}/metrics`);
    expect(text).not.toContain("nothing-");
    expect(text).not.toContain("PROPFIND");
  });
});

describe("/openapi.json", () => {
  let document: Document;
  beforeAll(async () => {
    const { status, body } = await call<Document>(`${server.url}/openapi.json`);
    expect(status).toBe(200);
    document = body;
  });

  test("describes POST /v1/tokens and every call of the control plane", () => {
    const described = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const control = "/api/internal/v1";
    expect(described).toEqual(
      expect.arrayContaining([
        "POST /v1/tokens",
        `POST ${control}/apps`,
        `GET ${control}/apps`,
        `GET ${control}/apps/{app}`,
        `PATCH ${control}/apps/{app}`,
        `DELETE ${control}/apps/{app}`,
        `GET ${control}/apps/{app}/secret-key`,
        `POST ${control}/apps/{app}/secret-key/rotate`,
        `POST ${control}/signalling/keys`,
        `GET ${control}/signalling/keys`,
        `GET ${control}/signalling/keys/{keyId}`,
        `PATCH ${control}/signalling/keys/{keyId}`,
        `DELETE ${control}/signalling/keys/{keyId}`,
        `POST ${control}/signalling/keys/{keyId}/rotate`,
      ]),
    );
  });

  test("is valid OpenAPI 3.1", () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({ title: expect.any(String), version: expect.any(String) });
    const ids: string[] = [];
    for (const [path, operations] of Object.entries(document.paths)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const operation of Object.values(operations)) {
        ids.push(operation.operationId);
        const named = operation.parameters.filter((one) => one.in === "path");
        expect(named.map((one) => one.name)).toEqual(inPath as string[]);
        expect(named.every((one) => one.required)).toBe(true);
        expect(Object.keys(operation.responses).every((status) => /^[1-5]\d\d$/.test(status))).toBe(true);
        for (const response of Object.values(operation.responses)) expect(response.description).toBeString();
        for (const scheme of (operation.security ?? []).flatMap((one) => Object.keys(one)))
          expect(document.components.securitySchemes).toHaveProperty(scheme);
      }
    }
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^\w+$/);
  });

  test("lists the application API under the address that the caller used, so that its calls work", async () => {
    const serversFor = async (headers: Record<string, string>) => {
      const { body } = await call<Document>(`${server.url}/openapi.json`, { headers });
      return body.paths["/api/v1/rooms"]?.get?.servers;
    };
    const app = { app: { default: "demo", description: expect.any(String) } };
    const { host, port } = new URL(server.url);
    expect(await serversFor({ Host: host })).toEqual([{ url: `http://{app}.localhost:${port}`, variables: app }]);
    // Without a port there is none; a forged host is not repeated.
    expect(await serversFor({ Host: "evil.example" })).toEqual([{ url: "http://{app}.localhost", variables: app }]);
    await using proxied = await startParley({
      env: { PARLEY_TRUSTED_PROXIES: "127.0.0.1", PARLEY_DOMAIN: "meet.example.com" },
    });
    const headers = { "X-Forwarded-Proto": "https", "X-Forwarded-Host": "meet.example.com" };
    const { body } = await call<Document>(`${proxied.url}/openapi.json`, { headers });
    expect(body.paths["/api/v1/rooms"]?.get?.servers?.[0]?.url).toBe("https://{app}.meet.example.com");
  });

  test("is compressed, and kept by clients until it changes", async () => {
    const get = (headers: Readonly<Record<string, string>>, method = "GET"): Promise<Response> =>
      fetch(`${server.url}/openapi.json`, { method, headers, decompress: false });
    const plain = await get({ "Accept-Encoding": "identity" });
    const text = await plain.text();
    expect(plain.headers.get("content-encoding")).toBeNull();
    const packed = await get({ "Accept-Encoding": "br, gzip" });
    expect(Object.fromEntries(packed.headers)).toMatchObject({
      "content-type": "application/json;charset=utf-8",
      "content-encoding": "gzip",
      "cache-control": "no-cache",
      vary: "Accept-Encoding",
    });
    const bytes = await packed.arrayBuffer();
    expect(new TextDecoder().decode(Bun.gunzipSync(bytes))).toBe(text);
    expect(bytes.byteLength).toBeLessThan(text.length / 5);
    const etag = packed.headers.get("etag") ?? "";
    const repeated = await get({ "If-None-Match": etag });
    expect([repeated.status, repeated.headers.get("etag"), await repeated.text()]).toEqual([304, etag, ""]);
    // A list that no browser sends is not read.
    const listed = await get({ "If-None-Match": `${etag}${",".repeat(5000)}` });
    expect([listed.status, await listed.text()]).toEqual([200, text]);
    // Another address is another document.
    const other = await get({ Host: "localhost:1", "If-None-Match": etag });
    expect([other.status, other.headers.get("etag") === etag]).toEqual([200, false]);
    const head = await get({ "Accept-Encoding": "gzip" }, "HEAD");
    expect([head.status, head.headers.get("content-length")]).toEqual([200, String(bytes.byteLength)]);
    const post = await get({}, "POST");
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET"]);
  });

  test("every reference leads to a non-empty schema", () => {
    const targets = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, target]) => target);
    expect(targets.length).toBeGreaterThan(0);
    for (const target of targets) {
      const name = /^#\/components\/schemas\/(\w+)$/.exec(target ?? "")?.[1] ?? "";
      expect(document.components.schemas).toHaveProperty(name);
      expect(Object.keys(document.components.schemas[name] ?? {})).toContain("type");
    }
  });

  test("every parameter and every field has a meaning", () => {
    interface Described {
      readonly name?: string;
      readonly in?: string;
      readonly description?: string;
      readonly schema?: Described;
      readonly properties?: Readonly<Record<string, Described>>;
    }
    const { schemas } = document.components as { readonly schemas: Readonly<Record<string, Described>> };
    const isDescribed = (one: Described & { readonly $ref?: string }): boolean => {
      const referred = schemas[one.$ref?.split("/").at(-1) ?? ""];
      const choices = Object.values(one)
        .filter((value) => Array.isArray(value))
        .flat();
      return [one, one.schema, referred, ...choices].some((each) => Boolean(each?.description));
    };
    let seen = 0;
    const bare: string[] = [];
    const look = (value: unknown, at: string): void => {
      if (typeof value !== "object" || value === null) return;
      const { in: place, name, properties } = value as Described;
      const named = typeof place === "string" ? { [name ?? ""]: value } : (properties ?? {});
      for (const [field, one] of Object.entries(named)) {
        seen++;
        if (!isDescribed(one)) bare.push(`${at} ${field}`);
      }
      for (const [key, one] of Object.entries(value)) if (key !== "examples") look(one, `${at}/${key}`);
    };
    look({ paths: document.paths, schemas }, "");
    expect(seen).toBeGreaterThan(800);
    expect(bare).toEqual([]);
  });

  test("/docs/api shows it in a browser and loads nothing from other hosts", async () => {
    const { status, headers, text } = await call(`${server.url}/docs/api`);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toStartWith("text/html");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(text).toContain("openapi.json");
    expect(text).not.toMatch(/(src|href)\s*=\s*["']?(https?:)?\/\//i);
    expect(text).not.toMatch(/@import|url\(\s*["']?(https?:)?\/\//i);
  });
});

describe("requests per second and key", () => {
  test("over the rate: 429 with Retry-After, then requests succeed again; other keys are not affected", async () => {
    await using own = await startParley({ env: { PARLEY_REST_REQUESTS_PER_SECOND: "1" } });
    const app = await own.admin.createApp();
    const [busy, quiet] = [await own.admin.createKey(app.name), await own.admin.createKey(app.name)];
    const started = performance.now();
    const answers = await Promise.all(Array.from({ length: 40 }, () => mint(own.url, busy.credential)));
    const seconds = (performance.now() - started) / 1000;
    const served = answers.filter((answer) => answer.status === 200);
    const refused = answers.filter((answer) => answer.status === 429);
    expect(served.length + refused.length).toBe(40);
    expect(served.length).toBeGreaterThanOrEqual(1);
    expect(served.length).toBeLessThanOrEqual(2 + seconds);
    for (const { body, headers } of refused) {
      expect(body.error).toBe("rate_limited");
      expect(headers.get("retry-after")).toBe("1");
    }
    expect((await mint(own.url, quiet.credential)).status).toBe(200);
    // A wrong secret does not count against the key: otherwise any client that knows its id could lock it out.
    expect((await mint(own.url, `${busy.keyId}:wrong`)).status).toBe(401);
    const status = await found("the key may be used again", async () => {
      const answer = await mint(own.url, busy.credential);
      return answer.status === 429 ? undefined : answer.status;
    });
    expect(status).toBe(200);
  });
});

describe("PARLEY_ADMIN_LISTEN", () => {
  test("moves the control plane and the metrics to a separate address", async () => {
    const adminUrl = `http://127.0.0.1:${await freePort()}`;
    await using own = await startParley({ env: { PARLEY_ADMIN_LISTEN: new URL(adminUrl).host } });
    const bearer = own.adminToken;
    for (const path of ["/api/internal/v1/apps", "/metrics"]) {
      expect((await call(own.url + path, { bearer })).status).toBe(404);
      expect((await call(adminUrl + path, { bearer })).status).toBe(200);
      expect((await call(adminUrl + path, { bearer, headers: { Host: "demo.localhost" } })).status).toBe(404);
    }
    expect((await call(`${adminUrl}/api/internal/v1/apps`)).status).toBe(401);
    for (const url of [own.url, adminUrl])
      for (const path of ["/healthz", "/readyz"]) expect((await call(url + path)).status).toBe(200);
    expect((await mint(own.url, own.keys.secretKey)).status).toBe(200);
    expect((await mint(adminUrl, own.keys.secretKey)).status).toBe(404);
    const ask = async (url: string, host: string): Promise<number> =>
      (await call(`${url}/tls/ask?domain=${host}`)).status;
    expect(await ask(adminUrl, "demo.localhost")).toBe(200);
    expect(await ask(adminUrl, "none.localhost")).toBe(404);
    expect(await ask(own.url, "demo.localhost")).toBe(404);
  });
});
