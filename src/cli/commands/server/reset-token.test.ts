/** `parley admin reset-token`, and admin tokens that a start refuses. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parley, startServer, temporaryFolder } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const folder = temporaryFolder();
const seed = join(folder, "seed");
let adminToken = "";
let appSecret = "";

beforeAll(async () => {
  const server = await startServer(seed);
  adminToken = server.adminToken;
  appSecret = server.env.PARLEY_APP_SECRET ?? "";
  await server.stop();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

let folders = 0;
/** A new data folder, with the store and the master key of the seed. */
function newData(): string {
  const data = join(folder, `data-${++folders}`);
  mkdirSync(data);
  for (const file of ["parley.sqlite", "master.key", "first-run.txt"]) copyFileSync(join(seed, file), join(data, file));
  return data;
}

test("a new admin token works, and the old one no longer does", async () => {
  const data = newData();
  const refused = await parley(["admin", "reset-token", "--data", data]);
  expect([refused.exitCode, refused.stdout, refused.stderr]).toEqual([2, "", expect.stringContaining("add --yes")]);
  const reset = await parley(["admin", "reset-token", "--data", data, "--yes"]);
  expect(reset.stderr).toBe("Save the admin token now: it is not shown again.\n");
  const env = { PARLEY_ADMIN_TOKEN: "set-by-the-operator" };
  const second = await parley(["admin", "reset-token", "--data", data, "--json", "--yes"], { env });
  expect(second.stderr).toContain("PARLEY_ADMIN_TOKEN is set: a server started with it uses that token");
  const { adminToken: newest } = JSON.parse(second.stdout) as { adminToken: string };
  const server = await startServer(data);
  try {
    const env = { PARLEY_URL: server.url, PARLEY_ADMIN_TOKEN: newest };
    const { stdout } = await parley(["audit", "--what", "admin token reset", "--json"], { env });
    const entries = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    const entry = { who: "command line", what: "admin token reset", on: "admin", app: null, address: null };
    expect(entries).toEqual([expect.objectContaining(entry), expect.objectContaining(entry)]);
    const codes = [newest, reset.stdout.trim(), adminToken].map(async (token) => {
      const { exitCode } = await parley(["apps", "list"], {
        env: { PARLEY_URL: server.url, PARLEY_ADMIN_TOKEN: token },
      });
      return exitCode;
    });
    expect(await Promise.all(codes)).toEqual([0, 1, 1]);
  } finally {
    await server.stop();
  }
});

test("a server is not set to the secret key of one of its applications as its admin token", async () => {
  const args = ["up", "--port", "0", "--data", newData()];
  const { exitCode, stderr } = await parley(args, { env: { PARLEY_ADMIN_TOKEN: appSecret } });
  expect([exitCode, stderr]).toEqual([
    2,
    expect.stringContaining("parley: PARLEY_ADMIN_TOKEN is the secret key of the application demo"),
  ]);
  expect(stderr).not.toContain(appSecret);
});
