/** For tests: a real server and real command lines, as child processes in folders of their own. */
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MAIN = join(import.meta.dir, "../../main.ts");

type Variables = Readonly<Record<string, string>>;

/** Nothing of the machine's own Parley reaches a test. */
const environment = (extra: Variables): Record<string, string> => ({ PATH: process.env.PATH ?? "", ...extra });

export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

export async function parley(
  args: readonly string[],
  { env = {}, stdin = "" }: { env?: Variables; stdin?: string } = {},
): Promise<Ended> {
  const child = Bun.spawn([process.execPath, "--no-env-file", MAIN, ...args], {
    env: environment(env),
    stdin: Buffer.from(stdin),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, exitCode };
}

/** Through a shell, for pipes; `parley` is a function in it. */
export async function shell(script: string, env: Variables = {}): Promise<Ended> {
  const define = `parley() { "${process.execPath}" --no-env-file "${MAIN}" "$@"; }`;
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
  /** For a command line that talks to it. */
  readonly env: Variables;
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<number>;
}

export async function startServer(
  data: string,
  extra: readonly string[] = [],
  host = "127.0.0.1",
): Promise<TestServer> {
  const args = ["up", "--port", "0", "--host", host, "--data", data, ...extra];
  const child = Bun.spawn([process.execPath, "--no-env-file", MAIN, ...args], {
    env: environment({}),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const url = await readyUrl(child.stdout);
  const firstRun = readFileSync(join(data, "first-run.txt"), "utf8");
  const shown = (name: string): string => new RegExp(`${name} +(\\S+)`).exec(firstRun)?.[1] ?? "";
  const [adminToken, secretKey, appSecret] = [shown("admin token"), shown("secret key"), shown("app secret")];
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

/** Reads its log to the end, so that the server never waits for us; resolves at the line that says it is ready. */
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
