/** What another user of the machine may have put where a server is started, or where a command works on the store of one. */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parley, startServer, temporaryFolder } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const OTHER_USER = 65_534;
let folder: string;
let data: string;

beforeEach(() => {
  folder = temporaryFolder();
  data = join(folder, "data");
  mkdirSync(data);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a first start writes secrets to new files, whatever had their names", async () => {
  const prepared = ["first-run.txt", "master.key.new", "workers.json"].map((name) => join(data, name));
  for (const path of prepared) {
    writeFileSync(path, "");
    chmodSync(path, 0o666);
  }
  const { stop } = await startServer(data, ["--workers", "2"]);
  const modes = Object.fromEntries(
    ["first-run.txt", "master.key", "workers.json"].map((name) => [name, statSync(join(data, name)).mode & 0o777]),
  );
  await stop();
  expect(modes).toEqual({ "first-run.txt": 0o600, "master.key": 0o600, "workers.json": 0o600 });
  expect(readFileSync(join(data, "first-run.txt"), "utf8")).toContain("admin token");
  expect(readdirSync(data).filter((name) => name.endsWith(".partial"))).toEqual([]);
});

/** Only root can give a folder away. */
describe.if(process.getuid?.() === 0)("a ./data of another user", () => {
  beforeEach(() => chownSync(data, OTHER_USER, OTHER_USER));

  test.each([
    "up --port 0",
    "up --port 0 --workers 2",
    "backup b.sqlite",
    "restore b.sqlite",
    "admin reset-token --yes",
    "reload",
  ])("is not used by: parley %s", async (line) => {
    const { exitCode, stdout, stderr } = await parley(line.split(" "), { cwd: folder, env: { PARLEY_DATA: "" } });
    expect([exitCode, stdout, stderr]).toEqual([
      2,
      "",
      expect.stringMatching(/the folder .*\/data belongs to another user.* pass the folder with --data or PARLEY_DATA/),
    ]);
    expect(readdirSync(data)).toEqual([]);
  });

  test("is used where it is named", async () => {
    const { stop } = await startServer(data);
    await stop();
    expect(readdirSync(data)).toContain("parley.sqlite");
  });
});

/** As a service with a user of its own, on which root runs commands. */
describe.if(process.getuid?.() === 0 && process.platform === "linux")(
  "what root does in the folder of a service",
  () => {
    const give = (): void => void Bun.spawnSync(["chown", "-R", `${OTHER_USER}:${OTHER_USER}`, data]);
    const notTheirs = (): string[] =>
      readdirSync(data, { recursive: true, encoding: "utf8" }).filter(
        (name) => statSync(join(data, name)).uid !== OTHER_USER,
      );

    test("belongs to its user afterwards: a restore", async () => {
      const { stop } = await startServer(data);
      await stop();
      const file = join(folder, "x.backup");
      expect((await parley(["backup", file, "--data", data])).exitCode).toBe(0);
      give();
      expect((await parley(["restore", file, "--data", data, "--yes"])).exitCode).toBe(0);
      expect(readdirSync(data)).toContain("before-restore");
      expect(notTheirs()).toEqual([]);
    });
  },
);
