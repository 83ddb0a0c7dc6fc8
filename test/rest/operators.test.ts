/** Operators and sessions of the dashboard (dashboard.md, "Who may"). */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { CONFLICT, INVALID, NOT_FOUND, refused } from "../support/checks.ts";
import { cookieOf, DASHBOARD, sessionAt, sessionStatus, signIn, signOut, withCookie } from "../support/dashboard.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { call } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(60_000);

const server = await checkedServerForTests();
const { admin, url } = server;
const APPS = `${url}/api/internal/v1/apps`;

interface Operator {
  readonly _id: string;
  readonly name: string;
  readonly role: string;
  readonly created: number;
  readonly lastUsed: number | null;
}

const create = (name: string, role: string): Promise<Operator & { token: string }> =>
  admin.must("POST", "/operators", { name, role });
const list = (query = ""): Promise<{ data: Operator[]; next: string | null }> =>
  admin.must("GET", `/operators${query}`);

describe("operators", () => {
  test("have a token, which is shown once", async () => {
    const { token, ...operator } = await create("ann", "admin");
    expect(token).toMatch(/^op_[\w-]{48}$/);
    expect(operator).toEqual({
      _id: expect.stringMatching(/^[0-9a-f]{24}$/),
      name: "ann",
      role: "admin",
      created: expect.any(Number),
      lastUsed: null,
    });
    expect((await list()).data).toContainEqual(operator);
    expect((await call(APPS, { bearer: token })).status).toBe(200);
    const used = async (): Promise<number | null | undefined> =>
      (await list()).data.find(({ name }) => name === "ann")?.lastUsed;
    await until("the time of last use is noted", async () => typeof (await used()) === "number");
  });

  test("of the role read see what is not secret, and change nothing", async () => {
    const { token } = await create("rea", "read");
    expect((await call(APPS, { bearer: token })).status).toBe(200);
    expect((await call(`${url}/metrics`, { bearer: token })).status).toBe(200);
    for (const [method, path] of [
      ["POST", "/apps"],
      ["GET", "/apps/demo/secret-key"],
    ] as const) {
      const { status, body } = await call(`${url}/api/internal/v1${path}`, { method, bearer: token });
      expect({ path, status, body }).toEqual({
        path,
        status: 403,
        body: { error: "forbidden", message: expect.stringContaining("rea has the role read") },
      });
    }
  });

  test("end at once when they are revoked, and their name is free again", async () => {
    const { _id, token } = await create("bob", "admin");
    await refused(admin, CONFLICT, "POST", "/operators", { name: "bob", role: "read" });
    const revoked = await admin.must<{ revoked: number }>("DELETE", `/operators/${_id}`);
    expect(await admin.must<object>("DELETE", `/operators/${_id}`)).toMatchObject({ _id, revoked: revoked.revoked });
    expect((await call(APPS, { bearer: token })).status).toBe(401);
    expect((await list()).data.map(({ name }) => name)).not.toContain("bob");
    await create("bob", "read");
    await refused(admin, NOT_FOUND, "DELETE", "/operators/none");
  });

  test("are listed in pages", async () => {
    await create("p1", "read");
    await create("p2", "read");
    const all = (await list()).data;
    const first = await list("?limit=1");
    expect(first).toEqual({ data: all.slice(0, 1), next: all[0]?._id ?? "" });
    expect(await list(`?after=${first.next}`)).toEqual({ data: all.slice(1), next: null });
  });

  test.each([
    {},
    { name: "x" },
    { name: "", role: "read" },
    { name: "admin", role: "read" },
    { name: "Ａdmin", role: "read" },
    { name: "Command line", role: "admin" },
    { name: "application secret", role: "admin" },
    { name: "sk_id_0123456789abcdef0123456789abcdef", role: "admin" },
    { name: "x", role: "root" },
  ])("%p is refused", async (body) => {
    await refused(admin, INVALID, "POST", "/operators", body);
  });
});

describe("a session", () => {
  test("is a cookie that scripts of other origins cannot use, and ends with the sign-out", async () => {
    const answer = await signIn(url, admin.token);
    expect(answer.body).toEqual({ name: "admin", role: "admin", expiresAt: expect.any(Number) });
    expect(answer.body.expiresAt - Date.now() / 1000).toBeWithin(12 * 3600 - 60, 12 * 3600 + 1);
    expect(answer.headers.get("set-cookie")).toMatch(
      /^parley=[\w-]{48}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    const cookie = cookieOf(answer);
    expect((await withCookie(`${url}/dashboard/session`, cookie)).body).toEqual({ ...answer.body });
    expect((await withCookie(APPS, cookie)).status).toBe(200);
    const made = await withCookie(APPS, cookie, { method: "POST", body: { name: "by-cookie" } });
    expect(made.status).toBe(200);
    const out = await signOut(url, cookie);
    expect(out.headers.get("set-cookie")).toMatch(/^parley=; Path=\/; Max-Age=0;/);
    expect([await sessionStatus(url, cookie), (await withCookie(APPS, cookie)).status]).toEqual([401, 401]);
  });

  test("of an operator has its name and role, and ends with the operator", async () => {
    const { _id, token } = await create("cleo", "read");
    const answer = await signIn(url, token);
    expect(answer.body).toMatchObject({ name: "cleo", role: "read" });
    const cookie = cookieOf(answer);
    expect((await withCookie(APPS, cookie, { method: "POST", body: { name: "no" } })).body.error).toBe("forbidden");
    await admin.must("DELETE", `/operators/${_id}`);
    expect(await sessionStatus(url, cookie)).toBe(401);
  });

  test("replaces the one that the same browser had", async () => {
    const first = await sessionAt(url, admin.token);
    const second = cookieOf(await signIn(url, admin.token, { headers: { Cookie: first } }));
    expect(second).not.toBe(first);
    expect([await sessionStatus(url, first), await sessionStatus(url, second)]).toEqual([401, 200]);
  });

  test("over HTTPS has a cookie with the prefix, also behind a trusted proxy", async () => {
    await using own = await startParley({
      env: { PARLEY_TRUSTED_PROXIES: "127.0.0.1", PARLEY_PUBLIC_URL: "https://realtime.example.com" },
    });
    const forwarded = { "X-Forwarded-Host": "realtime.example.com", "X-Forwarded-Proto": "https" };
    const headers = { ...forwarded, Origin: "https://realtime.example.com" };
    const answer = await signIn(own.url, own.adminToken, { headers });
    expect(answer.headers.get("set-cookie")).toMatch(/^__Host-parley=.*; Secure$/);
    const cookie = cookieOf(answer);
    expect((await withCookie(`${own.url}/dashboard/session`, cookie, { headers })).status).toBe(200);
    // The same session under the other name is not accepted over HTTPS: other hosts of the site can set it.
    const plain = cookie.replace("__Host-", "");
    expect((await withCookie(`${own.url}/dashboard/session`, plain, { headers })).status).toBe(401);
    const clear = { "X-Forwarded-Host": "realtime.example.com", Origin: "http://realtime.example.com" };
    const refused = await signIn(own.url, own.adminToken, { headers: clear });
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("over plain HTTP")]);
  });

  const outside = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ internal, family }) => !internal && family === "IPv4");
  test.skipIf(!outside)("over plain HTTP begins only under a loopback name, as with a container's port", async () => {
    await using open = await startParley({ host: "0.0.0.0" });
    const { port } = new URL(open.url);
    const url = `http://${outside?.address}:${port}`;
    expect((await signIn(url, open.adminToken)).status).toBe(403);
    const local = { Host: `localhost:${port}`, Origin: `http://localhost:${port}` };
    expect((await signIn(url, open.adminToken, { headers: local })).status).toBe(200);
    const proxied = { ...local, "X-Forwarded-For": "203.0.113.7" };
    expect((await signIn(url, open.adminToken, { headers: proxied })).status).toBe(403);
  });

  test("does not exist without the dashboard", async () => {
    await using own = await startParley({ env: { PARLEY_DASHBOARD: "off" } });
    expect((await signIn(own.url, own.adminToken)).status).toBe(404);
    expect((await call(`${own.url}/api/internal/v1/apps`, { bearer: own.adminToken })).status).toBe(200);
  });

  test("exists only on the control plane's own listener, and not on application hosts", async () => {
    await using own = await startParley({ env: { PARLEY_ADMIN_LISTEN: "127.0.0.1:0" } });
    const { adminPort } = await own.logged(({ msg }) => msg === "parley is ready");
    expect((await signIn(own.url, own.adminToken)).status).toBe(404);
    const there = `http://127.0.0.1:${adminPort}`;
    expect((await signIn(there, own.adminToken)).status).toBe(200);
    const host = { Host: `demo.localhost:${adminPort}`, Origin: `http://demo.localhost:${adminPort}` };
    expect((await signIn(there, own.adminToken, { headers: host })).status).toBe(404);
  });

  test("survives a restart, and ends if the admin token that it was made with is replaced", async () => {
    const data = tempFolder();
    const start = (token: string): Promise<Server> => startParley({ data, env: { PARLEY_ADMIN_TOKEN: token } });
    try {
      await using one = await start("first-admin-token-of-the-test");
      const cookie = await sessionAt(one.url, one.adminToken);
      await one.stop();
      await using same = await start("first-admin-token-of-the-test");
      expect(await sessionStatus(same.url, cookie)).toBe(200);
      await same.stop();
      await using other = await start("second-admin-token-of-the-test");
      expect(await sessionStatus(other.url, cookie)).toBe(401);
      expect((await signIn(other.url, other.adminToken)).status).toBe(200);
      expect((await call(`${other.url}/dashboard/session`, { headers: DASHBOARD })).status).toBe(401);
    } finally {
      removeFolder(data);
    }
  });
});
