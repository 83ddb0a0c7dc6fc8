/** `parley operators …` and `parley audit`, as processes, against a running server. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { parley, withServer } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const cli = withServer();
const { run, json, jsonLines } = cli;

test("an operator is created, listed and revoked; its token works for the commands, and one of the role read changes nothing", async () => {
  const made = await run("operators create ann --role read");
  expect(made.stderr).toContain("it is not shown again");
  expect(made.stderr).toContain("Commands read it from PARLEY_OPERATOR_TOKEN");
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
  expect(newest).toMatchObject({ app: expect.stringMatching(/^[0-9a-f]{24}$/), appName: "audited" });
  expect((await run("audit --who no-such")).stderr).toContain("No changes match");
});

test("people see the name of an application, also of a deleted one where an entry has it; JSON has the id too", async () => {
  const { _id } = await json<{ _id: string }>("apps create named");
  const made = await run("keys create --app named --type secret --channels ** --actions publish");
  const [, key = ""] = /^key +(sk_id_\w+)$/m.exec(made.stdout) ?? [];
  const [, secret = ""] = /^secret +(\S+)$/m.exec(made.stdout) ?? [];
  const { token } = await json<{ token: string }>("token mint --peer ann --key", `${key}:${secret}`);
  const texts = [made, await run(`keys show ${key}`), await run(`keys edit ${key} --label x`)];
  texts.push(await run(`token check ${token}`), await run(`keys revoke ${key} --yes`));
  for (const { stdout } of texts) expect(/^app +(\S+)$/m.exec(stdout)?.[1]).toBe("named");
  expect(await json(`keys show ${key}`)).toMatchObject({ app: _id });
  expect((await run("audit --app named")).stdout).not.toContain(_id);
  await run("apps delete named --yes");
  // By its id: names of deleted applications are free again.
  const whole = await run(`audit --app ${_id}`);
  expect([whole.stdout.includes("key revoked"), whole.stdout.includes(_id)]).toEqual([true, false]);
  const page = await run(`audit --app ${_id} --what`, "key created");
  expect(page.stdout).toContain(` ${_id} `);
});
