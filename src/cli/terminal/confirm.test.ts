/** Commands that delete or end something ask for confirmation. Without a terminal they need --yes. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parleyCommand } from "../../../test/support/command.ts";
import { Terminal } from "../../../test/support/terminal.ts";
import { withServer } from "../testing/kit.ts";

setDefaultTimeout(60_000);

const cli = withServer();
const { run, json, jsonLines } = cli;

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

test("with --yes nothing is asked", async () => {
  await run("apps create first");
  await using terminal = onTerminal("apps delete first --yes");
  expect(await terminal.exited).toBe(0);
  expect(terminal.text).not.toContain("[y/N]");
  expect(await exists("first")).toBe(false);
});

test("without a terminal and without --yes, nothing is deleted or ended", async () => {
  const app = await json<{ name: string; secretKey: string }>("apps create second");
  const { keyId } = await json<{ keyId: string }>(
    "keys create --app second --type secret --channels ** --actions publish",
  );
  const operator = await json<{ _id: string }>("operators create ann --role read");
  await json("rooms create standup");
  const file = join(cli.folder, "talk.webm");
  writeFileSync(file, "talk");
  const recording = await json<{ _id: string }>(`recordings upload ${file} --room standup --username ann`);
  const lines: readonly [line: string, what: string][] = [
    ["apps delete second", "delete the application second and revoke its keys"],
    ["apps rotate-secret second --grace 0", "end the current app secret of second"],
    ["apps rotate-secret second --retire-previous", "end the current app secret of second"],
    ["apps plan second --retention-days 30", "recordings that were completed more than 30 days ago"],
    ["apps plan second --meeting-retention-days 7", "meetings that ended more than 7 days ago"],
    ["apps plan second --max-history-bytes 2097152", "the oldest stored messages beyond 2097152 bytes"],
    [`keys revoke ${keyId}`, `revoke the key ${keyId} and end its connections`],
    [`keys rotate ${keyId} --grace 0`, `end the current secret of ${keyId}`],
    [`keys rotate ${keyId} --retire-previous`, `end the current secret of ${keyId}`],
    ["operators revoke ann", "revoke the operator ann and end its sessions"],
    ["rooms delete standup", "delete the room standup"],
    ["rooms end standup", "end the meeting of standup for everyone"],
    [`recordings delete ${recording._id}`, `delete the recording ${recording._id} and its file`],
  ];
  for (const [line, what] of lines) {
    const { exitCode, stdout, stderr } = await run(line);
    expect([line, exitCode, stdout]).toEqual([line, 2, ""]);
    expect(stderr).toStartWith(
      "parley: nothing was changed, because there is no terminal to ask for confirmation: add --yes to ",
    );
    expect(stderr).toContain(what);
  }
  expect(await json("apps secret second")).toEqual({ secretKey: app.secretKey });
  expect(await json("apps show second")).toMatchObject({ retentionDays: null, meetingRetentionDays: 90 });
  expect(await json(`keys show ${keyId}`)).toMatchObject({ revoked: null, rotated: null });
  expect(await jsonLines("operators list")).toMatchObject([{ _id: operator._id }]);
  expect(await json("rooms show standup")).toMatchObject({ roomName: "standup" });
  expect(await json(`recordings show ${recording._id}`)).toMatchObject({ _id: recording._id });
  // A longer time, a larger history and a rotation with a grace period delete and end nothing.
  for (const line of ["apps plan second --meeting-retention-days 91", `keys rotate ${keyId} --grace 60`])
    expect((await run(line)).exitCode).toBe(0);
});

test("nothing is asked about what does not exist", async () => {
  await using terminal = onTerminal("apps delete stroe");
  expect(await terminal.exited).toBe(1);
  expect(terminal.text).toContain("There is no such application");
  expect(terminal.text).not.toContain("[y/N]");
  for (const [line, message] of [
    ["apps delete stroe", "There is no such application"],
    ["apps rotate-secret stroe --grace 0", "There is no such application"],
    ["keys revoke sk_id_none", "There is no such key"],
    ["keys rotate sk_id_none --grace 0", "There is no such key"],
    ["rooms delete stroe", "room not found"],
    ["rooms end stroe", "room not found"],
    ["recordings delete 0123456789abcdef01234567", "ecording"],
    ["operators revoke stroe", "there is no operator"],
  ] as const) {
    const { exitCode, stderr } = await run(line);
    expect([line, exitCode, stderr]).toEqual([line, 1, expect.stringContaining(message)]);
    expect(stderr).not.toContain("--yes");
  }
});

test("a question that cannot be seen counts as none", async () => {
  await run("apps create third");
  const hidden = `${parleyCommand("apps", "delete", "third").join(" ")} 2>/dev/null`;
  await using terminal = new Terminal(["sh", "-c", hidden], cli.server.env);
  expect(await terminal.exited).toBe(2);
  expect(await exists("third")).toBe(true);
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
