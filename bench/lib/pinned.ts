/** A server of the comparison as a process on the server's core; the loader has another core to itself. */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { createConnection } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ON_SERVER_CORE } from "../contenders/core.ts";

const READY_MS = 20_000;
const LOOK_EVERY_MS = 20;
const KILL_AFTER_MS = 5000;
/** Enough for the text that says why a start failed. */
const KEPT_CHARACTERS = 65_536;

export interface Start {
  /** In addition to PATH, the only variable that is passed on: settings of the caller's shell must not change the measurement. */
  readonly env?: Readonly<Record<string, string>>;
  /** A port that must accept connections; or finds the port in the server's output so far. */
  readonly ready: number | ((output: string) => number | undefined);
  /** How many processes it has, the first included; default: 1. */
  readonly processes?: number;
  /** Removed when the server has stopped, or could not be started. */
  readonly folder?: string;
}

export interface Pinned extends AsyncDisposable {
  readonly port: number;
  readonly pids: readonly number[];
}

export async function startPinned(
  command: readonly string[],
  { env = {}, ready, processes = 1, folder }: Start,
): Promise<Pinned> {
  // taskset execs the command: its process is the server's, and children inherit the core.
  const child = Bun.spawn([...ON_SERVER_CORE, ...command], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH, ...env },
  });
  const voice = new Voice([child.stdout, child.stderr]);
  const family = (): number[] => [child.pid, ...childrenOf(child.pid)];
  const stop = async (): Promise<void> => {
    voice.isPassedOn = false;
    const pids = family();
    child.kill("SIGTERM");
    const timer = setTimeout(() => killAll(pids), KILL_AFTER_MS);
    await child.exited;
    clearTimeout(timer);
    if (folder) rmSync(folder, { recursive: true, force: true });
  };

  const deadline = performance.now() + READY_MS;
  while (child.exitCode === null && child.signalCode === null && performance.now() < deadline) {
    const port = typeof ready === "number" ? await accepting(ready) : ready(voice.text);
    const pids = family();
    if (port !== undefined && pids.length >= processes) {
      voice.isPassedOn = true;
      return { port, pids, [Symbol.asyncDispose]: stop };
    }
    await sleep(LOOK_EVERY_MS);
  }
  const how = child.exitCode === null ? "did not get ready" : `ended with code ${child.exitCode}`;
  await stop();
  throw new Error(`${command.join(" ")} ${how}:\n${voice.text}`);
}

/** A server's output is read to the end, because a full pipe would block it; after it is ready, every line is printed. */
class Voice {
  text = "";
  isPassedOn = false;

  constructor(streams: readonly ReadableStream<Uint8Array>[]) {
    for (const stream of streams) void this.listen(stream);
  }

  private async listen(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const part of stream) {
      if (this.isPassedOn) process.stderr.write(part);
      else if (this.text.length < KEPT_CHARACTERS) this.text += decoder.decode(part, { stream: true });
    }
  }
}

function accepting(port: number): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const socket = createConnection(port, "127.0.0.1");
  socket.once("connect", () => resolve(port)).once("error", () => resolve(undefined));
  return promise.finally(() => socket.destroy());
}

export const childrenOf = (pid: number): number[] => allPids().filter((one) => parentOf(one) === pid);

/** The process that was started with these adjacent arguments. */
export const startedWith = (...args: readonly string[]): number | undefined =>
  allPids().find((pid) => argumentsOf(pid).includes(`\0${args.join("\0")}\0`));

const allPids = (): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

function argumentsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // It has ended since the folder was read.
  }
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may contain spaces; it is followed by the state and the parent.
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined; // It has ended since the folder was read.
  }
}

function killAll(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
}
