/** A server under measurement: a separate process, so that its CPU time can be measured. */
import { readFileSync } from "node:fs";

/** /proc counts CPU time in ticks of 1/100 s on every common Linux, whatever the kernel's own timer frequency is. */
const TICKS_PER_SECOND = 100;
const KILL_AFTER_MS = 5000;

export interface ServerProcess extends AsyncDisposable {
  readonly pid: number;
  readonly url: URL;
}

/** Starts a Bun script and waits for its address; by default the first `"url":"http://…"` that it prints. */
export const startServer = (
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  addressOf?: (output: ReadableStream<Uint8Array>) => Promise<URL | undefined>,
): Promise<ServerProcess> => startProgram([process.execPath, "--no-env-file", ...args], env, addressOf);

/** The same for any program. */
export async function startProgram(
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
  addressOf: (output: ReadableStream<Uint8Array>) => Promise<URL | undefined> = addressIn,
): Promise<ServerProcess> {
  const child = Bun.spawn([...command], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...withoutSettings(process.env), ...env },
  });
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS);
    await child.exited;
    clearTimeout(timer);
  };
  const url = await addressOf(child.stdout);
  if (!url) {
    await stop();
    throw new Error(`${command.join(" ")} ended, with code ${child.exitCode}, before it had an address`);
  }
  return { pid: child.pid, url, [Symbol.asyncDispose]: stop };
}

/** Settings of the caller's shell must not change the measurement. */
const withoutSettings = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("PARLEY_")));

function addressIn(output: ReadableStream<Uint8Array>): Promise<URL | undefined> {
  const { promise, resolve } = Promise.withResolvers<URL | undefined>();
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    let text = "";
    // Read to the end, also after the address is found: a full pipe would block the server.
    for await (const part of output) {
      if (text.length < 65_536) text += decoder.decode(part, { stream: true });
      const found = text.match(/"url":"([^"]+)"/)?.[1];
      if (found) resolve(new URL(found));
    }
    resolve(undefined);
  };
  void read();
  return promise;
}

/** Seconds. */
export interface CpuTimes {
  readonly user: number;
  readonly system: number;
}

/** All threads since the process started. */
export function cpuTimes(pid: number): CpuTimes {
  const [user = 0, system = 0] = timesOf(pid);
  return { user, system };
}

/** Children that have ended and were waited for. */
export function endedChildrenSeconds(pid: number): number {
  const [, , user = 0, system = 0] = timesOf(pid);
  return user + system;
}

/** User and system time, then the same of ended children. */
function timesOf(pid: number): number[] {
  // The second field is the name in parentheses, which may contain spaces: fields are counted after it.
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).map((ticks) => Number(ticks) / TICKS_PER_SECOND);
}

export function cpuSeconds(pid: number): number {
  const { user, system } = cpuTimes(pid);
  return user + system;
}
