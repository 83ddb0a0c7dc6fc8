/** Commands find the server that runs on a data folder, wherever it listens. Nothing is exported here, and no address is given. */
import { afterAll, afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { IS_FULL } from "../../../test/support/slack.ts";
import { DEFAULT_URL } from "../line/defaults.ts";
import { Input } from "../line/input.ts";
import { Commands, type Ended } from "../testing/commands.ts";
import { parley, startServer, type TestServer, temporaryFolder } from "../testing/kit.ts";
import { Running } from "../testing/running.ts";
import { applicationHost, serverUrl } from "./address.ts";
import { processMark } from "./process-mark.ts";
import { serverOn } from "./running-server.ts";

setDefaultTimeout(60_000);

let folder: string;
let data: string;
let server: TestServer | undefined;
const commands = new Commands();

afterAll(() => commands.stop());

beforeEach(() => {
  folder = join(temporaryFolder(), "a folder with spaces");
  mkdirSync(folder);
  data = join(folder, "data");
});

afterEach(async () => {
  await server?.stop("SIGKILL");
  server = undefined;
  rmSync(join(folder, ".."), { recursive: true, force: true });
});

const start = async (extra: readonly string[] = [], host = "127.0.0.1"): Promise<TestServer> => {
  server = await startServer(data, extra, host);
  return server;
};

/** As a user does: a process of its own, in the folder that contains `data`. */
const here = (line: string, env: Record<string, string> = {}): Promise<Ended> =>
  parley(line.split(" "), { cwd: folder, env: { PARLEY_DATA: "", ...env } });

const notes = (): string[] => (existsSync(join(data, "servers")) ? readdirSync(join(data, "servers")) : []);
const noteFile = (): string => join(data, "servers", notes()[0] ?? "none");
const note = (): Record<string, unknown> => JSON.parse(readFileSync(noteFile(), "utf8"));
const writeNote = (fields: Record<string, unknown>, name = "this-1.json"): void => {
  mkdirSync(join(data, "servers"), { recursive: true });
  writeFileSync(join(data, "servers", name), JSON.stringify({ domain: "localhost", host: hostname(), ...fields }));
};

const COMMANDS = ["keys list", "rooms list", "publish chat/1 hello", "usage"];

async function expectFound(lines = IS_FULL ? COMMANDS : COMMANDS.slice(0, 2)): Promise<void> {
  for (const line of lines) {
    const { exitCode, stderr } = await commands.run({ args: line.split(" "), env: { PARLEY_DATA: data } });
    expect([line, exitCode, exitCode === 0 ? "" : stderr]).toEqual([line, 0, ""]);
  }
}

const certificate = (name: string): string => join(import.meta.dir, "../../../test/fixtures/tls", name);

test("commands find a server on any port, until it stops; its note is for its owner only", async () => {
  const { url, stop } = await start();
  expect((await here("keys list")).exitCode).toBe(0);
  await expectFound([
    ...COMMANDS,
    "rooms create standup",
    "doctor",
    "token mint --peer ann",
    "verify --clients 2 --channels 1 --rate 5 --seconds 1",
  ]);
  expect((await here("rooms show standup")).stdout).toContain(`http://demo.localhost:${new URL(url).port}/standup`);
  const listening = new Running(["listen", "chat/1", "--data", data, "--count", "1"], {});
  await listening.has("stderr", "chat/1");
  await here("publish chat/1 found");
  expect([await listening.exited, listening.stdout.includes("found")]).toEqual([0, true]);
  expect([statSync(noteFile()).mode & 0o777, note().url]).toEqual([0o600, url]);
  expect(notes()).toHaveLength(1);
  await stop();
  expect(notes()).toEqual([]);
});

test("servers on one folder have a note each: commands find one that runs, whichever stops first", async () => {
  const { url, stop } = await start();
  // Stands for a second node of a cluster, which shares the folder and was started later.
  const second = Bun.spawn(["sleep", "600"]);
  const secondUrl = "http://127.0.0.1:1";
  const secondNote = { url: secondUrl, controlUrl: secondUrl, pid: second.pid, mark: processMark(second.pid) };
  writeNote(secondNote, "second-1.json");
  expect(serverOn(data, false)).toMatchObject({ state: "running", url: secondUrl });
  second.kill();
  await second.exited;
  expect(serverOn(data, false)).toMatchObject({ state: "running", url });
  await expectFound();
  writeNote({ ...secondNote, pid: process.pid, mark: processMark(process.pid) }, "second-1.json");
  await stop();
  expect(notes()).toEqual(["second-1.json"]);
  expect(serverOn(data, false)).toMatchObject({ state: "running", url: secondUrl });
});

test("the next start removes notes of killed servers of this machine, and keeps those of other machines", async () => {
  const fields = { url: "http://127.0.0.1:1", controlUrl: "http://127.0.0.1:1", pid: 1, mark: "ended" };
  writeNote(fields, "killed-1.json");
  writeNote({ ...fields, host: "another container" }, "container-1.json");
  await start();
  expect(notes().toSorted()).toEqual(["container-1.json", expect.stringMatching(/-\d+\.json$/)]);
  await expectFound(["keys list"]);
});

test("there are at most 100 notes: the oldest go first", async () => {
  const fields = { url: "http://127.0.0.1:1", controlUrl: "http://127.0.0.1:1", pid: 1, mark: "ended", host: "gone" };
  for (let at = 0; at < 105; at++) {
    writeNote(fields, `gone-${at}.json`);
    utimesSync(join(data, `servers/gone-${at}.json`), at, at);
  }
  await start();
  expect(notes()).toHaveLength(100);
  expect([notes().includes("gone-5.json"), notes().includes("gone-6.json")]).toEqual([false, true]);
});

const MORE = ["apps list", "token mint --peer a", "doctor", "listen chat/1"];

describe("on the folder of a server that does not run, nothing is sent to the default address:", () => {
  const GIVEN = { PARLEY_KEY: "sk_id_1:sk_secret_2", PARLEY_OPERATOR_TOKEN: "op_x", PARLEY_APP_SECRET: "x" };

  test.each([
    ["with what is in the folder", {}],
    ["with credentials of variables", GIVEN],
  ])("%s", async (_, env) => {
    const { stop } = await start();
    await stop();
    for (const line of IS_FULL ? [...COMMANDS, ...MORE] : ["publish chat/1 hello", "apps list"]) {
      const { exitCode, stdout, stderr } = await here(line, env);
      expect([line, exitCode, stdout, stderr]).toEqual([
        line,
        1,
        "",
        expect.stringMatching(
          /no server is running on \.\/data; start it with ".*parley up", or choose a server with --url or PARLEY_URL \(nothing was sent to http:\/\/127\.0\.0\.1:8080, the default\)\n$/,
        ),
      ]);
    }
    const json = await here("apps list --json", env);
    expect(JSON.parse(json.stderr)).toEqual({
      error: "unreachable",
      message: expect.stringContaining("no server is running on ./data;"),
    });
  });

  test("but a folder that only has the same name does not matter", () => {
    mkdirSync(join(data, "tables"), { recursive: true });
    expect(serverUrl(new Input([], new Map([["data", data]]), {}))).toBe(DEFAULT_URL);
  });
});

describe("commands find a server", () => {
  const ownAddress = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ internal, family }) => !internal && family === "IPv4")?.address;

  test.if(IS_FULL).each([
    ["on all addresses", "0.0.0.0", /^http:\/\/127\.0\.0\.1:/],
    ["on all addresses, IPv6 too", "::", /^http:\/\/\[::1\]:/],
    ["on another address of this machine", ownAddress ?? "127.0.0.2", /^http:\/\/[\d.]+:/],
  ])("%s", async (_, host, url) => {
    await start([], host);
    expect(note().url).toMatch(url);
    await expectFound();
  });

  test("with TLS, whose certificate is for another name", async () => {
    await start(["--tls-cert", certificate("one.crt"), "--tls-key", certificate("one.key")], "0.0.0.0");
    expect(note().url).toMatch(/^https:\/\/127\.0\.0\.1:/);
    await expectFound();
    expect((await here("doctor")).stderr).toContain("Checked the node");
    // Only where the server was found: an address that is given is checked.
    const { stderr } = await here("keys list", { PARLEY_URL: String(note().url) });
    expect(stderr).toContain("certificate");
  });

  test.if(IS_FULL)("with several workers", async () => {
    const { stop } = await start(["--workers", "2"]);
    await expectFound();
    await stop();
    expect(notes()).toEqual([]);
  });

  test("with a control plane and a domain of its own", async () => {
    await start(["--admin-listen", "127.0.0.1:0", "--domain", "meet.example"]);
    expect(note().controlUrl).not.toBe(note().url);
    await expectFound(["keys list", "rooms list", "usage", "doctor"]);
  });
});

test("after kill -9 the message names the note, and what to do; the next start on another port is found", async () => {
  const { url, stop } = await start();
  await stop("SIGKILL");
  const { pid } = note();
  for (const line of ["keys list", "rooms list", "publish chat/1 x"]) {
    const { exitCode, stderr } = await here(line);
    expect([line, exitCode]).toEqual([line, 1]);
    expect(stderr).toContain(`${notes()[0]} names ${url}, but the server that wrote it (process ${pid}) ended`);
    expect(stderr).toContain('parley up", or choose a server with --url or PARLEY_URL');
  }
  const second = await start();
  expect([notes().length, note().url]).toEqual([1, second.url]);
  await expectFound();
});

test("a note of a process whose number another program has now is not used", async () => {
  const seen: string[] = [];
  using other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: ({ url }) => Response.json({ n: seen.push(url) }) });
  const url = `http://127.0.0.1:${other.port}`;
  const fields = { url, controlUrl: url, pid: process.pid };
  for (const mark of ["", "another start", undefined]) {
    writeNote({ ...fields, mark });
    const { exitCode } = await here("keys list", { PARLEY_OPERATOR_TOKEN: "op_x" });
    expect([exitCode, seen]).toEqual([1, []]);
  }
  // The same with the mark of this process is used: the test is about the mark.
  writeNote({ ...fields, mark: processMark(process.pid) });
  await here("keys list", { PARLEY_OPERATOR_TOKEN: "op_x" });
  expect(seen).not.toEqual([]);
});

test.each(["http://203.0.113.5:81", "http://parley.example.com", "http://0.0.0.0:1", "file:///etc", "nothing"])(
  "a note that names %s sends nothing there",
  async (url) => {
    writeNote({ url, controlUrl: url, pid: process.pid, mark: processMark(process.pid) });
    const { exitCode, stderr } = await here("keys list", { PARLEY_OPERATOR_TOKEN: "op_x" });
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("servers/this-1.json ")]);
  },
);

/** Only root can give a file away. */
describe.if(process.getuid?.() === 0)("a note of another user", () => {
  const OTHER_USER = 65_534;
  const url = "http://127.0.0.1:7999";

  test("in a folder that the caller has not named is not used: it would send credentials to that user's program", () => {
    const theirs = Bun.spawn(["sleep", "600"], { uid: OTHER_USER });
    try {
      writeNote({ url, controlUrl: url, pid: theirs.pid, mark: processMark(theirs.pid) });
      chownSync(noteFile(), OTHER_USER, OTHER_USER);
      expect(serverOn(data, false)).toMatchObject({ state: "stopped", why: expect.stringContaining("another user") });
      expect(serverOn(data, true)).toMatchObject({ state: "running", url });
    } finally {
      theirs.kill();
    }
  });

  test("is not used either if the process it names is not that user's", () => {
    writeNote({ url, controlUrl: url, pid: process.pid, mark: processMark(process.pid) });
    chownSync(noteFile(), OTHER_USER, OTHER_USER);
    expect(serverOn(data, true)).toMatchObject({ state: "stopped", why: expect.stringContaining("another user") });
  });
});

test("the domain of a note is only named to the server, and never called", () => {
  const url = "http://127.0.0.1:7999";
  writeNote({ url, controlUrl: url, pid: process.pid, mark: processMark(process.pid), domain: "evil.example" });
  const input = new Input([], new Map([["data", data]]), {});
  expect(applicationHost(input)).toEqual({ base: url, host: "demo.evil.example:7999" });
  const named = "http://x.localhost:7999";
  writeNote({ url: named, controlUrl: named, pid: process.pid, mark: processMark(process.pid) });
  expect(serverOn(data, true)).toMatchObject({ state: "stopped" });
});

test("--url and PARLEY_URL come first; if nothing answers there, the message names the server that runs", async () => {
  const { url } = await start();
  const nowhere = "http://127.0.0.1:1";
  const byVariable = await here("keys list", { PARLEY_URL: nowhere });
  expect(byVariable.stderr).toContain(
    `PARLEY_URL is this address, but the server of ./data is at ${url}: unset PARLEY_URL`,
  );
  const byFlag = await here(`publish chat/1 x --url ${nowhere}`);
  expect(byFlag.stderr).toContain(`--url is this address, but the server of ./data is at ${url}: leave --url out`);
  expect((await here(`keys list --url ${url}`, { PARLEY_URL: nowhere })).exitCode).toBe(0);
});

test("a second start on the same folder fails, names the first and leaves its note; a backup does not contain it", async () => {
  const { url, stop } = await start();
  for (const line of ["up --port 0", "up --port 0 --workers 2", "admin reset-token"])
    expect(await here(line)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(`is using ${data}: it serves ${url} (process ${note().pid}); stop it first`),
    });
  expect(note().url).toBe(url);
  await expectFound(["keys list"]);
  await stop("SIGKILL");
  expect((await here("backup b.backup")).exitCode).toBe(0);
  expect((await here("restore b.backup --data restored --without-master-key")).exitCode).toBe(0);
  expect(existsSync(join(folder, "restored/servers"))).toBe(false);
});
