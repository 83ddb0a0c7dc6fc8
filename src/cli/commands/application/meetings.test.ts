/** `parley rooms open|meetings|meeting|end|record|stop-recording|remove` as a process, against a running server with a participant inside. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { welcomed } from "../../../../test/support/wire/connect.ts";
import type { Wire } from "../../../../test/support/wire/wire.ts";
import { withServer } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const cli = withServer();
const { run, json, jsonLines } = cli;

/** Joins with the token of a link, and connects. */
async function enter(url: string): Promise<{ readonly wire: Wire; readonly id: string; readonly meeting: string }> {
  const [page = "", token = ""] = url.split("#token=");
  const response = await fetch(`${cli.server.url}/api/v1/room/${page.split("/").at(-1)}/join`, {
    method: "POST",
    headers: { Host: new URL(page).host, "Content-Type": "application/json" },
    body: JSON.stringify({ token }),
  });
  const {
    participantSession: id,
    meetingSession: meeting,
    connect,
  } = (await response.json()) as {
    participantSession: string;
    meetingSession: string;
    connect: { token: string };
  };
  return { wire: await welcomed(cli.server.url, `token=${connect.token}`), id, meeting };
}

test("a host enters with the printed link, is listed, and is removed; a meeting is ended", async () => {
  await json("rooms create standup --privacy private");
  const opened = await run("rooms open standup --name Alice");
  expect(opened.exitCode).toBe(0);
  const { port } = new URL(cli.server.url);
  const plain = `http://demo.localhost:${port}/standup`;
  expect(opened.stdout).toMatch(new RegExp(`^${plain}#token=[\\w.-]+\\n$`));
  expect(opened.stderr).toMatch(
    new RegExp(`^Anyone who opens it joins as an admin, until .*Z\\. Others enter at ${plain}\\n$`),
  );
  const alice = await enter(opened.stdout.trim());
  const one = `rooms meeting ${alice.meeting}`;
  expect((await run("rooms meetings --active")).stdout).toMatch(
    new RegExp(`^${alice.meeting} +standup +.*goes on`, "m"),
  );
  expect((await run(one)).stdout).toMatch(new RegExp(`^${alice.id} +Alice +- +admin +.* +- +inside$`, "m"));
  expect((await run("rooms record standup")).stdout).toBe("Recording the meeting; all participants can see that.\n");
  expect((await run(one)).stdout).toMatch(/^recording +since .*Z, started by the service$/m);
  expect((await run("rooms meetings standup")).stdout).toMatch(/ records$/m);
  expect((await run("rooms stop-recording standup")).stdout).toBe("Recording stopped.\n");
  expect((await run(one)).stdout).toMatch(/^recording +no$/m);
  const removed = await run(`rooms remove standup ${alice.id}`);
  expect([removed.exitCode, removed.stdout]).toEqual([0, "Participant successfully removed.\n"]);
  expect(await alice.wire.closed()).toMatchObject({ code: 4021, reason: "removed" });
  expect((await run(one)).stdout).toMatch(/ removed$/m);

  const { url, expiresAt } = await json<{ url: string; expiresAt: number }>("rooms open standup --name Bob");
  expect(expiresAt * 1000 - Date.now()).toBeWithin(14 * 60_000, 15 * 60_000 + 1);
  const bob = await enter(url);
  expect((await run("rooms end standup --yes")).stdout).toBe("The meeting has ended; 1 person was inside.\n");
  expect(await bob.wire.closed()).toMatchObject({ code: 4021, reason: "ended" });
  expect((await run("rooms end standup --yes")).stdout).toBe("The room was empty.\n");
  expect(await jsonLines("rooms meetings standup --active")).toEqual([]);
  expect(await jsonLines("rooms meetings standup --limit 1")).toMatchObject([{ active: false }]);
});

test("a link for a host is valid for as long as asked", async () => {
  await json("rooms create weekly");
  const { expiresAt } = await json<{ expiresAt: number }>("rooms open weekly --valid 7d");
  expect(expiresAt - Date.now() / 1000).toBeWithin(7 * 86_400 - 60, 7 * 86_400 + 1);
  for (const wrong of ["91d", "0", "soon"])
    expect(await run(`rooms open weekly --valid ${wrong}`)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(`--valid is "${wrong}"`),
    });
});

test("a room that is over, and one that does not exist, have no link", async () => {
  await json("rooms create late --expires 2020-01-31T18:00:00Z");
  const late = await run("rooms open late");
  expect([late.exitCode, late.stdout, late.stderr]).toEqual([1, "", expect.stringContaining("late has expired")]);
  expect(await run("rooms open none")).toMatchObject({
    exitCode: 1,
    stdout: "",
    stderr: 'parley: room not found; "parley rooms list" lists them\n',
  });
  expect((await run("rooms meetings none")).stderr).toBe("No meetings match.\n");
  expect((await run(`rooms remove late ${"0".repeat(24)}`)).exitCode).toBe(1);
});
