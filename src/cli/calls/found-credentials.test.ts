/** On the machine of a service, commands find their credentials in its data folder. Nothing is exported here. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { IS_FULL } from "../../../test/support/slack.ts";
import { Commands, type Ended } from "../testing/commands.ts";
import { parley, withServer } from "../testing/kit.ts";

setDefaultTimeout(60_000);

const cli = withServer();
const data = join(cli.folder, "data");
const commands = new Commands();
afterAll(() => commands.stop());

/** In the folder where the service was started, which contains `data`. Only its port differs from the default. */
function here(line: string, extra: Record<string, string> = {}, cwd = cli.folder): Promise<Ended> {
  const [args, env] = [line.split(" "), { PARLEY_URL: cli.server.url, PARLEY_DATA: "", ...extra }];
  // In full as a user does: a process for each.
  return IS_FULL ? parley(args, { cwd, env }) : commands.run({ args, cwd, env });
}

/** A copy of what the first start wrote, without some of its lines. */
function folderWithout(...names: string[]): string {
  const folder = join(cli.folder, `without-${names.join("-").replaceAll(" ", "-")}`);
  mkdirSync(folder);
  const lines = readFileSync(join(data, "first-run.txt"), "utf8").split("\n");
  const kept = lines.filter((line) => !names.some((name) => line.includes(name)));
  writeFileSync(join(folder, "first-run.txt"), kept.join("\n"));
  return folder;
}

test.each([
  "rooms create standup",
  "rooms list",
  "rooms open standup",
  "rooms meetings",
  "recordings list",
  "apps list",
  "apps create shop",
  "keys list --app demo",
  "operators list",
  "audit",
  "token mint --peer alice",
  "usage",
  "channels",
  "publish chat/1 hello",
  "doctor",
  "verify --clients 2 --channels 1 --rate 5 --seconds 1",
])("parley %s needs nothing else", async (line) => {
  const { exitCode, stderr } = await here(line);
  expect([line, exitCode, stderr.includes("is needed")]).toEqual([line, 0, false]);
});

test("the app secret of another application is fetched once, kept, and replaced when it was rotated", async () => {
  await cli.json("apps create bakery");
  const file = join(data, "command-line/bakery.secret");
  expect((await here("rooms create oven --app bakery")).exitCode).toBe(0);
  const kept = readFileSync(file, "utf8").trim();
  expect([statSync(file).mode & 0o777, await cli.json("apps secret bakery")]).toEqual([0o600, { secretKey: kept }]);
  expect((await here("rooms show oven --app bakery")).exitCode).toBe(0);
  await cli.json("apps rotate-secret bakery --retire-previous --yes");
  expect((await here("rooms show oven --app bakery")).exitCode).toBe(0);
  expect(readFileSync(file, "utf8").trim()).not.toBe(kept);
  const shown = await cli.jsonLines<{ what: string }>("audit --app bakery");
  // Once per secret by the commands, and once by this test.
  expect(shown.filter(({ what }) => what === "app secret shown")).toHaveLength(3);
});

test("a data folder that cannot be written to is enough for what is only fetched, and no key is left behind", async () => {
  await cli.json("apps create locked");
  const folder = folderWithout("publishable");
  // A file where a folder should be: root may write everywhere.
  writeFileSync(join(folder, "command-line"), "");
  expect((await here(`rooms list --app locked --data ${folder}`)).exitCode).toBe(0);
  const usage = await here(`usage --app locked --data ${folder}`);
  expect([usage.exitCode, usage.stderr]).toEqual([1, expect.stringContaining("a key for locked cannot be saved")]);
  expect(await cli.jsonLines("keys list --app locked")).toMatchObject([{ revoked: expect.any(Number) }]);
  const none = await here(`rooms show none --app locked --data ${folder}`);
  expect(none.stderr).toBe(`parley: room not found; "parley rooms list --app locked --data ${folder}" lists them\n`);
});

test("a key of the demo that was revoked is replaced", async () => {
  const folder = folderWithout("secret key");
  const { keyId, secret } = await cli.json<{ keyId: string; secret: string }>(
    "keys create --app demo --type secret --channels ** --actions publish",
  );
  const file = join(folder, "first-run.txt");
  writeFileSync(file, `    secret key       ${keyId}:${secret}\n${readFileSync(file, "utf8")}`);
  await cli.json(`keys revoke ${keyId} --yes`);
  expect((await here(`usage --data ${folder}`)).exitCode).toBe(0);
  expect(readFileSync(join(folder, "command-line/demo.key"), "utf8")).toMatch(/^sk_id_/);
});

describe("nothing of the data folder is sent to another machine:", () => {
  test.each(["apps list", "rooms list", "usage", "token mint --peer a", "verify"])("parley %s", async (line) => {
    const seen: string[] = [];
    using other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ headers }) => {
        seen.push(headers.get("authorization") ?? "");
        return Response.json({});
      },
    });
    // A name that may lead anywhere, and leads to the server above if anything is sent.
    const { exitCode, stderr } = await here(line, { PARLEY_URL: `http://0.0.0.0:${other.port}` });
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/need.*(on|is on) another machine/)]);
    expect(seen).toEqual([]);
  });
});

test("what is missing is named, with what to do about it", async () => {
  const [none, admin, secret] = [join(cli.folder, "none"), folderWithout("admin token"), folderWithout("demo", "app")];
  mkdirSync(none);
  const lines: readonly [line: string, cwd: string, message: string][] = [
    ["apps list", none, 'run this in the folder where you ran "parley up", or pass the data folder with --data'],
    ["rooms list", none, "the app secret is needed: set PARLEY_APP_SECRET, or pass a file"],
    ["usage", none, "a key is needed: set PARLEY_KEY to a secret key (SK_ID:SK_SECRET), or use --key"],
    [
      `apps list --data ${admin}`,
      none,
      `${admin}/first-run.txt does not have it; if you have lost it, stop the server and run `,
    ],
    [`apps list --data ${admin}`, none, `admin reset-token --data ${admin}"`],
    [`apps list --data ${admin}`, none, '" to save one, set PARLEY_OPERATOR_TOKEN'],
    [`apps list --url ${cli.server.url}`, none, `login ${cli.server.url}" to save one`],
    [
      `rooms list --app shop --data ${admin}`,
      none,
      "or set PARLEY_OPERATOR_TOKEN, and the command fetches it and saves it",
    ],
  ];
  for (const [line, cwd, message] of lines) {
    const { exitCode, stdout, stderr } = await here(line, {}, cwd);
    expect([line, exitCode, stdout, stderr]).toEqual([line, 2, "", expect.stringContaining(message)]);
  }
  // With the admin token alone, the other credentials are fetched.
  expect((await here(`rooms list --data ${secret}`)).exitCode).toBe(0);
  expect(existsSync(join(secret, "command-line/demo.secret"))).toBe(true);
});

test("a variable or a flag comes before the data folder", async () => {
  for (const [line, env] of [
    ["apps list", { PARLEY_OPERATOR_TOKEN: "op_x" }],
    ["rooms list", { PARLEY_APP_SECRET: "x" }],
    ["token mint --peer a", { PARLEY_KEY: "sk_id_1:sk_secret_2" }],
  ] as const) {
    const { exitCode, stderr } = await here(line, env);
    expect([line, exitCode, stderr]).toEqual([line, 1, expect.stringContaining(Object.keys(env)[0] ?? "")]);
  }
});

test("a credential with the placeholder of our pages is refused, with where its value is", async () => {
  const lines: readonly [line: string, env: Record<string, string>][] = [
    ["publish chat/1 hi", { PARLEY_KEY: "sk_id_…:sk_secret_…" }],
    ["publish chat/1 hi", { PARLEY_KEY: "pk_live_…" }],
    ["usage", { PARLEY_KEY: "sk_id_...:sk_secret_..." }],
    ["apps list", { PARLEY_OPERATOR_TOKEN: "parley_admin_…" }],
    ["apps list", { PARLEY_ADMIN_TOKEN: "parley_admin_…" }],
    ["rooms list", { PARLEY_APP_SECRET: "…" }],
    ["verify --seconds 1", { PARLEY_KEY: "sk_id_…:sk_secret_…" }],
  ];
  for (const [line, env] of lines) {
    const { exitCode, stderr } = await here(line, env);
    const [name] = Object.keys(env);
    const mark = line === "usage" ? "..." : "…";
    expect([line, exitCode, stderr]).toEqual([
      line,
      2,
      `parley: ${name} contains the placeholder ${mark}: replace it with the value in data/first-run.txt, which the service wrote on its first start\n`,
    ]);
  }
  const token = await here("publish chat/1 hi", { PARLEY_TOKEN: "eyJ…" });
  expect([token.exitCode, token.stderr]).toEqual([2, expect.stringContaining("PARLEY_TOKEN contains a placeholder")]);
  const server = await here("config", { PARLEY_ADMIN_TOKEN: "parley_admin_…" });
  expect([server.exitCode, server.stderr]).toEqual([2, expect.stringContaining('contains the placeholder "…"')]);
});

test("a refused token of PARLEY_OPERATOR_TOKEN is not called an admin token", async () => {
  const { stderr } = await here("apps list", { PARLEY_OPERATOR_TOKEN: "wrong" });
  expect(stderr).toBe(
    `parley: the token of PARLEY_OPERATOR_TOKEN is no longer valid, or belongs to another server (${cli.server.url})\n`,
  );
});

test("commands take the token of PARLEY_OPERATOR_TOKEN, before that of PARLEY_ADMIN_TOKEN, which is the server's setting", async () => {
  const { token } = await cli.json<{ token: string }>("operators create reader --role read");
  const admin = cli.server.adminToken;
  const run = (env: Record<string, string>, line = "apps create never") => here(line, env, "/");
  const reader = await run({ PARLEY_OPERATOR_TOKEN: token, PARLEY_ADMIN_TOKEN: admin });
  expect([reader.exitCode, reader.stderr]).toEqual([1, expect.stringContaining("reader has the role read")]);
  expect((await run({ PARLEY_OPERATOR_TOKEN: admin }, "apps list")).exitCode).toBe(0);
  expect((await run({ PARLEY_ADMIN_TOKEN: admin }, "apps list")).exitCode).toBe(0);
});

test("a server is not set to a credential of another kind, and does not print it", async () => {
  const { token } = await cli.json<{ token: string }>("operators create other --role read");
  const minted = await cli.json<{ token: string }>("token mint --peer a");
  const access = await cli.json<{ token: string }>("rooms token");
  const fresh = join(cli.folder, "fresh");
  const [publishable = ""] = /pk_live_\w+/.exec(readFileSync(join(data, "first-run.txt"), "utf8")) ?? [];
  const kinds: readonly [value: string, what: string][] = [
    [token, "is an operator's token (op_…): commands take it as PARLEY_OPERATOR_TOKEN"],
    [cli.server.secretKey, "is a secret key (sk_…)"],
    [cli.server.secretKey.split(":")[1] ?? "", "is a secret key (sk_…)"],
    [publishable, "is a publishable key (pk_live_…)"],
    [minted.token, "is a token for clients (eyJ…)"],
    [access.token, "is a token for clients (eyJ…)"],
  ];
  const file = join(cli.folder, "settings.json");
  for (const [at, [value, what]] of kinds.entries()) {
    writeFileSync(file, JSON.stringify({ "admin-token": value }));
    const ways = [
      () => parley(["up", "--port", "0", "--data", fresh], { env: { PARLEY_ADMIN_TOKEN: value } }),
      () => parley(["up", "--port", "0", "--data", fresh, "--admin-token", value]),
      () => parley(["up", "--port", "0", "--data", fresh, "--config", file]),
      () => parley(["config"], { env: { PARLEY_ADMIN_TOKEN: value } }),
    ];
    // The first kind in every way, and every kind in one.
    const starts = ways.filter((_, way) => IS_FULL || at === 0 || at % ways.length === way).map((start) => start());
    for (const { exitCode, stdout, stderr } of await Promise.all(starts)) {
      expect([exitCode, stdout, stderr]).toEqual([2, "", expect.stringContaining(what)]);
      expect(stderr).toContain("openssl rand -hex 32");
      expect(stderr).not.toContain(value);
    }
  }
  expect(existsSync(fresh)).toBe(false);
});
