/** `parley rooms …` as a process, against a running server. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { TOKEN_FIELD_NAMES } from "../../line/field-names.ts";
import { shell, withServer } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

/** The rate of an application is per second. */
const RATE_PERIOD_MS = 1000;

const cli = withServer();
const { folder, run, runWith, json, jsonLines } = cli;

test("a room is created, shown, listed, changed, renamed and archived", async () => {
  const made = await run(
    'rooms create board --privacy private --expires 2030-01-31T18:00:00Z --max-participants 5 --fields {"enableChat":false}',
  );
  expect([made.exitCode, made.stderr]).toEqual([0, ""]);
  expect(made.stdout).toMatch(/^privacy +private$/m);
  expect(made.stdout).toMatch(/^expireUnixSec +2030-01-31 18:00:00Z$/m);
  expect(made.stdout).toMatch(/^enableChat +false$/m);
  expect(made.stdout).toMatch(/^created +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$/m);
  const room = await json("rooms show board");
  expect(room).toMatchObject({ roomName: "board", expireUnixSec: 1_896_112_800, maxParticipants: 5 });
  expect((await run("rooms list")).stdout).toMatch(/^board +\w{24} +private +- +2030-01-31 18:00:00Z +- /m);
  expect((await run("rooms show board")).stdout).toMatch(/^app +demo$/m);
  const changed = await json("rooms edit board --rename council --expires none --max-participants none");
  expect(changed).toMatchObject({ _id: room._id, roomName: "council", enableChat: false });
  expect(changed).not.toHaveProperty("expireUnixSec");
  expect(changed).not.toHaveProperty("maxParticipants");
  const gone = await run("rooms delete council --yes");
  expect([gone.exitCode, gone.stdout, gone.stderr]).toEqual([0, "Room successfully archived.\n", ""]);
  expect(await run("rooms show council")).toMatchObject({
    exitCode: 1,
    stderr: 'parley: room not found; "parley rooms list" lists them\n',
  });
});

test("a field that there is not is refused, with the one that was probably meant", async () => {
  await json("rooms create typo");
  const room = '--fields={"recordRom":true}';
  const token = '--fields={"isadmn":true}';
  for (const [line, fields, message] of [
    ["rooms create typo2", room, '"recordRom"; did you mean "recordRoom"?'],
    ["rooms edit typo", room, '"recordRom"; did you mean "recordRoom"?'],
    ["rooms edit typo", '--fields={"enableChat":false,"a, b é":1}', '"a, b é".'],
    ["rooms token typo", token, '"isadmn"; did you mean "isAdmin"?'],
  ] as const) {
    const { exitCode, stdout, stderr } = await run(line, fields);
    const said = `parley: --fields has no field ${message} See docs/rooms.md\n`;
    expect([line, exitCode, stdout, stderr]).toEqual([line, 2, "", said]);
  }
  expect((await run("rooms show typo2")).exitCode).toBe(1);
  expect((await json("rooms show typo")).enableChat).not.toBe(false);
});

test("--fields that is no JSON object gets an example that can be used", async () => {
  for (const line of ["rooms create example", "rooms token"]) {
    const wrong = await run(line, "--fields", "nope");
    const [, example = ""] = /such as '(.*)'/.exec(wrong.stderr) ?? [];
    expect([wrong.exitCode, (await run(line, "--fields", example)).exitCode]).toEqual([2, 0]);
  }
});

test("a field that the server is too old to know is named on stderr", async () => {
  using old = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () =>
      Response.json({ roomName: "a", created: "" }, { headers: { "X-Parley-Ignored": "recordRoom, a%2C%20b" } }),
  });
  const { exitCode, stderr } = await runWith({ PARLEY_URL: `http://127.0.0.1:${old.port}` }, "rooms create a");
  expect([exitCode, stderr]).toEqual([
    0,
    'This server does not know the field "recordRoom" and ignored it.\nThis server does not know the field "a, b" and ignored it.\n',
  ]);
});

test("the server knows every field of access tokens that is suggested", async () => {
  await json("rooms create all-fields");
  const values: Record<string, unknown> = {
    roomURL: "https://example.com/all-fields",
    externalUserId: "1",
    name: "Ann",
    email: "a@b.example",
    meta: "x",
    expireUnixSec: 2_000_000_000,
    notBeforeUnixSec: 1_000_000_000,
    ejectAfterElapsedTimeInSec: 60,
  };
  const all = Object.fromEntries(TOKEN_FIELD_NAMES.map((name) => [name, values[name] ?? true]));
  const minted = await run("rooms token all-fields", `--fields=${JSON.stringify(all)}`);
  expect([minted.exitCode, minted.stderr]).toEqual([0, "It is valid for all-fields.\n"]);
});

test("the text of a room has the address of its page, and the JSON is what the API answers", async () => {
  const page = `http://demo.localhost:${new URL(cli.server.url).port}/lounge`;
  for (const line of ["rooms create lounge", "rooms show lounge", "rooms edit lounge --lang de"])
    expect((await run(line)).stdout).toMatch(new RegExp(`^page +${page}$`, "m"));
  expect(await json("rooms show lounge")).not.toHaveProperty("page");
});

test("a list of several pages is complete", async () => {
  const url = cli.server.url;
  const key = cli.server.env.PARLEY_APP_SECRET ?? "";
  for (let i = 0; i < 103; i++) {
    const made = await fetch(`${url}/api/v1/room`, {
      method: "POST",
      headers: { Host: "demo.localhost", Authorization: `Bearer ${key}` },
      body: JSON.stringify({ roomName: `many-${i}` }),
    });
    // The rate is 100 requests per second.
    if (made.status === 429) await Bun.sleep(1000 * Number(made.headers.get("retry-after")));
  }
  // The list must not be the request that is one too many.
  await Bun.sleep(RATE_PERIOD_MS);
  const names = (await jsonLines<{ roomName: string }>("rooms list"))
    .map((room) => room.roomName)
    .filter((name) => name.startsWith("many-"));
  expect(names.length).toBeGreaterThan(100);
  expect(new Set(names).size).toBe(names.length);
});

test("an access token can be piped from one command to another", async () => {
  await json("rooms create standup");
  const good = await shell(
    "parley rooms token standup --name Alice --admin | parley rooms check - --room standup",
    cli.server.env,
  );
  expect([good.exitCode, good.stdout]).toEqual([0, expect.stringMatching(/^token +good$/m)]);
  expect(good.stdout).toMatch(/^isAdmin +true$/m);
  expect(good.stdout).toMatch(/^appName +demo$/m);
  const bad = await run("rooms check not.a.token");
  expect([bad.exitCode, bad.stdout]).toEqual([1, expect.stringMatching(/^token +refused$/m)]);
});

test("the address may be that of the server or of the application", async () => {
  const { port } = new URL(cli.server.url);
  for (const host of ["127.0.0.1", "localhost", "demo.localhost"]) {
    const { exitCode, stderr } = await runWith({ PARLEY_URL: `http://${host}:${port}/` }, "rooms list");
    expect([exitCode, stderr]).toEqual([0, ""]);
  }
});

test("the secret key comes from the environment or a file, and the error about a wrong one says from where", async () => {
  const file = join(folder, "secret");
  writeFileSync(file, `${cli.server.env.PARLEY_APP_SECRET}\n`);
  expect((await runWith({ PARLEY_APP_SECRET: "" }, `rooms list --app-secret-file ${file}`)).exitCode).toBe(0);
  const none = await runWith({ PARLEY_APP_SECRET: "" }, "rooms list");
  expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining("PARLEY_APP_SECRET")]);
  const wrong = await runWith({ PARLEY_APP_SECRET: "x".repeat(48) }, "rooms list");
  expect([wrong.exitCode, wrong.stderr]).toEqual([1, expect.stringContaining("PARLEY_APP_SECRET")]);
  expect(wrong.stderr).not.toContain("x".repeat(48));
  const other = await run("rooms list --app unknown");
  expect([other.exitCode, other.stderr]).toEqual([1, expect.stringContaining("there is no such application")]);
});

test.each([
  ["rooms create --privacy secret", "--privacy is"],
  ["rooms create --expires tomorrow", "--expires is"],
  ["rooms create --expires 2030-01-31", "--expires is"],
  ["rooms create --delete-on-expiry yes", "--delete-on-expiry is"],
  ["rooms create --max-participants many", "--max-participants is"],
  ["rooms show a/../b", "is not the name of a room"],
  ["rooms edit standup", "nothing to change"],
  ["rooms list --app Demo.x", "is not a valid application name"],
])("%s is refused without a request", async (line, message) => {
  const { exitCode, stderr } = await run(line);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
});
