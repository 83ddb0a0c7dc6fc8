/** What cannot be undone is asked for first, on a terminal and only there. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { Terminal } from "../../test/support/terminal.ts";
import { parley, startServer, type TestServer, temporaryFolder } from "./testing/kit.ts";

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

const onTerminal = (line: string): Terminal =>
  new Terminal([process.execPath, "--no-env-file", "src/main.ts", ...line.split(" ")], server.env);
const run = (line: string) => parley(line.split(" "), { env: server.env });
const isThere = async (app: string): Promise<boolean> => (await run(`apps show ${app}`)).exitCode === 0;

test.each(["n\n", "\n", "yesterday\n", "\u0004"])(
  "an application is not deleted when the answer is %p",
  async (answer) => {
    await run("apps create kept");
    await using terminal = onTerminal("apps delete kept");
    await terminal.shows(/Delete the application kept and revoke its keys\? It cannot be undone\. \[y\/N\] /);
    terminal.type(answer);
    expect(await terminal.exited).toBe(1);
    expect(terminal.text).toContain("nothing was changed");
    expect(await isThere("kept")).toBe(true);
  },
);

test.each(["y\n", "YES\n"])("it is when the answer is %p", async (answer) => {
  await run("apps create gone");
  await using terminal = onTerminal("apps delete gone");
  await terminal.shows(/\[y\/N\] /);
  terminal.type(answer);
  expect(await terminal.exited).toBe(0);
  expect(await isThere("gone")).toBe(false);
});

test("--yes asks nothing, and neither does a script", async () => {
  await run("apps create first");
  await using terminal = onTerminal("apps delete first --yes");
  expect(await terminal.exited).toBe(0);
  expect(terminal.text).not.toContain("[y/N]");
  await run("apps create second");
  expect((await run("apps delete second")).exitCode).toBe(0);
  expect([await isThere("first"), await isThere("second")]).toEqual([false, false]);
});

test("a key is revoked only when the answer is yes", async () => {
  const [key = ""] = server.secretKey.split(":");
  for (const [answer, exitCode, revoked] of [
    ["n\n", 1, null],
    ["y\n", 0, expect.any(Number)],
  ] as const) {
    await using terminal = onTerminal(`keys revoke ${key}`);
    await terminal.shows(new RegExp(`Revoke the key ${key} and end its connections\\? .*\\[y/N\\] `));
    terminal.type(answer);
    expect(await terminal.exited).toBe(exitCode);
    expect(JSON.parse((await run(`keys show ${key} --json`)).stdout)).toMatchObject({ revoked });
  }
});
