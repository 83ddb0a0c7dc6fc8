/** Every command that talks to a server, as a process, against one that runs. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CODES } from "../protocol/codes.ts";
import { type Ended, parley, shell, startServer, type TestServer, temporaryFolder } from "./testing/kit.ts";

setDefaultTimeout(60_000);

const folder = temporaryFolder();
let server: TestServer;

beforeAll(async () => {
  server = await startServer(join(folder, "data"));
});

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const run = (line: string, ...more: string[]): Promise<Ended> =>
  parley([...line.split(" ").filter(Boolean), ...more], { env: server.env });

/** A command that must succeed: its JSON. */
async function json<T = Record<string, unknown>>(line: string, ...more: string[]): Promise<T> {
  const { stdout, stderr, exitCode } = await run(line, ...more, "--json");
  expect([exitCode, exitCode === 0 ? "" : stderr]).toEqual([0, ""]);
  expect(stdout.trim().split("\n")).toHaveLength(1);
  return JSON.parse(stdout) as T;
}

let apps = 0;
async function newApp(): Promise<string> {
  const name = `app-${++apps}`;
  await json(`apps create ${name}`);
  return name;
}

interface SecretKey {
  keyId: string;
  secret: string;
}
const newSecretKey = (app: string): Promise<SecretKey> =>
  json(`keys create --app ${app} --type secret --channels chat/*,news --actions publish,subscribe`);

/** The values of `name  value` lines. */
const fieldsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {2,}/) as [string, string]),
  );

test("an application is made, shown, listed, changed and deleted", async () => {
  const made = await run("apps create shop");
  expect(made.exitCode).toBe(0);
  expect(made.stderr).toContain('"parley apps secret shop" shows it again');
  const { id = "", "secret key": secretKey = "" } = fieldsOf(made.stdout);
  expect(id).toMatch(/^[0-9a-f]{24}$/);

  expect((await run("apps secret shop")).stdout).toBe(`${secretKey}\n`);
  expect(await json("apps secret shop")).toEqual({ secretKey });
  expect(fieldsOf((await run("apps show shop")).stdout)).toMatchObject({ id, name: "shop", connections: "unlimited" });
  expect(await json(`apps show ${id}`)).toMatchObject({ _id: id, name: "shop" });

  const planned = await run(
    "apps plan shop --max-connections 500 --max-messages none --name small --retention-days 30",
  );
  expect(fieldsOf(planned.stdout)).toMatchObject({
    plan: "small",
    connections: "500",
    "messages a month": "unlimited",
    "recordings kept": "30 days",
  });
  expect(await json("apps plan shop --retention-days none")).toMatchObject({
    plan: { name: "small", maxConcurrentConnections: 500, maxMessagesPerPeriod: null },
    retentionDays: null,
  });

  const rotated = await run("apps rotate-secret shop --grace 60");
  expect(rotated.stdout.trim()).not.toBe(secretKey);
  expect(rotated.stderr).toContain("work until the grace is over");
  const ended = await run("apps rotate-secret shop --retire-previous");
  expect(ended.stderr).toContain("no longer works");
  expect((await json("apps rotate-secret shop")).secretKey).not.toBe(ended.stdout.trim());

  const listed = (await run("apps list")).stdout.split("\n");
  expect(listed[0]).toMatch(/^NAME +ID +PLAN +CONNECTIONS +MESSAGES +KEPT +CREATED$/);
  expect(listed.find((line) => line.startsWith("shop "))).toContain(id);
  expect((await json<{ data: { name: string }[] }>("apps list")).data.map((app) => app.name)).toContain("shop");

  expect(fieldsOf((await run("apps delete shop")).stdout).deleted).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$/);
  const gone = await run("apps show shop");
  expect(gone).toEqual({ exitCode: 1, stdout: "", stderr: "parley: There is no such application.\n" });
});

test("a publishable key is made, edited, listed and revoked", async () => {
  const app = await newApp();
  const made = await run(
    `keys create --app ${app} --type publishable --channels chat/*,news --actions publish,subscribe`,
    "--origins=https://a.com,*",
    "--label=for the ☃",
  );
  expect([made.exitCode, made.stderr]).toEqual([0, ""]);
  const shown = fieldsOf(made.stdout);
  expect(shown).toMatchObject({ channels: "chat/*, news", origins: "https://a.com, *", label: "for the ☃" });
  expect(shown.secret).toBeUndefined();
  const key = shown.key ?? "";
  expect(key).toMatch(/^pk_live_[0-9a-f]{32}$/);

  const edited = await json(`keys edit ${key} --actions presence`, "--origins=", "--label=", '--channels=["a,b"]');
  expect(edited).toMatchObject({ actions: ["presence"], allowedOrigins: [], label: null, channelPatterns: ["a,b"] });
  expect(fieldsOf((await run(`keys edit ${key} --label web`)).stdout)).toMatchObject({ label: "web", origins: "none" });
  expect(await json(`keys show ${key}`)).toMatchObject({ keyId: key, label: "web", revoked: null });
  expect(fieldsOf((await run(`keys show ${key}`)).stdout).key).toBe(key);

  const list = (await run(`keys list --app ${app}`)).stdout.trimEnd().split("\n");
  expect(list).toHaveLength(2);
  expect(list[1]).toMatch(new RegExp(`^${key}  ${app} +publishable  live +web +a,b +presence +none `));
  expect((await json<{ data: object[] }>(`keys list --app ${app}`)).data).toHaveLength(1);

  expect(fieldsOf((await run(`keys revoke ${key}`)).stdout).revoked).toMatch(/^\d{4}-/);
  expect(await json(`keys revoke ${key}`)).toMatchObject({ keyId: key, revoked: expect.any(Number) });
  expect((await run("keys list")).stdout).toMatch(new RegExp(`${key} .* revoked `));
  const late = await run(`keys edit ${key} --label x --json`);
  expect([late.exitCode, JSON.parse(late.stderr)]).toEqual([1, { error: "conflict", message: "This key is revoked." }]);
});

test("a secret key's secret is printed when it is made and when it is rotated, with a note, and nowhere else", async () => {
  const app = await newApp();
  const made = await run(`keys create --app ${app} --type secret --channels ** --actions publish`);
  expect(made.stderr).toContain("shown this once");
  const { key = "", secret = "" } = fieldsOf(made.stdout);
  expect(secret).toMatch(/^sk_secret_/);
  expect((await run(`keys show ${key}`)).stdout).not.toContain("sk_secret_");

  const rotated = await run(`keys rotate ${key} --grace 3600`);
  expect(rotated.stderr).toContain("shown this once");
  expect(fieldsOf(rotated.stdout).secret).not.toBe(secret);
  const before = Math.floor(Date.now() / 1000);
  const retired = await json(`keys rotate ${key} --retire-previous`);
  expect(retired).toMatchObject({ keyId: key, secret: expect.stringMatching(/^sk_secret_/) });
  expect(retired.previousSecretExpiresAt as number).toBeWithin(before, before + 60);
});

test("a token is minted with the key of the environment or of --key, and checked from argument and stdin", async () => {
  const app = await newApp();
  const { keyId, secret } = await newSecretKey(app);
  const minted = await run(
    `token mint --peer alice --channels chat/* --permissions subscribe --expires 600 --key ${keyId}:${secret}`,
    '--metadata={"ice":[]}',
    '--peer-metadata={"name":"Alice"}',
  );
  expect(minted.stderr).toMatch(/^It is good until \d{4}-/);
  const token = minted.stdout.trim();
  expect(token.split(".")).toHaveLength(3);
  const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as object;
  expect(claims).toMatchObject({ sub: "alice", metadata: { ice: [] }, peerMetadata: { name: "Alice" } });

  expect(fieldsOf((await run(`token check ${token}`)).stdout)).toMatchObject({
    token: "good",
    peer: "alice",
    key: keyId,
    channels: "chat/*",
    permissions: "subscribe",
  });
  const piped = await shell("parley token mint --peer bob | parley token check - --json", server.env);
  expect(JSON.parse(piped.stdout)).toMatchObject({ valid: true, peerId: "bob" });
  const implied = await parley(["token", "check"], { env: server.env, stdin: `${token}\n` });
  expect([implied.exitCode, fieldsOf(implied.stdout).peer]).toEqual([0, "alice"]);
  expect(await json("token mint --peer carol")).toMatchObject({
    token: expect.any(String),
    expiresAt: expect.any(Number),
  });
});

test("a refused token is an answer with its exact reason, and exit code 1", async () => {
  const text = await run("token check nonsense");
  expect([text.exitCode, text.stderr]).toEqual([1, ""]);
  expect(fieldsOf(text.stdout)).toEqual({
    token: "refused",
    error: "invalid_token",
    reason: "it is not three parts of base64url",
  });
  const asJson = await run("token check nonsense --json");
  expect(asJson.exitCode).toBe(1);
  expect(JSON.parse(asJson.stdout)).toEqual({ valid: false, error: "invalid_token", reason: expect.any(String) });
  const empty = await parley(["token", "check", "-"], { env: server.env });
  expect([empty.exitCode, empty.stderr]).toEqual([2, "parley: stdin held no token\n"]);
});

test("a revoked key mints nothing, and its tokens are refused", async () => {
  const { keyId, secret } = await newSecretKey(await newApp());
  const { token } = await json<{ token: string }>(`token mint --peer alice --key ${keyId}:${secret}`);
  await json(`keys revoke ${keyId}`);
  const checked = await run(`token check ${token}`);
  expect([checked.exitCode, fieldsOf(checked.stdout).reason]).toEqual([1, "kid does not name a live secret key"]);
  const minted = await run(`token mint --peer alice --key ${keyId}:${secret}`);
  expect(minted.exitCode).toBe(1);
  expect(minted.stderr).toContain(
    "the secret key of --key was refused: it is unknown or revoked, or its secret is wrong",
  );
  expect(minted.stderr).not.toContain(secret);
});

test("the API's refusals arrive with their code and words", async () => {
  const refused = await run("token mint --peer alice --channels _parley/x --json");
  expect(refused.stdout).toBe("");
  expect([refused.exitCode, JSON.parse(refused.stderr)]).toEqual([
    1,
    { error: "channel_not_authorized", message: expect.stringContaining("channels.0") },
  ]);
  const name = await run("apps create Bad_Name");
  expect([name.exitCode, name.stderr]).toEqual([1, expect.stringContaining("must be a DNS label")]);
  const taken = await run("apps create demo --json");
  expect(JSON.parse(taken.stderr)).toMatchObject({ error: "conflict" });
});

test("without an admin token it says how to set one; with a wrong one, which one was wrong", async () => {
  const url = server.url;
  const none = await parley(["keys", "list", "--url", url]);
  expect(none.exitCode).toBe(2);
  expect(none.stderr).toContain("set PARLEY_ADMIN_TOKEN, or name a file that holds it with --admin-token-file");
  const wrong = await parley(["keys", "list", "--url", url], { env: { PARLEY_ADMIN_TOKEN: "parley_admin_wrong" } });
  expect(wrong).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: `parley: the admin token of PARLEY_ADMIN_TOKEN is not this server's (${url})\n`,
  });
  const noKey = await parley(["token", "mint", "--peer", "a", "--url", url]);
  expect([noKey.exitCode, noKey.stderr]).toEqual([2, expect.stringContaining("set PARLEY_KEY=SK_ID:SK_SECRET")]);
});

test("the admin token can come from a file, which wins over the environment", async () => {
  const file = join(folder, "token");
  writeFileSync(file, `${server.adminToken}\n`);
  const args = ["apps", "list", "--url", server.url, "--admin-token-file", file];
  expect((await parley(args, { env: { PARLEY_ADMIN_TOKEN: "wrong" } })).exitCode).toBe(0);
  writeFileSync(file, "two words\n");
  expect((await parley(args)).stderr).toContain("must hold the admin token and nothing else");
  const missing = await parley(["apps", "list", "--admin-token-file", join(folder, "nowhere")]);
  expect([missing.exitCode, missing.stderr]).toEqual([2, expect.stringContaining("cannot be read")]);
});

test("a server that is away is named, with how to start one", async () => {
  using other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const url = `http://127.0.0.1:${other.port}`;
  await other.stop(true);
  const away = await parley(["apps", "list", "--url", url], { env: { PARLEY_ADMIN_TOKEN: "x" } });
  expect(away.exitCode).toBe(1);
  expect(away.stderr).toBe(
    `parley: no server can be reached at ${url} (connection refused); start one with "parley up", or name another with --url or PARLEY_URL\n`,
  );
  const asJson = await parley(["apps", "list", "--json"], { env: { PARLEY_ADMIN_TOKEN: "x", PARLEY_URL: url } });
  expect(JSON.parse(asJson.stderr)).toMatchObject({ error: "unreachable", message: expect.stringContaining(url) });
});

test("what is not Parley is said to be so, and a redirect is not followed with the token", async () => {
  const seen: string[] = [];
  using other = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      seen.push(new URL(request.url).pathname);
      return seen.length === 1 ? new Response("<h1>hello</h1>") : Response.redirect("/elsewhere");
    },
  });
  const env = { PARLEY_ADMIN_TOKEN: "x", PARLEY_URL: `http://127.0.0.1:${other.port}/` };
  const page = await parley(["apps", "list"], { env });
  expect([page.exitCode, page.stderr]).toEqual([1, expect.stringContaining("is this a Parley server?")]);
  const redirect = await parley(["apps", "list"], { env });
  expect([redirect.exitCode, redirect.stderr]).toEqual([1, expect.stringContaining("redirects to")]);
  expect(seen).toEqual(["/api/internal/v1/apps", "/api/internal/v1/apps"]);
});

test("where there is no control plane, it says where it may be", async () => {
  const absent = { error: "not_found", message: CODES.not_found.text };
  using other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json(absent, { status: 404 }) });
  const { exitCode, stderr } = await run(`apps list --url http://127.0.0.1:${other.port}`);
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringContaining("with PARLEY_ADMIN_LISTEN it has an address of its own"),
  ]);
});

test("a wrong value is refused before anything is asked of the server", async () => {
  const lines: [string, string][] = [
    ["apps plan demo", "nothing to change"],
    ["apps show ..", '".." is not the id or name of an application'],
    [
      "keys create --app demo --type secret --channels ** --actions publish --origins *",
      "a secret key has no --origins",
    ],
    ["keys create --app demo --type publishable --channels ** --actions publish", "a publishable key needs --origins"],
    ["keys create --app demo --type public --channels ** --actions publish", "allowed: publishable, secret"],
    ["keys rotate sk_id_x --retire-previous --grace 1", "--grace has no meaning beside it"],
    ["apps rotate-secret shop --retire-previous --grace 1", "--grace has no meaning beside it"],
    ["keys edit sk_id_x", "nothing to change"],
    ["token mint --peer a --key pk_live_x", "--key must be a secret key's id and its secret"],
    ["token mint --peer a --permissions fly", '--permissions has "fly"'],
    ["apps list --url ftp://x", "--url must be an address such as"],
  ];
  const nowhere = { ...server.env, PARLEY_URL: "http://127.0.0.1:1" };
  const ended = await Promise.all(lines.map(([line]) => parley(line.split(" "), { env: nowhere })));
  for (const [at, { exitCode, stdout, stderr }] of ended.entries()) {
    expect([exitCode, stdout, stderr]).toEqual([2, "", expect.stringContaining(lines[at]?.[1] ?? "")]);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  }
});

test("a reader that leaves early ends it quietly", async () => {
  const short = await shell("parley keys list | head -1", server.env);
  expect([short.exitCode, short.stdout.startsWith("KEY "), short.stderr]).toEqual([0, true, ""]);
  // Far more than a pipe holds, so that the write itself must fail.
  const app = { _id: "id", name: "a", created: 0, plan: { name: "p" }, retentionDays: null };
  using other = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => Response.json({ data: Array(20_000).fill(app) }),
  });
  const script = `{ parley apps list; echo "exit code $?" >&2; } | head -1`;
  const long = await shell(script, { ...server.env, PARLEY_URL: `http://127.0.0.1:${other.port}` });
  expect([long.stdout.startsWith("NAME "), long.stderr]).toEqual([true, "exit code 0\n"]);
});
