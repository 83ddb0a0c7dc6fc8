/** For tests: a real server and real command lines, as child processes with their own temporary folders. */
import { afterAll, beforeAll, expect } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NO_RUNTIME_FOLDER, PARLEY_MAIN, parleyCommand } from "../../../test/support/command.ts";
import { Commands, type Ended } from "./commands.ts";

type Variables = Readonly<Record<string, string>>;

/** No service has its data here, so that commands find no credentials by themselves: a developer may have ./data. */
const NO_DATA = join(tmpdir(), "parley-no-data-folder");

/** Without the variables of this machine, so that its own settings cannot influence a test. */
const environment = (extra: Variables): Record<string, string> => ({
  PATH: process.env.PATH ?? "",
  PARLEY_DATA: NO_DATA,
  XDG_RUNTIME_DIR: NO_RUNTIME_FOLDER,
  ...extra,
});

/** A process of its own; most tests need none (`withServer`). */
export async function parley(
  args: readonly string[],
  { env = {}, stdin = "", cwd = process.cwd() }: { env?: Variables; stdin?: string; cwd?: string } = {},
): Promise<Ended> {
  const child = Bun.spawn(parleyCommand(...args), {
    cwd,
    env: environment(env),
    stdin: Buffer.from(stdin),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, exitCode };
}

/** Runs a shell script, for pipes; `parley` is a function in it. */
export async function shell(script: string, env: Variables = {}): Promise<Ended> {
  const define = `parley() { "${process.execPath}" --no-env-file "${PARLEY_MAIN}" "$@"; }`;
  const child = Bun.spawn(["sh", "-c", `${define}\n${script}`], {
    env: environment(env),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, exitCode };
}

export interface TestServer {
  readonly url: string;
  /** "SK_ID:SK_SECRET" of the demo application. */
  readonly secretKey: string;
  readonly adminToken: string;
  /** The environment of commands that call it. */
  readonly env: Variables;
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<number>;
}

/** `port` 0: any free one. */
export async function startServer(
  data: string,
  extra: readonly string[] = [],
  host = "127.0.0.1",
  port = 0,
  env: Variables = {},
): Promise<TestServer> {
  const args = ["up", "--port", String(port), "--host", host, "--data", data, ...extra];
  const child = Bun.spawn(parleyCommand(...args), {
    env: environment(env),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const url = await readyUrl(child.stdout);
  const firstRun = readFileSync(join(data, "first-run.txt"), "utf8");
  const firstRunValue = (name: string): string => new RegExp(`${name} +(\\S+)`).exec(firstRun)?.[1] ?? "";
  const [adminToken, secretKey, appSecret] = [
    firstRunValue("admin token"),
    firstRunValue("secret key"),
    firstRunValue("app secret"),
  ];
  return {
    url,
    secretKey,
    adminToken,
    env: {
      PARLEY_URL: url,
      PARLEY_ADMIN_TOKEN: adminToken,
      PARLEY_KEY: secretKey,
      PARLEY_APP_SECRET: appSecret,
    },
    stop: (signal = "SIGTERM") => {
      child.kill(signal);
      return child.exited;
    },
  };
}

/** Resolves with the address in the line "parley is ready". Reads the log to its end, because a full pipe would block the server. */
function readyUrl(log: ReadableStream<Uint8Array>): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of log) {
      text += decoder.decode(chunk, { stream: true });
      const line = text.split("\n").find((one) => one.includes('"parley is ready"') && one.endsWith("}"));
      if (line) resolve((JSON.parse(line) as { url: string }).url);
    }
    reject(new Error(`the server ended: ${text}`));
  };
  read().catch(reject);
  return promise;
}

export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), "parley-cli-"));

/** A server for all tests of a file, and commands that call it. */
export interface CliFixture {
  /** Removed after the tests. */
  readonly folder: string;
  /** Throws before the first test. */
  readonly server: TestServer;
  /** `line` is split at spaces; arguments that contain one follow it. */
  run(line: string, ...more: readonly string[]): Promise<Ended>;
  runWith(env: Variables, line: string): Promise<Ended>;
  /** Runs a command that must succeed, with --json, and prints one object. */
  json<T = Record<string, unknown>>(line: string, ...more: readonly string[]): Promise<T>;
  /** The same for a command that prints a list. */
  jsonLines<T = Record<string, unknown>>(line: string, ...more: readonly string[]): Promise<T[]>;
}

/** `settings`: of the server, whose data is in that folder. */
export function withServer(settings: (folder: string) => Variables = () => ({})): CliFixture {
  const folder = temporaryFolder();
  let started: TestServer | undefined;
  let commands: Commands | undefined;
  beforeAll(async () => {
    started = await startServer(join(folder, "data"), [], "127.0.0.1", 0, settings(folder));
  });
  afterAll(async () => {
    await commands?.stop();
    await started?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const server = (): TestServer => {
    if (!started) throw new Error("the server has not been started yet");
    return started;
  };
  const split = (line: string): string[] => line.split(" ").filter(Boolean);
  const runWith = (env: Variables, args: readonly string[]): Promise<Ended> => {
    const line = { args, env: environment({ ...server().env, ...env }) };
    if (args.includes("-")) return parley(args, line);
    commands ??= new Commands();
    return commands.run(line);
  };
  const run: CliFixture["run"] = (line, ...more) => runWith({}, [...split(line), ...more]);
  const jsonLines = async <T>(line: string, ...more: readonly string[]): Promise<T[]> => {
    const { stdout, stderr, exitCode } = await run(line, ...more, "--json");
    expect([exitCode, exitCode === 0 ? "" : stderr]).toEqual([0, ""]);
    return stdout
      .split("\n")
      .filter(Boolean)
      .map((one) => JSON.parse(one));
  };
  return {
    folder,
    get server() {
      return server();
    },
    run,
    runWith: (env, line) => runWith(env, split(line)),
    json: async <T>(line: string, ...more: readonly string[]) => {
      const printed = await jsonLines<T>(line, ...more);
      expect(printed).toHaveLength(1);
      return printed[0] as T;
    },
    jsonLines,
  };
}
