/** In a folder that others use, another user may have made ./data: commands give it no credentials, and take none from it. */
import { beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Ended } from "../testing/commands.ts";
import { parley, withServer } from "../testing/kit.ts";

setDefaultTimeout(60_000);

const OTHER_USER = 65_534;
const cli = withServer();
const shared = join(cli.folder, "shared");
const data = join(shared, "data");
const kept = join(data, "command-line");

/** With the address and the token of an operator, as someone has them exported. */
const here = (line: string, env: Record<string, string> = {}): Promise<Ended> =>
  parley(line.split(" "), {
    cwd: shared,
    env: { PARLEY_URL: cli.server.url, PARLEY_OPERATOR_TOKEN: cli.server.adminToken, PARLEY_DATA: "", ...env },
  });

const giveAway = (path: string): void => chownSync(path, OTHER_USER, OTHER_USER);

/** A file that everyone can read and write. */
const openFile = (path: string, text = ""): void => {
  writeFileSync(path, text);
  chmodSync(path, 0o666);
};

const keyCount = async (): Promise<number> => (await cli.jsonLines("keys list --app shop")).length;

const REMEDY =
  "belongs to another user: if that is the service's user, pass its data folder with --data or PARLEY_DATA";
const COMMANDS = ["usage --app shop", "rooms list --app shop"];

beforeEach(async () => {
  rmSync(shared, { recursive: true, force: true });
  mkdirSync(kept, { recursive: true });
  const apps = await cli.jsonLines<{ name: string }>("apps list");
  if (!apps.some(({ name }) => name === "shop")) await cli.json("apps create shop");
});

test("a credential is kept in a new file of the caller, whatever had its name", async () => {
  const [key, secret, elsewhere] = [join(kept, "shop.key"), join(kept, "shop.secret"), join(shared, "elsewhere")];
  openFile(key);
  openFile(elsewhere);
  symlinkSync(elsewhere, secret);
  for (const line of COMMANDS) expect([line, (await here(line)).exitCode]).toEqual([line, 0]);
  expect([statSync(key).mode & 0o777, readFileSync(key, "utf8").startsWith("sk_id_")]).toEqual([0o600, true]);
  expect([statSync(secret).mode & 0o777, readFileSync(secret, "utf8").length > 20]).toEqual([0o600, true]);
  expect(readFileSync(elsewhere, "utf8")).toBe("");
});

/** Only root can give a file away. */
describe.if(process.getuid?.() === 0)("of another user", () => {
  test.each([
    ["the folder", () => data, "the folder ./data"],
    ["the folder of kept credentials", () => kept, "data/command-line"],
    ["a kept credential", () => join(kept, "shop.key"), "data/command-line/shop.key"],
  ])("%s gets no credential", async (_, path, shown) => {
    for (const name of ["shop.key", "shop.secret"]) openFile(join(kept, name));
    giveAway(path());
    const before = await keyCount();
    const { exitCode, stdout, stderr } = await here("usage --app shop");
    expect([exitCode, stdout, stderr]).toEqual([2, "", expect.stringContaining(`${shown} ${REMEDY}`)]);
    for (const name of ["shop.key", "shop.secret"]) expect(readFileSync(join(kept, name), "utf8")).toBe("");
    expect(await keyCount()).toBe(before);
  });

  test("a link to a folder gets none either", async () => {
    rmSync(data, { recursive: true });
    mkdirSync(join(shared, "mine"));
    symlinkSync("mine", data);
    Bun.spawnSync(["chown", "-h", String(OTHER_USER), data]);
    expect((await here("usage --app shop")).stderr).toContain(`the folder ./data ${REMEDY}`);
  });

  test("first-run.txt gives no key that messages would be sent with, and no token", async () => {
    const file = join(data, "first-run.txt");
    writeFileSync(
      file,
      `    secret key       ${cli.server.secretKey}\n    admin token      ${cli.server.adminToken}\n`,
    );
    expect((await here("publish ops/alerts x")).exitCode).toBe(0);
    giveAway(file);
    for (const [line, env] of [
      ["publish ops/alerts x", {}],
      ["apps list", { PARLEY_OPERATOR_TOKEN: "" }],
    ] as const) {
      const { exitCode, stdout, stderr } = await here(line, env);
      expect([line, exitCode, stdout, stderr]).toEqual([
        line,
        2,
        "",
        expect.stringContaining(`data/first-run.txt ${REMEDY}`),
      ]);
    }
  });

  test("a folder is used where the caller names it: it is that of a service with a user of its own", async () => {
    for (const path of [data, kept]) giveAway(path);
    expect((await here("usage --app shop", { PARLEY_DATA: data })).exitCode).toBe(0);
    expect((await here(`rooms list --app shop --data ${data}`)).exitCode).toBe(0);
  });
});
