/** `parley rooms …` as a process, against a server that runs. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Ended, parley, shell, startServer, type TestServer, temporaryFolder } from "./testing/kit.ts";

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

const run = (line: string, env: Record<string, string> = {}): Promise<Ended> =>
  parley(line.split(" "), { env: { ...server.env, ...env } });

async function json<T = Record<string, unknown>>(line: string): Promise<T> {
  const { stdout, stderr, exitCode } = await run(`${line} --json`);
  expect([exitCode, exitCode === 0 ? "" : stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as T;
}

test("a room is made, shown, listed, changed, renamed and archived", async () => {
  const made = await run(
    'rooms create board --privacy private --expires 2030-01-31T18:00:00Z --max-participants 5 --fields {"enableChat":false}',
  );
  expect([made.exitCode, made.stderr]).toEqual([0, ""]);
  expect(made.stdout).toMatch(/^privacy +private$/m);
  expect(made.stdout).toMatch(/^expireUnixSec +2030-01-31 18:00:00Z$/m);
  expect(made.stdout).toMatch(/^enableChat +false$/m);
  const room = await json("rooms show board");
  expect(room).toMatchObject({ roomName: "board", expireUnixSec: 1_896_112_800, maxParticipants: 5 });
  expect((await run("rooms list")).stdout).toMatch(/^board +\w{24} +private +- +2030-01-31 18:00:00Z +- /m);
  const changed = await json("rooms edit board --rename council --expires none --max-participants none");
  expect(changed).toMatchObject({ _id: room._id, roomName: "council", enableChat: false });
  expect(changed).not.toHaveProperty("expireUnixSec");
  expect(changed).not.toHaveProperty("maxParticipants");
  const gone = await run("rooms delete council");
  expect([gone.exitCode, gone.stdout, gone.stderr]).toEqual([0, "", "Room successfully archived.\n"]);
  expect(await run("rooms show council")).toMatchObject({ exitCode: 1, stderr: "parley: room not found\n" });
});

test("a list longer than a page comes whole", async () => {
  const env = `${server.env.PARLEY_URL}`;
  const key = server.env.PARLEY_APP_SECRET ?? "";
  for (let i = 0; i < 103; i++) {
    const made = await fetch(`${env}/api/v1/room`, {
      method: "POST",
      headers: { Host: "demo.localhost", Authorization: `Bearer ${key}` },
      body: JSON.stringify({ roomName: `many-${i}` }),
    });
    // The rate is 100 a second.
    if (made.status === 429) await Bun.sleep(1000 * Number(made.headers.get("retry-after")));
  }
  const { data } = await json<{ data: { roomName: string }[] }>("rooms list");
  const names = data.map((room) => room.roomName).filter((name) => name.startsWith("many-"));
  expect(names.length).toBeGreaterThan(100);
  expect(new Set(names).size).toBe(names.length);
});

test("an access token goes from one command to the other", async () => {
  await json("rooms create standup");
  const good = await shell(
    "parley rooms token standup --name Alice --admin | parley rooms check - --room standup",
    server.env,
  );
  expect([good.exitCode, good.stdout]).toEqual([0, expect.stringMatching(/^token +good$/m)]);
  expect(good.stdout).toMatch(/^isAdmin +true$/m);
  expect(good.stdout).toMatch(/^appName +demo$/m);
  const bad = await run("rooms check not.a.token");
  expect([bad.exitCode, bad.stdout]).toEqual([1, expect.stringMatching(/^token +refused$/m)]);
});

test("the server may be named by its own address or by the application's", async () => {
  const { port } = new URL(server.url);
  for (const host of ["127.0.0.1", "localhost", "demo.localhost"]) {
    const { exitCode, stderr } = await run("rooms list", { PARLEY_URL: `http://${host}:${port}/` });
    expect([exitCode, stderr]).toEqual([0, ""]);
  }
});

test("the secret key comes from the environment or a file, never from an argument, and a wrong one is named", async () => {
  const file = join(folder, "secret");
  writeFileSync(file, `${server.env.PARLEY_APP_SECRET}\n`);
  expect((await run(`rooms list --app-secret-file ${file}`, { PARLEY_APP_SECRET: "" })).exitCode).toBe(0);
  const none = await run("rooms list", { PARLEY_APP_SECRET: "" });
  expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining("PARLEY_APP_SECRET")]);
  const wrong = await run("rooms list", { PARLEY_APP_SECRET: "x".repeat(48) });
  expect([wrong.exitCode, wrong.stderr]).toEqual([1, expect.stringContaining("PARLEY_APP_SECRET")]);
  expect(wrong.stderr).not.toContain("x".repeat(48));
  const other = await run("rooms list --app nobody");
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
  ["rooms list --app Demo.x", "is not the name of an application"],
])("%s is refused before anything is asked", async (line, message) => {
  const { exitCode, stderr } = await run(line);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
});
