/** Commands that cannot be undone ask for confirmation, but only on a terminal. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { parleyCommand } from "../../test/support/command.ts";
import { Terminal } from "../../test/support/terminal.ts";
import { withServer } from "./testing/kit.ts";

setDefaultTimeout(60_000);

const cli = withServer();
const { run } = cli;

const onTerminal = (line: string): Terminal => new Terminal(parleyCommand(...line.split(" ")), cli.server.env);
const exists = async (app: string): Promise<boolean> => (await run(`apps show ${app}`)).exitCode === 0;

test.each(["n\n", "\n", "yesterday\n", "\u0004"])(
  "an application is not deleted when the answer is %p",
  async (answer) => {
    await run("apps create kept");
    await using terminal = onTerminal("apps delete kept");
    await terminal.shows(/Delete the application kept and revoke its keys\? This cannot be undone\. \[y\/N\] /);
    terminal.type(answer);
    expect(await terminal.exited).toBe(1);
    expect(terminal.text).toContain("nothing was changed");
    expect(await exists("kept")).toBe(true);
  },
);

test.each(["y\n", "YES\n"])("an application is deleted when the answer is %p", async (answer) => {
  await run("apps create gone");
  await using terminal = onTerminal("apps delete gone");
  await terminal.shows(/\[y\/N\] /);
  terminal.type(answer);
  expect(await terminal.exited).toBe(0);
  expect(await exists("gone")).toBe(false);
});

test("with --yes, or without a terminal, nothing is asked", async () => {
  await run("apps create first");
  await using terminal = onTerminal("apps delete first --yes");
  expect(await terminal.exited).toBe(0);
  expect(terminal.text).not.toContain("[y/N]");
  await run("apps create second");
  expect((await run("apps delete second")).exitCode).toBe(0);
  expect([await exists("first"), await exists("second")]).toEqual([false, false]);
});

test("a key is revoked only when the answer is yes", async () => {
  const [key = ""] = cli.server.secretKey.split(":");
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
