/** Commands find a service that the same user runs, from any folder and on any port, and nothing that others have prepared. */
import { afterAll, afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { parleyCommand } from "../../../test/support/command.ts";
import { Terminal } from "../../../test/support/terminal.ts";
import { Commands, type Ended } from "../testing/commands.ts";
import { startServer, type TestServer, temporaryFolder } from "../testing/kit.ts";
import { processMark } from "./process-mark.ts";
import { noteForUser, servicesOfUser } from "./user-services.ts";

setDefaultTimeout(60_000);

let folder: string;
let runtime: string;
let servers: TestServer[] = [];
const commands = new Commands();

beforeEach(() => {
  folder = temporaryFolder();
  runtime = join(folder, "runtime");
  mkdirSync(runtime, { mode: 0o700 });
  mkdirSync(join(folder, "elsewhere"));
});
afterEach(async () => {
  await Promise.all(servers.map((one) => one.stop("SIGKILL")));
  servers = [];
  rmSync(folder, { recursive: true, force: true });
});
afterAll(() => commands.stop());

const start = async (name: string): Promise<TestServer> => {
  const server = await startServer(join(folder, name), [], "127.0.0.1", 0, { XDG_RUNTIME_DIR: runtime });
  servers.push(server);
  return server;
};
const env = (): Record<string, string> => ({ PATH: process.env.PATH ?? "", XDG_RUNTIME_DIR: runtime });
/** In a folder where no server was started. */
const elsewhere = (line: string, cwd = join(folder, "elsewhere")): Promise<Ended> =>
  commands.run({ args: line.split(" "), cwd, env: env() });
const noteFiles = (): string[] => readdirSync(join(runtime, "parley"));
const writeNote = (fields: object, name = "one-1.json"): string => {
  const file = join(runtime, "parley", name);
  const url = "http://127.0.0.1:1";
  const note = { url, controlUrl: url, domain: "localhost", data: "/srv/one", host: hostname(), pid: process.pid };
  mkdirSync(join(runtime, "parley"), { recursive: true, mode: 0o700 });
  writeFileSync(file, JSON.stringify({ ...note, mark: processMark(process.pid), ...fields }), { mode: 0o600 });
  return file;
};

test("a service is found from another folder, with its credentials, until it stops", async () => {
  const one = await start("one");
  const [file = ""] = noteFiles();
  const modes = [join(runtime, "parley"), join(runtime, "parley", file)].map((path) => statSync(path).mode & 0o777);
  expect(modes).toEqual([0o700, 0o600]);
  expect(readFileSync(join(runtime, "parley", file), "utf8")).not.toContain(one.adminToken);
  for (const line of ["keys list", "publish chat/1 hello", "rooms create standup"])
    expect([line, await elsewhere(line)]).toMatchObject([line, { exitCode: 0 }]);
  await using terminal = new Terminal(parleyCommand("keys", "list"), { ...env(), PARLEY_DATA: join(folder, "one") });
  await terminal.shows(new RegExp(`Using ${one.url} \\(data folder ${join(folder, "one")}\\)`));
  const port = new URL(one.url).port;
  const second = await elsewhere(`up --host 127.0.0.1 --port ${port} --data ${join(folder, "second")}`);
  expect([second.exitCode, second.stderr]).toEqual([
    1,
    expect.stringMatching(
      /in use by your Parley with the data folder .*one \(process \d+\); choose another port with --port/,
    ),
  ]);
  await one.stop();
  expect(noteFiles()).toEqual([]);
  expect((await elsewhere("keys list")).stderr).toContain("PARLEY_OPERATOR_TOKEN");
});

test("of several services, a command uses the one of its folder, or the one that it is given; otherwise it lists them", async () => {
  const one = await start("here/data");
  const two = await start("two");
  const app = async (server: TestServer, name: string): Promise<void> =>
    expect((await elsewhere(`apps create ${name} --url ${server.url}`)).exitCode).toBe(0);
  await app(one, "of-one");
  await app(two, "of-two");
  const several = await elsewhere("apps list");
  expect(several).toMatchObject({ exitCode: 2, stdout: "" });
  for (const text of [one.url, two.url, join(folder, "two"), "--url", "parley use"])
    expect(several.stderr).toContain(text);
  expect((await elsewhere("apps list", join(folder, "here"))).stdout).toContain("of-one");
  expect((await elsewhere(`apps list --data ${join(folder, "two")}`)).stdout).toContain("of-two");
  await one.stop();
  // The folder of a server that is stopped: nothing that was meant for it goes to another.
  const stopped = await elsewhere("apps list", join(folder, "here"));
  expect([stopped.exitCode, stopped.stderr.includes(`--data ${join(folder, "two")}`)]).toEqual([1, true]);
  expect((await elsewhere("apps list")).stdout).toContain("of-two");
});

test("a note of a process that has ended is removed; one of another machine is only ignored", () => {
  const ended = writeNote({ pid: 2 ** 22 + 1 }, "ended-1.json");
  const other = writeNote({ host: "elsewhere", pid: 2 ** 22 + 1 }, "other-1.json");
  expect(servicesOfUser(env())).toEqual([]);
  expect([existsSync(ended), existsSync(other)]).toEqual([false, true]);
});

test("only loopback addresses are taken from a note", () => {
  for (const url of ["http://192.0.2.1:8080", "https://parley.example.com", "http://demo.localhost:8080"]) {
    writeNote({ url });
    expect(servicesOfUser(env())).toEqual([]);
    writeNote({ controlUrl: url });
    expect(servicesOfUser(env())).toEqual([]);
  }
  writeNote({});
  expect(servicesOfUser(env())).toHaveLength(1);
});

test("a folder that others can enter, or a link to one, is not used", () => {
  writeNote({});
  const own = join(runtime, "parley");
  chmodSync(own, 0o755);
  expect(servicesOfUser(env())).toEqual([]);
  const service = { url: "http://127.0.0.1:1", controlUrl: "http://127.0.0.1:1", domain: "localhost", data: "/srv" };
  expect(() => noteForUser(env(), service)).toThrow("can be entered by other users");
  chmodSync(own, 0o700);
  const link = join(folder, "other");
  mkdirSync(link, { mode: 0o700 });
  symlinkSync(own, join(link, "parley"));
  expect(servicesOfUser({ XDG_RUNTIME_DIR: link })).toEqual([]);
  expect(() => noteForUser({ XDG_RUNTIME_DIR: link }, service)).toThrow("is not a folder");
  expect(servicesOfUser(env())).toHaveLength(1);
});
