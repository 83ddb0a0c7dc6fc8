/** `parley operators …` and `parley audit`, as processes, against a running server. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { parley, withServer } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const cli = withServer();
const { run, json, jsonLines } = cli;

test("an operator is created, listed and revoked; its token works for the commands, and one of the role read changes nothing", async () => {
  const made = await run("operators create ann --role read");
  expect(made.stderr).toContain("shown only this once");
  expect(made.stderr).toContain("Commands take it as PARLEY_OPERATOR_TOKEN");
  const [, id = ""] = /^id +(\w+)$/m.exec(made.stdout) ?? [];
  const [, token = ""] = /^token +(op_[\w-]{48})$/m.exec(made.stdout) ?? [];
  const env = { ...cli.server.env, PARLEY_OPERATOR_TOKEN: token };
  expect((await parley(["apps", "list"], { env })).exitCode).toBe(0);
  const refused = await parley(["apps", "create", "refused"], { env });
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("ann has the role read")]);
  expect((await run("operators list")).stdout).toMatch(new RegExp(`^ann +${id} +read +`, "m"));
  expect((await run("operators revoke ann --yes")).stderr).toContain("have ended");
  const late = await parley(["apps", "list"], { env });
  expect([late.exitCode, late.stderr]).toEqual([1, expect.stringContaining("the operator's token of")]);
  expect((await run("operators revoke ann --yes")).stderr).toContain('there is no operator "ann"');
});

test("the audit lists changes, newest first, with filters and in pages", async () => {
  await json("apps create audited");
  await run("apps plan audited --max-connections 7");
  const list = (await run("audit --app audited")).stdout.trimEnd().split("\n");
  expect(list[0]).toMatch(/^TIME +WHO +WHAT +ON +APP +ADDRESS$/);
  expect(list[1]).toMatch(/admin +app edited +audited /);
  expect(list[2]).toMatch(/admin +app created +audited /);
  const first = await run("audit --app audited --limit 1");
  const after = /--after (\w+)/.exec(first.stderr)?.[1] ?? "";
  expect((await run(`audit --app audited --limit 1 --after ${after}`)).stdout).toContain("app created");
  const [newest, oldest] = await jsonLines<{ _id: string; what: string }>("audit --app audited");
  expect([newest?.what, oldest?.what]).toEqual(["app edited", "app created"]);
  expect(await jsonLines<unknown>(`audit --app audited --after ${newest?._id}`)).toEqual([oldest]);
  expect((await run("audit --who no-such")).stderr).toContain("no such changes");
});
