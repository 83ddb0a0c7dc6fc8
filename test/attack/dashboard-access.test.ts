/** Attacks on who may use the control plane: forged requests of browsers, rebinding, operators who may only read, stale sessions. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Document } from "../support/contract.ts";
import { cookieOf, DASHBOARD, sessionAt, sessionStatus, signIn, signOut, withCookie } from "../support/dashboard.ts";
import { serverForTests } from "../support/for-tests.ts";
import { type Answer, call, rawCall, statusOf } from "../support/http.ts";
import { startParley } from "../support/parley.ts";

setDefaultTimeout(60_000);

const server = await serverForTests();
const { admin, url } = server;
const { port } = new URL(url);
const API = `${url}/api/internal/v1`;
const SESSION = `${url}/dashboard/session`;
const cookie = await sessionAt(url, admin.token);

const create = (name: string, role: string): Promise<{ _id: string; token: string }> =>
  admin.must("POST", "/operators", { name, role });

const appNames = async (): Promise<string[]> =>
  (await admin.must<{ data: { name: string }[] }>("GET", "/apps")).data.map(({ name }) => name);

/** The answer must be a 403 whose sentence says what is missing. */
function expectForbidden({ status, body }: Answer, says: string): void {
  expect({ status, body }).toEqual({
    status: 403,
    body: { error: "forbidden", message: expect.stringContaining(says) },
  });
}

describe("a request that another site makes a browser send with the cookie", () => {
  test("cannot read: it lacks the header", async () => {
    for (const path of ["/apps", "/operators", "/audit", "/settings", "/apps/demo/secret-key"])
      expectForbidden(await call(API + path, { headers: { Cookie: cookie } }), "X-Parley-Dashboard: 1");
    expectForbidden(await call(SESSION, { headers: { Cookie: cookie } }), "X-Parley-Dashboard: 1");
    for (const value of ["0", "", "true", "1, 1"])
      expectForbidden(await withCookie(`${API}/apps`, cookie, { headers: { "X-Parley-Dashboard": value } }), "header");
  });

  test("cannot get permission for the header: a preflight has no CORS answer", async () => {
    const { headers } = await call(`${API}/apps`, {
      method: "OPTIONS",
      headers: {
        Origin: `http://demo.localhost:${port}`,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-parley-dashboard",
      },
    });
    expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
  });

  test.each([
    ["another site", "https://evil.example"],
    ["an application's host, which is same-site", `http://demo.localhost:${port}`],
    ["no site (a sandboxed frame)", "null"],
    ["another port of the same host", "http://127.0.0.1:1"],
    ["another scheme", `https://127.0.0.1:${port}`],
    ["a host that begins like ours", `${url}.evil.example`],
    ["our host as the user of another", `${url}@evil.example`],
    ["nothing", ""],
  ])("cannot change anything from %s, even with the header", async (_name, origin) => {
    const headers = { Origin: origin };
    expectForbidden(
      await withCookie(`${API}/apps`, cookie, { method: "POST", body: { name: "forged" }, headers }),
      "Origin",
    );
    expectForbidden(await withCookie(SESSION, cookie, { method: "DELETE", headers }), "Origin");
    expect(await appNames()).not.toContain("forged");
    expect(await sessionStatus(url, cookie)).toBe(200);
  });

  test("cannot change anything without an Origin", async () => {
    const answer = await call(`${API}/apps`, {
      body: { name: "forged" },
      headers: { ...DASHBOARD, Cookie: cookie },
    });
    expectForbidden(answer, "Origin");
  });

  test("cannot post a form", async () => {
    const form = await rawCall(
      url,
      [
        "POST /api/internal/v1/apps HTTP/1.1",
        `Host: 127.0.0.1:${port}`,
        `Origin: http://demo.localhost:${port}`,
        "Sec-Fetch-Site: same-site",
        "Content-Type: text/plain",
        `Cookie: ${cookie}`,
        "Content-Length: 17",
        "",
        '{"name":"forged"}',
      ].join("\r\n"),
    );
    expect([statusOf(form), form]).toEqual([403, expect.stringContaining('"forbidden"')]);
    expect(await appNames()).not.toContain("forged");
  });

  test("cannot sign a visitor in under another name", async () => {
    const body = { token: (await create("planted", "read")).token };
    for (const headers of [{}, DASHBOARD, { ...DASHBOARD, Origin: `http://demo.localhost:${port}` }, { Origin: url }])
      expect((await call(SESSION, { body, headers })).headers.get("set-cookie")).toBeNull();
  });
});

describe("rebinding", () => {
  const get = (host: string, ...lines: string[]): Promise<string> =>
    rawCall(url, ["GET /api/internal/v1/apps HTTP/1.1", `Host: ${host}`, ...lines, "", ""].join("\r\n"));

  test.each(["evil.example", `evil.example:${port}`, "localhost.evil.example", "127.0.0.1.evil.example"])(
    "%s: a cookie does not pass, a token does",
    async (host) => {
      const own = ["X-Parley-Dashboard: 1", `Origin: http://${host}`, `Cookie: ${cookie}`];
      expect(statusOf(await get(host, ...own))).toBe(421);
      const { token } = await create(`for ${host}`, "read");
      expect(statusOf(await get(host, `Authorization: Bearer ${token}`))).toBe(200);
    },
  );

  test("a page of a foreign name can neither sign in nor ask who is signed in", async () => {
    const head = ["Host: evil.example", "Origin: http://evil.example", "X-Parley-Dashboard: 1"];
    const body = JSON.stringify({ token: admin.token });
    const post = ["POST /dashboard/session HTTP/1.1", ...head, `Content-Length: ${body.length}`, "", body];
    expect(statusOf(await rawCall(url, post.join("\r\n")))).toBe(421);
    const read = ["GET /dashboard/session HTTP/1.1", ...head, `Cookie: ${cookie}`, "", ""];
    expect(statusOf(await rawCall(url, read.join("\r\n")))).toBe(421);
  });

  test("the calls do not exist on an application's host", async () => {
    for (const path of ["/dashboard/session", "/api/internal/v1/operators", "/api/internal/v1/audit"]) {
      const head = [`GET ${path} HTTP/1.1`, `Host: demo.localhost:${port}`, ...["X-Parley-Dashboard: 1"]];
      const answer = await rawCall(url, [...head, `Cookie: ${cookie}`, "", ""].join("\r\n"));
      expect({ path, status: statusOf(answer) }).toEqual({ path, status: 404 });
    }
  });
});

describe("an operator who may only read", () => {
  const SECRET_READS = ["/api/internal/v1/apps/{app}/secret-key"];
  /** They take a body, but change nothing and show nothing secret. */
  const READS_BY_POST = ["/api/internal/v1/explain", "/api/internal/v1/signalling/tokens/check"];

  test("is refused every change and every secret of the OpenAPI document", async () => {
    const { token } = await create("reader", "read");
    const readerCookie = await sessionAt(url, token);
    const { body } = await call<Document>(`${url}/openapi.json`);
    const calls = Object.entries(body.paths).flatMap(([path, operations]) =>
      path.startsWith("/api/internal/") ? Object.keys(operations).map((method) => ({ method, path })) : [],
    );
    const refused = calls.filter(({ method, path }) =>
      method === "get" ? SECRET_READS.includes(path) : !READS_BY_POST.includes(path),
    );
    expect(refused.length).toBeGreaterThan(8);
    for (const { method, path } of refused) {
      const address = url + path.replace(/\{\w+\}/g, "demo");
      const rest = { method: method.toUpperCase(), ...(method !== "get" && { body: {} }) };
      for (const answer of [
        await call(address, { ...rest, bearer: token }),
        await withCookie(address, readerCookie, rest),
      ])
        expect({ method, path, status: answer.status, error: answer.body.error }).toEqual({
          method,
          path,
          status: 403,
          error: "forbidden",
        });
    }
    expect(await appNames()).toContain("demo");
  });

  test("finds no secret in what it may read", async () => {
    const { token } = await create("searcher", "read");
    const app = await admin.createApp();
    const key = await admin.createKey(app._id);
    for (const path of [
      "/apps",
      `/apps/${app._id}`,
      "/signalling/keys",
      "/operators",
      "/audit",
      "/settings",
      "/node",
    ]) {
      const { status, text } = await call(API + path, { bearer: token });
      expect({ path, status }).toEqual({ path, status: 200 });
      for (const secret of [app.secretKey, key.secret, admin.token, token, cookie.split("=")[1] ?? ""])
        expect(text).not.toContain(secret);
    }
  });
});

describe("a session", () => {
  test("is worth nothing after the sign-out, the revocation, or in another form", async () => {
    const out = await sessionAt(url, admin.token);
    await signOut(url, out);
    expect(await sessionStatus(url, out)).toBe(401);
    const { _id, token } = await create("gone", "admin");
    const revoked = await sessionAt(url, token);
    await admin.must("DELETE", `/operators/${_id}`);
    expect((await withCookie(`${API}/apps`, revoked)).status).toBe(401);
    const secret = cookie.split("=")[1] ?? "";
    for (const other of [`__Host-parley=${secret}`, `parley=${secret}x`, `parley="${secret}"`, `Parley=${secret}`])
      expect((await withCookie(`${API}/apps`, other)).status).toBe(401);
    // The secret of a cookie is not a token, and a token is not a cookie.
    expect((await call(`${API}/apps`, { bearer: secret })).status).toBe(401);
    expect((await withCookie(`${API}/apps`, `parley=${admin.token}`)).status).toBe(401);
  });

  test("cannot be chosen by an attacker: signing in never keeps the value that was sent", async () => {
    const planted = `parley=${"A".repeat(48)}`;
    const given = cookieOf(await signIn(url, admin.token, { headers: { Cookie: planted } }));
    expect(given).not.toBe(planted);
    expect(await sessionStatus(url, planted)).toBe(401);
    expect(await sessionStatus(url, given)).toBe(200);
    // Cookies that others have set beside it do not hide it.
    expect((await withCookie(`${API}/apps`, `${planted}; other=1; ${given}`)).status).toBe(200);
    const many = Array.from({ length: 179 }, (_, i) => `parley=${String(i).padStart(48, "A")}; `).join("");
    expect((await withCookie(`${API}/apps`, many + given)).status).toBe(200);
  });

  test("of another service on this machine counts as none, and as no wrong try", async () => {
    await using other = await startParley();
    const foreign = await sessionAt(other.url, other.adminToken);
    for (let i = 0; i < 20; i++) expect(await sessionStatus(url, foreign)).toBe(401);
    expect((await signIn(url, admin.token, { headers: { Cookie: foreign } })).status).toBe(200);
    expect(await sessionStatus(other.url, foreign)).toBe(200);
  });

  test("does not decide if the request also has a token", async () => {
    const { token } = await create("both", "read");
    const post = { method: "POST", body: { name: "by-both" } };
    expect((await withCookie(`${API}/apps`, cookie, { ...post, bearer: token })).status).toBe(403);
    expect((await withCookie(`${API}/apps`, cookie, { ...post, bearer: "wrong" })).status).toBe(401);
    expect(await appNames()).not.toContain("by-both");
  });
});

describe("a flood", () => {
  test("of sign-ins with a valid token fills neither the store nor the audit, and keeps no one else out", async () => {
    const { token } = await create("restless", "read");
    const tries = await Promise.all(Array.from({ length: 150 }, () => signIn(url, token)));
    const refused = tries.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(20);
    expect(refused[0]?.headers.get("retry-after")).toBe("1");
    expect((await signIn(url, admin.token)).status).toBe(200);
  });
});

describe("guessing", () => {
  test("tokens at the sign-in: ten a minute and address, and the right one still passes", async () => {
    await using own = await startParley();
    const { token } = await own.admin.must<{ token: string }>("POST", "/operators", { name: "ann", role: "read" });
    const guesses = await Promise.all(
      Array.from({ length: 30 }, (_, i) => signIn(own.url, `op_${"x".repeat(46)}${i % 10}0`)),
    );
    const statuses = guesses.map(({ status }) => status);
    expect(statuses.filter((status) => status === 401).length).toBeWithin(10, 12);
    const limited = guesses.find(({ status }) => status === 429);
    expect(Number(limited?.headers.get("retry-after"))).toBeWithin(1, 61);
    expect(guesses.every(({ headers }) => headers.get("set-cookie") === null)).toBe(true);
    for (const right of [token, own.adminToken]) expect((await signIn(own.url, right)).status).toBe(200);
    // Tries at the sign-in and with calls are counted together.
    const wrong = (): Promise<Answer> => call(`${own.url}/api/internal/v1/apps`, { bearer: "wrong" });
    const calls = await Promise.all(Array.from({ length: 5 }, wrong));
    expect(calls.map(({ status }) => status)).toContain(429);
    expect((await call(`${own.url}/api/internal/v1/apps`, { bearer: token })).status).toBe(200);
  });

  test("tokens that a person may have chosen: 20 a second beyond the rate, at the sign-in and with calls together", async () => {
    const chosen = "chosen-by-a-person";
    await using own = await startParley({ env: { PARLEY_ADMIN_TOKEN: chosen } });
    const withCall = (bearer: string): Promise<{ status: number }> =>
      call(`${own.url}/api/internal/v1/apps`, { bearer });
    const triedMs = performance.now();
    for (let i = 0; i < 10; i++) expect((await withCall("wrong")).status).toBe(401);
    const beganMs = performance.now();
    const guesses = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? withCall(`wrong-${i}`) : signIn(own.url, `wrong-${i}`))),
    );
    expect(performance.now() - beganMs).toBeGreaterThan(900);
    // One may be tried again every six seconds.
    const refilled = Math.floor((performance.now() - triedMs) / 6000);
    expect(guesses.filter(({ status }) => status !== 429).length).toBeLessThanOrEqual(refilled);
    expect((await withCall(chosen)).status).toBe(200);
    expect((await signIn(own.url, chosen)).status).toBe(200);
  });
});
