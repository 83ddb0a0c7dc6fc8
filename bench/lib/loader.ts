/** The load generator, native/loader.c, from this side: builds it, writes its plan, reads what it says. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Frame, Script, Step } from "../contenders/contender.ts";

const NATIVE = join(import.meta.dir, "../native");
export const BUILD = join(import.meta.dir, "../.build");
const LOADER_CORE = 1;
/** What a load must not take, however slow the server. */
const LOAD_MS = 180_000;

/** The sources of each program. */
const PROGRAMS = {
  loader: ["loader.c", "conn.c", "stream.c", "meter.c", "plan.c"],
  broadcaster: ["broadcaster.c", "handshake.c"],
} as const;

/** Its path; compiled with the machine's cc where the sources are newer. */
export function native(program: keyof typeof PROGRAMS): string {
  const path = join(BUILD, program);
  const newest = Math.max(...readdirSync(NATIVE).map((file) => statSync(join(NATIVE, file)).mtimeMs));
  if (existsSync(path) && statSync(path).mtimeMs > newest) return path;
  mkdirSync(BUILD, { recursive: true });
  const sources = PROGRAMS[program].map((file) => join(NATIVE, file));
  const { exitCode, stderr } = Bun.spawnSync(["cc", "-O2", "-o", path, ...sources]);
  if (exitCode !== 0) throw new Error(`cc could not build ${program} (apt-get install -y gcc libc6-dev):\n${stderr}`);
  return path;
}

export interface PlannedConnection {
  readonly script: Script;
  /** Where it goes, of several servers; absent: the target's. */
  readonly port?: number;
  /** The number of the publisher whose messages it must get, all and in order. */
  readonly hears?: number;
}

export interface PlannedPublisher {
  /** Its place among the connections. */
  readonly connection: number;
  /** How many connections get each of its messages. */
  readonly receivers: number;
  readonly frame: Frame;
}

export interface Plan {
  readonly mode: "fanout" | "latency" | "connect" | "idle";
  readonly connections: readonly PlannedConnection[];
  readonly publishers?: readonly PlannedPublisher[];
  /** Of each publisher: how many messages may be on their way. */
  readonly inFlight?: number;
  readonly warmUpMs?: number;
  readonly measureMs?: number;
  /** Messages a second of all publishers together; for latency. */
  readonly rate?: number;
  /** For connect: how many come first and are not measured. */
  readonly unmeasured?: number;
  /** How many connect at a time; 64 unless said. */
  readonly opening?: number;
}

/** Where it goes, and whose CPU time it costs. */
export interface Target {
  readonly port: number;
  readonly pids: readonly number[];
}

/** Of the window of measurement. Which of the optional ones are there depends on the mode. */
export interface Report {
  readonly seconds: number;
  readonly userSeconds: number;
  readonly systemSeconds: number;
  /** Of each process of the target, in their order. */
  readonly processSeconds: readonly number[];
  /** Of its core that the loader itself needed: near 1, it may be the bottleneck (it spins in latency). */
  readonly loaderShare: number;
  readonly messages: number;
  readonly deliveries: number;
  readonly acks: number;
  readonly connects: number;
  readonly p50us: number;
  readonly p99us: number;
}

const OPENING = 64;

/** A lost, doubled or disordered delivery, or a connection that was closed, throws. */
export async function load(plan: Plan, target: Target): Promise<Report> {
  await using running = start(plan, target);
  const line = await running.firstLine;
  return parse(line) as Report;
}

/** Connections that stay until disposed of. */
export async function crowd(plan: Plan, target: Target): Promise<AsyncDisposable> {
  const running = start(plan, target);
  parse(await running.firstLine);
  return running;
}

function parse(line: string): object {
  const found = JSON.parse(line) as { problem?: string };
  if (found.problem) throw new Error(found.problem);
  return found;
}

function start(plan: Plan, target: Target): AsyncDisposable & { readonly firstLine: Promise<string> } {
  const folder = mkdtempSync(join(tmpdir(), "parley-bench-"));
  const file = join(folder, "plan");
  writeFileSync(file, linesOf(plan, target).join("\n"));
  const child = Bun.spawn([native("loader"), file], { stdio: ["pipe", "pipe", "inherit"], timeout: LOAD_MS });
  const firstLine = async (): Promise<string> => {
    let text = "";
    const decoder = new TextDecoder();
    for await (const part of child.stdout) {
      text += decoder.decode(part, { stream: true });
      if (text.includes("\n")) return text;
    }
    throw new Error(`the loader ended with ${await child.exited} and no word`);
  };
  return {
    firstLine: firstLine(),
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      await child.exited;
      rmSync(folder, { recursive: true });
    },
  };
}

/** native/plan.h says what stands in a plan. */
function linesOf(plan: Plan, { port, pids }: Target): string[] {
  const orders: [string, number | string | undefined][] = [
    ...pids.map((pid): [string, number] => ["pid", pid]),
    ["core", LOADER_CORE],
    ["opening", plan.opening ?? OPENING],
    ["mode", plan.mode],
    ["inflight", plan.inFlight],
    ["warmup", plan.warmUpMs],
    ["measure", plan.measureMs],
    ["rate", plan.rate],
    ["unmeasured", plan.unmeasured],
  ];
  return [
    ...orders.flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`])),
    // A port is that of the connections behind it.
    ...plan.connections.flatMap((one) => [`port ${one.port ?? port}`, connectionLine(one)]),
    ...(plan.publishers ?? []).map(publisherLine),
  ];
}

function connectionLine({ script, hears = -1 }: PlannedConnection): string {
  const headers = Object.entries(script.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
  return ["conn", script.path, escaped(headers.join("")), hears, ...script.steps.map(stepText)].join("\t");
}

function stepText(step: Step): string {
  if ("send" in step) return `s:${escaped(step.send)}`;
  if ("sendBinary" in step) return `b:${escaped(step.sendBinary)}`;
  return `e:${escaped(step.expect)}`;
}

function publisherLine({ connection, receivers, frame }: PlannedPublisher): string {
  const acks = frame.text.includes("%%") ? 1 : 0;
  return ["publish", connection, receivers, acks, frame.isBinary ? "b" : "t", escaped(frame.text)].join("\t");
}

const NAMES: Readonly<Record<string, string>> = { "\r": "\\r", "\n": "\\n", "\t": "\\t", "\\": "\\\\" };
const escaped = (text: string): string => text.replace(/[\r\n\t\\]/g, (character) => NAMES[character] ?? character);
