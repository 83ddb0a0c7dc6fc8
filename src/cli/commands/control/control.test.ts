/** Commands that call the control plane and the backend API, as processes, against a running server. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CODES } from "../../../protocol/codes.ts";
import { parley, shell, withServer } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const cli = withServer();
const { folder, run, json, jsonLines } = cli;

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

/** Parses lines of `name  value`. */
const fieldsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {2,}/) as [string, string]),
  );

test("an application is created, shown, listed, changed and deleted", async () => {
  const made = await run("apps create shop");
  expect(made.exitCode).toBe(0);
  expect(made.stderr).toContain('"parley apps secret shop" prints it');
  const { id = "", "app secret": secretKey = "" } = fieldsOf(made.stdout);
  expect(id).toMatch(/^[0-9a-f]{24}$/);

  expect((await run("apps secret shop")).stdout).toBe(`${secretKey}\n`);
  expect(await json("apps secret shop")).toEqual({ secretKey });
  expect(fieldsOf((await run("apps show shop")).stdout)).toMatchObject({ id, name: "shop", connections: "unlimited" });
  expect(fieldsOf(made.stdout)).toMatchObject({ "recordings at most": "100 GiB", "history at most": "1 GiB" });
  const sized = await run("apps plan shop --max-recording-bytes-total 1500000001 --max-history-bytes 2097152000 --yes");
  expect(fieldsOf(sized.stdout)).toMatchObject({
    "recordings at most": "1500000001 bytes",
    "history at most": "2000 MiB",
  });
  expect(await json(`apps show ${id}`)).toMatchObject({ _id: id, name: "shop" });

  const planned = await run(
    "apps plan shop --max-connections 500 --max-messages none --name small --retention-days 30 --yes",
  );
  expect(fieldsOf(planned.stdout)).toMatchObject({
    plan: "small",
    connections: "500",
    "messages per month": "unlimited",
    "recordings kept": "30 days",
  });
  expect(await json("apps plan shop --retention-days none")).toMatchObject({
    plan: { name: "small", maxConcurrentConnections: 500, maxMessagesPerPeriod: null },
    retentionDays: null,
  });
  const meetings = await run(
    "apps plan shop --yes --meeting-retention-days 7 --frame-origins https://a.example,https://*.b.example",
  );
  expect(fieldsOf(meetings.stdout)).toMatchObject({
    "meetings kept": "7 days",
    "meetings framed by": "https://a.example, https://*.b.example",
  });
  expect(fieldsOf((await run("apps plan shop --frame-origins=")).stdout)).toMatchObject({
    "meetings framed by": "none",
  });

  const rotated = await run("apps rotate-secret shop --grace 60");
  expect(rotated.stdout.trim()).not.toBe(secretKey);
  expect(rotated.stderr).toContain("work until the grace period ends");
  const ended = await run("apps rotate-secret shop --retire-previous --yes");
  expect(ended.stderr).toContain("no longer works");
  expect((await json("apps rotate-secret shop")).secretKey).not.toBe(ended.stdout.trim());

  const listed = (await run("apps list")).stdout.split("\n");
  expect(listed[0]).toMatch(/^NAME +ID +PLAN +CONNECTIONS +MESSAGES +KEPT +CREATED$/);
  expect(listed.find((line) => line.startsWith("shop "))).toContain(id);
  expect((await jsonLines("apps list")).map((app) => app.name)).toContain("shop");

  expect(fieldsOf((await run("apps delete shop --yes")).stdout).deleted).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$/);
  const gone = await run("apps show shop");
  expect(gone).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: 'parley: There is no such application; "parley apps list" lists them\n',
  });
});

test("a publishable key is created, edited, listed and revoked", async () => {
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
  expect(await json(`keys show ${key}`)).toMatchObject({ keyId: key, label: "web", turn: false, revoked: null });
  expect(fieldsOf((await run(`keys edit ${key} --turn on`)).stdout)).toMatchObject({ turn: "on", label: "web" });
  expect(await json(`keys edit ${key} --turn off`)).toMatchObject({ turn: false });
  expect(fieldsOf((await run(`keys show ${key}`)).stdout).key).toBe(key);

  const list = (await run(`keys list --app ${app}`)).stdout.trimEnd().split("\n");
  expect(list).toHaveLength(2);
  expect(list[1]).toMatch(new RegExp(`^${key}  ${app} +publishable  live +web +a,b +presence +none `));
  expect(await jsonLines(`keys list --app ${app}`)).toMatchObject([{ keyId: key, label: "web" }]);

  expect(fieldsOf((await run(`keys revoke ${key} --yes`)).stdout).revoked).toMatch(/^\d{4}-/);
  expect(await json(`keys revoke ${key} --yes`)).toMatchObject({ keyId: key, revoked: expect.any(Number) });
  expect((await run("keys list")).stdout).toMatch(new RegExp(`${key} .* revoked `));
  const late = await run(`keys edit ${key} --label x --json`);
  expect([late.exitCode, JSON.parse(late.stderr)]).toEqual([1, { error: "conflict", message: "This key is revoked." }]);
});

test("the secret of a secret key is printed only when it is created and when it is rotated, with a note", async () => {
  const app = await newApp();
  const made = await run(`keys create --app ${app} --type secret --channels ** --actions publish`);
  expect(made.stderr).toContain("it is not shown again");
  const { key = "", secret = "" } = fieldsOf(made.stdout);
  expect(secret).toMatch(/^sk_secret_/);
  expect((await run(`keys show ${key}`)).stdout).not.toContain("sk_secret_");

  const rotated = await run(`keys rotate ${key} --grace 3600`);
  expect(rotated.stderr).toContain("it is not shown again");
  expect(fieldsOf(rotated.stdout).secret).not.toBe(secret);
  const before = Math.floor(Date.now() / 1000);
  const retired = await json(`keys rotate ${key} --retire-previous --yes`);
  expect(retired).toMatchObject({ keyId: key, secret: expect.stringMatching(/^sk_secret_/) });
  expect(retired.previousSecretExpiresAt as number).toBeWithin(before, before + 60);
});

test("a token is minted with the key of the environment or of --key, and checked from an argument or stdin", async () => {
  const app = await newApp();
  const { keyId, secret } = await newSecretKey(app);
  const minted = await run(
    `token mint --peer alice --channels chat/* --permissions subscribe --expires 600 --key ${keyId}:${secret}`,
    '--metadata={"ice":[]}',
    '--peer-metadata={"name":"Alice"}',
  );
  expect(minted.stderr).toMatch(/^It is valid until \d{4}-/);
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
  const piped = await shell("parley token mint --peer bob | parley token check - --json", cli.server.env);
  expect(JSON.parse(piped.stdout)).toMatchObject({ valid: true, peerId: "bob" });
  const implied = await parley(["token", "check"], { env: cli.server.env, stdin: `${token}\n` });
  expect([implied.exitCode, fieldsOf(implied.stdout).peer]).toEqual([0, "alice"]);
  expect(await json("token mint --peer carol")).toMatchObject({
    token: expect.any(String),
    expiresAt: expect.any(Number),
  });
});

test("a refused token is reported with its reason, and exit code 1", async () => {
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
  const empty = await parley(["token", "check", "-"], { env: cli.server.env });
  expect([empty.exitCode, empty.stderr]).toEqual([2, "parley: stdin had no token\n"]);
});

test("a revoked key mints no tokens, and its tokens are refused", async () => {
  const { keyId, secret } = await newSecretKey(await newApp());
  const { token } = await json<{ token: string }>(`token mint --peer alice --key ${keyId}:${secret}`);
  await json(`keys revoke ${keyId} --yes`);
  const checked = await run(`token check ${token}`);
  expect([checked.exitCode, fieldsOf(checked.stdout).reason]).toEqual([1, "kid does not name a live secret key"]);
  const minted = await run(`token mint --peer alice --key ${keyId}:${secret}`);
  expect(minted.exitCode).toBe(1);
  expect(minted.stderr).toContain(
    "the secret key of --key was refused: it is unknown or revoked, or its secret is wrong",
  );
  expect(minted.stderr).not.toContain(secret);
});

test("refusals of the API are printed with their code and message", async () => {
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

test("without an admin token the error says how to set it, and with a wrong one where that came from", async () => {
  const url = cli.server.url;
  const none = await parley(["keys", "list", "--url", url]);
  expect(none.exitCode).toBe(2);
  expect(none.stderr).toContain("set PARLEY_OPERATOR_TOKEN, or pass a file with --admin-token-file");
  expect(none.stderr).toContain("or pass the data folder with --data");
  const wrong = await parley(["keys", "list", "--url", url], { env: { PARLEY_ADMIN_TOKEN: "parley_admin_wrong" } });
  expect(wrong).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: `parley: the token of PARLEY_ADMIN_TOKEN is no longer valid, or belongs to another server (${url})\n`,
  });
  const noKey = await parley(["token", "mint", "--peer", "a", "--url", url]);
  expect([noKey.exitCode, noKey.stderr]).toEqual([
    2,
    expect.stringContaining("set PARLEY_KEY to a secret key (SK_ID:SK_SECRET)"),
  ]);
});

test("the admin token can come from a file, which overrides the environment", async () => {
  const file = join(folder, "token");
  writeFileSync(file, `${cli.server.adminToken}\n`);
  const args = ["apps", "list", "--url", cli.server.url, "--admin-token-file", file];
  expect((await parley(args, { env: { PARLEY_ADMIN_TOKEN: "wrong" } })).exitCode).toBe(0);
  writeFileSync(file, "two parts\n");
  expect((await parley(args)).stderr).toContain("must contain a token and nothing else");
  const missing = await parley(["apps", "list", "--admin-token-file", join(folder, "nowhere")]);
  expect([missing.exitCode, missing.stderr]).toEqual([2, expect.stringContaining("cannot be read")]);
});

test("the hint after apps create leads to the same server", async () => {
  const { url, adminToken } = cli.server;
  const made = await parley(["apps", "create", "fleet", "--url", url], { env: { PARLEY_ADMIN_TOKEN: adminToken } });
  expect(made.stderr).toStartWith(
    `Keep the app secret to yourself; "parley apps secret fleet --url ${url}" prints it. It is for rooms and recordings`,
  );
});

test("the error about an unreachable server has its address and how to start one", async () => {
  using other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const url = `http://127.0.0.1:${other.port}`;
  await other.stop(true);
  const unreachable = await parley(["apps", "list", "--url", url], { env: { PARLEY_ADMIN_TOKEN: "x" } });
  expect(unreachable.exitCode).toBe(1);
  expect(unreachable.stderr).toBe(
    `parley: cannot reach a server at ${url} (connection refused); start one with "parley up"; if it listens on another port: --url http://127.0.0.1:PORT, or export PARLEY_URL\n`,
  );
  const elsewhere = await parley(["apps", "list", "--url", "http://parley.invalid"], {
    env: { PARLEY_ADMIN_TOKEN: "x" },
  });
  expect(elsewhere.stderr).toEndWith("; set the right address with --url or PARLEY_URL\n");
  const asJson = await parley(["apps", "list", "--json"], { env: { PARLEY_ADMIN_TOKEN: "x", PARLEY_URL: url } });
  expect(JSON.parse(asJson.stderr)).toMatchObject({ error: "unreachable", message: expect.stringContaining(url) });
});

test("a server that is not Parley is reported, and a redirect is not followed", async () => {
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

test("the error about a missing control plane says where it may be", async () => {
  const absent = { error: "not_found", message: CODES.not_found.text };
  using other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json(absent, { status: 404 }) });
  const { exitCode, stderr } = await run(`apps list --url http://127.0.0.1:${other.port}`);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("PARLEY_ADMIN_LISTEN gives it a separate address")]);
});

test("a wrong value is refused without a request to the server", async () => {
  const lines: [string, string][] = [
    ["apps plan demo", "nothing to change"],
    ["apps show ..", '".." is not the id or name of an application'],
    [
      "keys create --app demo --type secret --channels ** --actions publish --origins *",
      "--origins does not apply to a secret key",
    ],
    ["keys create --app demo --type publishable --channels ** --actions publish", "a publishable key needs --origins"],
    ["keys create --app demo --type public --channels ** --actions publish", "allowed: publishable, secret"],
    ["keys rotate sk_id_x --retire-previous --grace 1", "--grace cannot be used with it"],
    ["apps rotate-secret shop --retire-previous --grace 1", "--grace cannot be used with it"],
    ["keys edit sk_id_x", "nothing to change"],
    ["token mint --peer a --key pk_live_x", "--key is a publishable key, and this command needs a secret key"],
    ["token mint --peer a --permissions fly", '--permissions has "fly"'],
    ["token mint --peer a --expires 2d", '--expires is "2d"; a token is valid for 1 to 86400 seconds (24h)'],
    ["token mint --peer a --expires 0", '--expires is "0"; a token is valid for 1 to 86400 seconds (24h)'],
    ["apps list --url ftp://x", "--url must be an address such as"],
  ];
  const nowhere = { ...cli.server.env, PARLEY_URL: "http://127.0.0.1:1" };
  const ended = await Promise.all(lines.map(([line]) => parley(line.split(" "), { env: nowhere })));
  for (const [at, { exitCode, stdout, stderr }] of ended.entries()) {
    expect([exitCode, stdout, stderr]).toEqual([2, "", expect.stringContaining(lines[at]?.[1] ?? "")]);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  }
});

test("a command whose output is no longer read ends quietly", async () => {
  const short = await shell("parley keys list | head -1", cli.server.env);
  expect([short.exitCode, short.stdout.startsWith("KEY "), short.stderr]).toEqual([0, true, ""]);
  // More than fits into a pipe, so that the write itself fails.
  const app = { _id: "id", name: "a", created: 0, plan: { name: "p" }, retentionDays: null };
  using other = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => Response.json({ data: Array(20_000).fill(app) }),
  });
  const script = `{ parley apps list; echo "exit code $?" >&2; } | head -1`;
  const long = await shell(script, { ...cli.server.env, PARLEY_URL: `http://127.0.0.1:${other.port}` });
  expect([long.stdout.startsWith("NAME "), long.stderr]).toEqual([true, "exit code 0\n"]);
});
