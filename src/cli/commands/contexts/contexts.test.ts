/** Logging in to a service keeps its address and a token; commands use it from any folder, until one logs out. */
import { afterAll, afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { NO_RUNTIME_FOLDER, parleyCommand } from "../../../../test/support/command.ts";
import { Terminal } from "../../../../test/support/terminal.ts";
import { Commands, type Ended } from "../../testing/commands.ts";
import { parley, temporaryFolder, withServer } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const cli = withServer();
const commands = new Commands();
afterAll(() => commands.stop());
let home: string;
beforeEach(() => {
  home = temporaryFolder();
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** In a folder where no server was started, and without the variables that name one. */
const env = (): Record<string, string> => ({ HOME: home, PARLEY_DATA: "", XDG_RUNTIME_DIR: NO_RUNTIME_FOLDER });
const run = (line: string, extra: Record<string, string> = {}): Promise<Ended> =>
  commands.run({ args: line.split(" "), cwd: home, env: { ...env(), ...extra } });
/** With the token on its input, for which it needs a process. */
const login = (flags: string, token = cli.server.adminToken, url = cli.server.url): Promise<Ended> =>
  parley(["login", url, "--token-stdin", ...flags.split(" ").filter(Boolean)], { cwd: home, env: env(), stdin: token });
const folder = (): string => join(home, ".config/parley");

test("after a login, commands use the service, its token and a key that they keep there; a logout forgets all", async () => {
  expect(await login("--name prod")).toMatchObject({ exitCode: 0 });
  expect((await run("apps list")).stdout).toContain("demo");
  expect(await run("publish chat/1 hello")).toMatchObject({ exitCode: 0 });
  const paths = ["", "contexts/prod", "contexts/prod/context.json", "contexts/prod/demo.key", "current"];
  expect(paths.map((path) => statSync(join(folder(), path)).mode & 0o777)).toEqual([0o700, 0o700, 0o600, 0o600, 0o600]);
  const listed = await run("contexts --json");
  expect(JSON.parse(listed.stdout)).toMatchObject({ name: "prod", url: cli.server.url, token: "admin", current: true });
  expect(listed.stdout).not.toContain(cli.server.adminToken);
  expect((await run("contexts")).stdout).toMatch(/^\* +prod +http/m);
  await run("use -");
  expect((await run("apps list")).exitCode).toBe(2);
  expect((await run("apps list --context prod")).exitCode).toBe(0);
  expect((await run("apps list", { PARLEY_CONTEXT: "prod" })).exitCode).toBe(0);
  const [, key = ""] = /(sk_id_\w+)/.exec(readFileSync(join(folder(), "contexts/prod/demo.key"), "utf8")) ?? [];
  const gone = await run("logout prod");
  expect([gone.exitCode, gone.stderr.includes(`keys revoke ${key} --url ${cli.server.url}`)]).toEqual([0, true]);
  expect(existsSync(join(folder(), "contexts/prod"))).toBe(false);
  expect(await run("apps list --context prod")).toMatchObject({ exitCode: 2, stdout: "" });
});

test("a token that the service refuses is not kept, and does not replace one that works", async () => {
  expect(await login("", "op_wrong")).toMatchObject({ exitCode: 1, stdout: "" });
  expect(existsSync(folder())).toBe(false);
  await login("--name prod");
  expect(await login("--name prod", "parley_admin_wrong")).toMatchObject({ exitCode: 1 });
  expect((await run("apps list")).exitCode).toBe(0);
});

test("http is refused for other machines, unless --insecure accepts it", async () => {
  const refused = await run("login http://192.0.2.1:8080 --token-stdin");
  expect([refused.exitCode, refused.stderr.includes("--insecure")]).toEqual([2, true]);
  expect(existsSync(folder())).toBe(false);
});

test("what is exported for another service is not sent to a context; two names are refused", async () => {
  await login("--name prod");
  const extra = { PARLEY_OPERATOR_TOKEN: "op_of-another-service", PARLEY_KEY: "sk_id_other:sk_secret_other" };
  expect((await run("apps list", extra)).exitCode).toBe(0);
  expect((await run("usage", extra)).exitCode).toBe(0);
  expect((await run("rooms list", { PARLEY_DOMAIN: "other.example" })).exitCode).toBe(0);
  expect((await run("apps list --context prod --url http://127.0.0.1:1")).exitCode).toBe(2);
  const both = await run("apps list", { PARLEY_CONTEXT: "prod", PARLEY_URL: cli.server.url });
  expect([both.exitCode, both.stderr.includes("unset one")]).toEqual([2, true]);
});

test("one that a crash has left half made is in no one's way, and can be forgotten", async () => {
  await login("--name prod");
  mkdirSync(join(folder(), "contexts/half"), { mode: 0o700 });
  expect((await run("contexts --json")).stdout.trim().split("\n")).toHaveLength(1);
  expect((await run("apps list --context half")).exitCode).toBe(2);
  expect((await run("logout half")).stdout).toBe("forgot half, which could not be read\n");
  expect(readdirSync(join(folder(), "contexts"))).toEqual(["prod"]);
  expect((await run("logout half")).exitCode).toBe(2);
});

test("contexts and the applications of their services are completed; without a service there are none, and no error", async () => {
  await login("--name prod");
  expect((await run("complete -- use p")).stdout).toBe(`none\nprod\t${cli.server.url}\n`);
  const completed = (await run("complete -- --context prod apps show d")).stdout;
  expect(completed).toBe("none\ndemo\tapplication\n");
  const gone = { PARLEY_URL: "http://127.0.0.1:1", PARLEY_OPERATOR_TOKEN: "op_none" };
  expect(await run("complete -- apps show d", gone)).toEqual({ stdout: "none\n", stderr: "", exitCode: 0 });
  chmodSync(folder(), 0o755);
  expect(await run("complete -- use p")).toEqual({ stdout: "none\n", stderr: "", exitCode: 0 });
});

test("a folder that others can enter is refused", async () => {
  await login("--name prod");
  chmodSync(folder(), 0o755);
  const open = await run("apps list");
  expect([open.exitCode, open.stderr.includes("chmod 700")]).toEqual([2, true]);
});

test("names that lead out of the folder are refused", async () => {
  mkdirSync(folder(), { recursive: true, mode: 0o700 });
  for (const name of ["../x", ".", "a/b", "-"])
    expect((await run(`login ${cli.server.url} --name ${name}`)).exitCode).toBe(2);
  for (const line of ["use ../x", "logout ../x"]) expect((await run(line)).exitCode).toBe(2);
  expect(readdirSync(folder())).toEqual([]);
});

test("on a terminal the token is asked for, and not shown", async () => {
  const command = parleyCommand("login", cli.server.url, "--name", "prod");
  await using terminal = new Terminal(command, { HOME: home });
  await terminal.shows(/Admin token, or an operator's, of http.*: /);
  terminal.type(`${cli.server.adminToken}\r`);
  expect(await terminal.exited).toBe(0);
  expect(terminal.text).not.toContain(cli.server.adminToken);
  const up = parleyCommand("up", "--port", "0", "--data", join(home, "data"));
  await using start = new Terminal(up, { HOME: home, NO_COLOR: "1" });
  await start.shows(/ {2}commands {3}use the context prod: parley use - points them here\n/);
  await using listing = new Terminal(parleyCommand("apps", "list"), { HOME: home });
  await listing.shows(/Using http\S+ \(context prod\)/);
});
