/** Commands find a service that the same user runs, from any folder and on any port, and nothing that others have prepared. */
import { afterAll, afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import {
  chmodSync,
  chownSync,
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
import { Commands, type Ended } from "../testing/commands.ts";
import { startServer, type TestServer, temporaryFolder } from "../testing/kit.ts";
import { processMark } from "./process-mark.ts";
import { noteForUser, servicesOfUser } from "./user-services.ts";

setDefaultTimeout(60_000);

let folder: string;
let runtime: string;
let server: TestServer | undefined;
let other: Bun.Subprocess | undefined;
const commands = new Commands();

beforeEach(() => {
  folder = temporaryFolder();
  runtime = join(folder, "runtime");
  mkdirSync(runtime, { mode: 0o700 });
  mkdirSync(join(folder, "elsewhere"));
});
afterEach(async () => {
  await server?.stop("SIGKILL");
  other?.kill();
  server = undefined;
  rmSync(folder, { recursive: true, force: true });
});
afterAll(() => commands.stop());

const start = async (name: string): Promise<TestServer> => {
  server = await startServer(join(folder, name), [], "127.0.0.1", 0, { XDG_RUNTIME_DIR: runtime });
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
  const one = await start("here/data");
  const [file = ""] = noteFiles();
  const modes = [join(runtime, "parley"), join(runtime, "parley", file)].map((path) => statSync(path).mode & 0o777);
  expect(modes).toEqual([0o700, 0o600]);
  expect(readFileSync(join(runtime, "parley", file), "utf8")).not.toContain(one.adminToken);
  for (const line of ["keys list", "publish chat/1 hello", "rooms create standup"])
    expect([line, await elsewhere(line)]).toMatchObject([line, { exitCode: 0 }]);
  const taken = `up --host 127.0.0.1 --port ${new URL(one.url).port} --data ${join(folder, "second")}`;
  expect(await elsewhere(taken)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/in use by your Parley with the data folder \S+ \(process \d+\); .* with --port/),
  });
  // Stands for a second service.
  other = Bun.spawn(["sleep", "600"]);
  const second = { url: "http://127.0.0.1:2", data: "/srv/two", pid: other.pid, mark: processMark(other.pid) };
  writeNote({ ...second, controlUrl: second.url });
  const several = await elsewhere("apps list");
  expect(several).toMatchObject({ exitCode: 2, stdout: "" });
  for (const text of [one.url, second.url, second.data, "--url", "parley use"]) expect(several.stderr).toContain(text);
  for (const [line, cwd] of [
    ["apps list", join(folder, "here")],
    [`apps list --url ${one.url}`, undefined],
    [`apps list --data ${join(folder, "here/data")}`, undefined],
  ] as const)
    expect((await elsewhere(line, cwd)).stdout).toContain("demo");
  await one.stop();
  expect(noteFiles()).toHaveLength(1);
  // The folder of a server that is stopped: nothing that was meant for it goes to another.
  const stopped = await elsewhere("apps list", join(folder, "here"));
  expect([stopped.exitCode, stopped.stderr.includes(`--data ${second.data}`)]).toEqual([1, true]);
  other.kill();
  await other.exited;
  expect((await elsewhere("keys list")).stderr).toContain("PARLEY_OPERATOR_TOKEN");
  expect(noteFiles()).toEqual([]);
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

const OTHER_UID = 65_534;
test.skipIf(process.getuid?.() !== 0)("what another user has made is not used", () => {
  const file = writeNote({});
  const own = join(runtime, "parley");
  chownSync(file, OTHER_UID, OTHER_UID);
  expect(servicesOfUser(env())).toEqual([]);
  chownSync(file, 0, 0);
  chownSync(own, OTHER_UID, OTHER_UID);
  expect(servicesOfUser(env())).toEqual([]);
  chownSync(own, 0, 0);
  expect(servicesOfUser(env())).toHaveLength(1);
});

const service = { url: "http://127.0.0.1:1", controlUrl: "http://127.0.0.1:1", domain: "localhost", data: "/srv" };

test("the folder ends with its last note", () => {
  noteForUser(env(), service)();
  expect(readdirSync(runtime)).toEqual([]);
  writeNote({});
  noteForUser(env(), service)();
  expect(servicesOfUser(env())).toHaveLength(1);
});

test("a folder that others can enter, or a link to one, is not used", async () => {
  writeNote({});
  const own = join(runtime, "parley");
  chmodSync(own, 0o755);
  expect(servicesOfUser(env())).toEqual([]);
  // Another user may have made it, and listen at the default address.
  const refused = await elsewhere("apps list", folder);
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("nothing was sent to")]);
  expect(() => noteForUser(env(), service)).toThrow("can be entered by other users");
  chmodSync(own, 0o700);
  const link = join(folder, "other");
  mkdirSync(link, { mode: 0o700 });
  symlinkSync(own, join(link, "parley"));
  expect(servicesOfUser({ XDG_RUNTIME_DIR: link })).toEqual([]);
  expect(() => noteForUser({ XDG_RUNTIME_DIR: link }, service)).toThrow("is not a folder");
  expect(servicesOfUser(env())).toHaveLength(1);
});
