/** Parley as the server under measurement: a separate process on a data folder that is removed with it. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tempFolder } from "../../test/support/temp.ts";
import { type ServerProcess, startProgram } from "./process.ts";

export const MAIN = join(import.meta.dir, "../../src/main.ts");

/** What users start, which sets the runtime up: `bin/parley` of the tree that `main` is in. */
export const launcherOf = (main: string): string[] => ["sh", join(dirname(main), "../bin/parley")];

const START_MS = 20_000;
const LOOK_EVERY_MS = 20;
const SECRET_KEY = /secret key +(\S+)\n/;
const APP_SECRET = /app secret +(\S+)\n/;

export interface Parley extends ServerProcess {
  /** `<sk_id>:<sk_secret>` of the application `demo`. */
  readonly secretKey: string;
  /** The secret key of the application `demo` itself, for its own host. */
  readonly appSecret: string;
}

/** Loopback only, no limits by address, and a log of warnings only, each of which would matter. */
export const SETTINGS = {
  PARLEY_HOST: "127.0.0.1",
  PARLEY_PORT: "0",
  PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
  PARLEY_REST_REQUESTS_PER_SECOND: "0",
  PARLEY_LOG_LEVEL: "warn",
};

export interface ParleyOptions {
  /** The script to start: the same benchmark can measure another source tree. */
  readonly main?: string | undefined;
  /** Instead of the launcher of `main`'s tree. */
  readonly launcher?: readonly string[];
  /** Precedes the command, for example to pin it to a core. */
  readonly prefix?: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
  /** More arguments of `parley up`. */
  readonly args?: readonly string[];
}

export async function startParley({
  main = MAIN,
  launcher = launcherOf(main),
  prefix = [],
  settings,
  args = [],
}: ParleyOptions = {}): Promise<Parley> {
  const data = tempFolder();
  const firstRun = join(data, "first-run.txt");
  try {
    const command = [...prefix, ...launcher, "up", "--data", data, ...args];
    const server = await startProgram(command, { ...SETTINGS, ...settings }, (output) => addressFrom(firstRun, output));
    const made = readFileSync(firstRun, "utf8");
    const [secretKey, appSecret] = [SECRET_KEY, APP_SECRET].map((form) => form.exec(made)?.[1]);
    const stop = async (): Promise<void> => {
      await server[Symbol.asyncDispose]();
      rmSync(data, { recursive: true });
    };
    if (secretKey && appSecret)
      return { pid: server.pid, url: server.url, secretKey, appSecret, [Symbol.asyncDispose]: stop };
    await stop();
    throw new Error("the first start created no secret key");
  } catch (error) {
    rmSync(data, { recursive: true, force: true });
    throw error;
  }
}

/** With a log of warnings only, the address is found only in first-run.txt. */
async function addressFrom(file: string, output: ReadableStream<Uint8Array>): Promise<URL | undefined> {
  let isOver = false;
  const drain = async (): Promise<void> => {
    for await (const part of output) process.stderr.write(part);
    isOver = true;
  };
  void drain();
  const deadline = performance.now() + START_MS;
  while (!isOver && performance.now() < deadline) {
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    const url = /(?:ready at|open) (http\S+)\n/.exec(text)?.[1];
    if (url && SECRET_KEY.test(text)) return new URL(url);
    await sleep(LOOK_EVERY_MS);
  }
  return undefined;
}
