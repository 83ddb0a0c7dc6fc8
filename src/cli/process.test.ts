/** Commands that need no server: help, version and config; and how wrong command lines end. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asCalled } from "../config/program.ts";
import { VERSION } from "../version.ts";
import { TOP_LEVEL_NAMES } from "./declarations/all.ts";
import { parley, temporaryFolder } from "./testing/kit.ts";

setDefaultTimeout(60_000);

const folder = temporaryFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("help and version are printed on stdout, with exit code 0", async () => {
  const [help, group, flag, version, json] = await Promise.all(
    ["help", "help keys", "keys create --help", "--version", "version --json"].map((line) => parley(line.split(" "))),
  );
  expect([help?.exitCode, help?.stderr]).toEqual([0, ""]);
  expect(help?.stdout).toMatch(/^ {2}admin reset-token /m);
  expect(group?.stdout).toMatch(/^ {2}keys rotate /m);
  expect(flag?.stdout).toStartWith("parley keys create --app APP --type TYPE");
  expect(version?.stdout).toStartWith(`parley ${VERSION}`);
  expect(JSON.parse(json?.stdout ?? "")).toEqual({ version: VERSION, bun: Bun.version });
});

test("help is available as JSON", async () => {
  const { stdout } = await parley(["help", "keys", "rotate", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({
    name: "keys rotate",
    flags: expect.arrayContaining([
      { name: "retire-previous", value: null, meaning: expect.any(String), required: false },
    ]),
  });
});

test("without a command the overview is printed on stderr, with exit code 2", async () => {
  const { stdout, stderr, exitCode } = await parley([]);
  expect([exitCode, stdout]).toEqual([2, ""]);
  expect(stderr).toContain("parley up");
});

test("a wrong command line is reported in one line on stderr, with exit code 2; with --json as JSON", async () => {
  const [text, json] = await Promise.all([parley(["kyes"]), parley(["keys", "list", "--ap", "x", "--json"])]);
  expect(text).toEqual({
    exitCode: 2,
    stdout: "",
    stderr: 'parley: there is no command "kyes"; did you mean "keys"? See "parley help"\n',
  });
  expect([json.exitCode, json.stdout, JSON.parse(json.stderr)]).toEqual([
    2,
    "",
    { error: "usage", message: expect.stringContaining("did you mean --app?") },
  ]);
});

describe("commands in messages are written as the user calls the program:", () => {
  const env = { PARLEY_PROGRAM: "../bin/parley", PARLEY_URL: "http://127.0.0.1:1", PARLEY_KEY: "sk_id_1:sk_secret_2" };
  const BARE = new RegExp(`(?<![/\\w-])parley (?=(${TOP_LEVEL_NAMES.join("|")})\\b)`);

  test.each(["help", "help keys", "help token check", "help listen", "kyes", "keys", "apps list", "usage", "token x"])(
    "%s",
    async (line) => {
      const [text, json] = await Promise.all([
        parley(line.split(" "), { env }),
        parley([...line.split(" "), "--json"], { env }),
      ]);
      const all = [text.stdout, text.stderr, json.stdout, json.stderr];
      // What follows in a pipe or a file begins a line.
      expect(all.filter((one) => one !== "" && !one.endsWith("\n"))).toEqual([]);
      const said = all.join("");
      expect(said).toContain("../bin/parley ");
      expect(said).not.toMatch(BARE);
    },
  );

  test("npx, with what it runs", async () => {
    const { stderr } = await parley(["kyes"], { env: { PARLEY_PROGRAM: "npx parley-server" } });
    expect(stderr).toContain('"npx parley-server help"');
    expect((await parley(["help", "up"], { env: { PARLEY_PROGRAM: "/a b/parley" } })).stdout).toContain(
      "'/a b/parley' up",
    );
  });

  test("all messages name commands where they are recognised", () => {
    const files = [...new Bun.Glob("**/*.ts").scanSync(import.meta.dir)].filter(
      (name) => !/test|^declarations/.test(name),
    );
    const literals = files
      .flatMap((name) => readFileSync(join(import.meta.dir, name), "utf8").split("\n"))
      .filter((line) => !/^\s*(\/\*|\*|\/\/)|name: "parley doctor"/.test(line) && BARE.test(line));
    expect(literals.length).toBeGreaterThan(20);
    expect(literals.filter((line) => BARE.test(asCalled(line, "x")))).toEqual([]);
  });
});

test("config shows each setting and its source, and no secret", async () => {
  const file = join(folder, "parley.toml");
  writeFileSync(file, 'domain = "example.com"\n');
  const env = { PARLEY_ADMIN_TOKEN: "hush-hush-hush-hush", PARLEY_PRT: "1" };
  const args = ["config", "--port", "9000", "--config", file];
  const { stdout, stderr, exitCode } = await parley(args, { env });
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^port +9000 +flag$/m);
  expect(stdout).toMatch(/^domain +example\.com +file$/m);
  expect(stdout).toMatch(/^admin-token +\(hidden\) +environment$/m);
  expect(stdout).toMatch(/^host +0\.0\.0\.0; 127\.0\.0\.1 if the first start created the demo +default$/m);
  expect(stderr).toMatch(/^PARLEY_PRT is not a setting and has no effect\nA server started here, .*\n$/);
  const json = await parley([...args, "--json"], { env });
  expect(JSON.parse(json.stdout)).toMatchObject({
    port: { value: 9000, source: "flag" },
    "admin-token": { value: "(hidden)", source: "environment" },
  });
  expect(stdout + json.stdout).not.toContain("hush");
});

test("a wrong setting stops config and up, with its name and exit code 2", async () => {
  for (const command of ["config", "up"]) {
    const { exitCode, stdout, stderr } = await parley([command, "--port", "x", "--data", folder]);
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toBe('parley: --port is "x"; allowed: a whole number from 0 to 65535\n');
  }
  const unknown = await parley(["up", "--prot", "9000"]);
  expect([unknown.exitCode, unknown.stderr]).toEqual([2, expect.stringContaining("did you mean --port?")]);
});

test("up on a port in use ends with one line and exit code 1", async () => {
  using other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const args = ["up", "--host", "127.0.0.1", "--port", String(other.port), "--data", join(folder, "taken")];
  const { exitCode, stderr } = await parley(args);
  const sentence = `port ${other.port} of 127.0.0.1 is in use by another program; choose another port with --port, or stop that program`;
  expect([exitCode, stderr]).toEqual([1, `parley: ${sentence}\n`]);
});
