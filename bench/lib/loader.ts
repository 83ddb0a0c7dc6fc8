/** The TypeScript side of the load generator, native/loader.c: builds it, writes its plan, reads its output. */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../../test/support/temp.ts";
import type { Frame, Script, Step } from "../contenders/contender.ts";

const NATIVE = join(import.meta.dir, "../native");
export const BUILD = join(import.meta.dir, "../.build");
const LOADER_CORE = 1;
/** The timeout for a response of the loader, however slow the server is. */
const ANSWER_MS = 180_000;

/** The sources of each program. */
const PROGRAMS = {
  loader: ["loader.c", "conn.c", "stream.c", "meter.c", "plan.c"],
  holder: ["holder.c", "conn.c", "stream.c", "meter.c", "plan.c"],
  broadcaster: ["broadcaster.c", "handshake.c"],
} as const;

/** The program's path; compiled with the machine's cc if the sources are newer. */
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
  /** Its port if there are several servers; default: the target's. */
  readonly port?: number;
  /** The number of the publisher whose messages it must get, all and in order. */
  readonly hears?: number;
}

export interface PlannedPublisher {
  /** Its index among the connections. */
  readonly connection: number;
  /** How many connections get each of its messages. */
  readonly receivers: number;
  readonly frame: Frame;
  /** Its first message, before anything is measured, if it differs from the others. */
  readonly first?: Frame;
}

export interface Plan {
  readonly connections: readonly PlannedConnection[];
  readonly publishers?: readonly PlannedPublisher[];
  /** How many messages of each publisher may be in flight. */
  readonly inFlight?: number;
  /** How many connect at a time; default: 64. */
  readonly opening?: number;
}

/** Messages are sent when they are due, not when the previous ones have arrived. */
export interface LatencyPlan extends Plan {
  readonly warmUpMs: number;
  readonly measureMs: number;
  /** Messages per second of all publishers together. */
  readonly rate: number;
}

export interface ConnectPlan extends Plan {
  /** How many messages come first and are not measured. */
  readonly unmeasured: number;
}

export interface ReconnectPlan extends Plan {
  /** How often all connections are cut and opened again. */
  readonly waves: number;
}

/** Where it connects, and the processes whose CPU time is counted. */
export interface Target {
  readonly port: number;
  readonly pids: readonly number[];
  /** The loader shares all cores with the server and sleeps when it has nothing to do; default: it has a core to itself. */
  readonly sharesCores?: boolean;
}

/** The measurements of a window of time. */
export interface Report {
  readonly seconds: number;
  /** For each process of the target, in order. */
  readonly processSeconds: readonly number[];
  /** In ticks of the OS: accurate in the sum of many windows. */
  readonly userSeconds: number;
  readonly systemSeconds: number;
  /** How long the loader was busy: if it is nearly all the time, it may be the bottleneck. */
  readonly busySeconds: number;
  /** CPU time of the loader itself. */
  readonly loaderSeconds: number;
}

export interface Deliveries extends Report {
  readonly messages: number;
  readonly deliveries: number;
  readonly acks: number;
}

export interface Latencies extends Report {
  readonly p50us: number;
  readonly p99us: number;
  /** The slowest delivery. */
  readonly mostus: number;
}

export interface Connects extends Report {
  readonly connects: number;
}

export interface Reconnects extends Connects {
  /** From the cut until the last connection was ready again, in the slowest wave. */
  readonly longestSeconds: number;
}

export const cpuOf = ({ processSeconds }: Report): number => sum(processSeconds);

/** Several windows combined. */
export function together([first, ...others]: readonly Deliveries[]): Deliveries {
  if (!first) throw new Error("no windows to combine");
  return others.reduce(
    (one, other) => ({
      seconds: one.seconds + other.seconds,
      processSeconds: one.processSeconds.map((seconds, i) => seconds + (other.processSeconds[i] ?? 0)),
      userSeconds: one.userSeconds + other.userSeconds,
      systemSeconds: one.systemSeconds + other.systemSeconds,
      busySeconds: one.busySeconds + other.busySeconds,
      loaderSeconds: one.loaderSeconds + other.loaderSeconds,
      messages: one.messages + other.messages,
      deliveries: one.deliveries + other.deliveries,
      acks: one.acks + other.acks,
    }),
    first,
  );
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** The connections of a plan, until disposed. Throws on a lost, duplicated or reordered delivery, or a closed connection. */
export interface Session extends AsyncDisposable {
  /** Publishes for that long, and waits until everything has arrived. */
  slice(ms: number): Promise<Deliveries>;
}

export async function open(plan: Plan, target: Target): Promise<Session> {
  const loader = start("fanout", plan, target);
  await loader.answer();
  return {
    slice: async (ms) => {
      loader.order(`slice ${ms}`);
      return (await loader.answer()) as Deliveries;
    },
    [Symbol.asyncDispose]: () => loader.end(),
  };
}

/** Once, after a warm-up. */
export async function measured(
  plan: Plan,
  { warmUpMs, measureMs }: { readonly warmUpMs: number; readonly measureMs: number },
  target: Target,
): Promise<Deliveries> {
  await using session = await open(plan, target);
  await session.slice(warmUpMs);
  return await session.slice(measureMs);
}

export const latencies = (plan: LatencyPlan, target: Target): Promise<Latencies> => only("latency", plan, target);

export const connects = (plan: ConnectPlan, target: Target): Promise<Connects> => only("connect", plan, target);

export const reconnects = (plan: ReconnectPlan, target: Target): Promise<Reconnects> => only("reconnect", plan, target);

async function only<T>(mode: Mode, plan: Plan, target: Target): Promise<T> {
  const loader = start(mode, plan, target);
  const report = (await loader.answer()) as T;
  await loader.end();
  return report;
}

type Mode = "fanout" | "latency" | "connect" | "reconnect";

const OPENING = 64;

function start(mode: Mode, plan: Plan, target: Target) {
  const folder = tempFolder();
  const file = join(folder, "plan");
  writeFileSync(file, linesOf(mode, plan, target).join("\n"));
  const child = Bun.spawn([native("loader"), file], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(splitLines()).getReader();
  const next = async (): Promise<object | undefined> => {
    const timer = setTimeout(() => child.kill("SIGKILL"), ANSWER_MS);
    const { value } = await lines.read();
    clearTimeout(timer);
    if (value === undefined) return undefined;
    const found = JSON.parse(value) as { problem?: string };
    if (found.problem) throw new Error(found.problem);
    return found;
  };
  return {
    order: (line: string): void => {
      child.stdin.write(`${line}\n`);
      child.stdin.flush();
    },
    answer: async (): Promise<object> => {
      const found = await next();
      if (!found) throw new Error(`the loader ended with ${await child.exited} without a message`);
      return found;
    },
    /** Errors at the end are reported too. */
    end: async (): Promise<void> => {
      child.stdin.end();
      try {
        await next();
      } finally {
        await child.exited;
        rmSync(folder, { recursive: true });
      }
    },
  };
}

export function splitLines(): TransformStream<string, string> {
  let rest = "";
  return new TransformStream({
    transform(text, controller) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) controller.enqueue(line);
    },
  });
}

/** native/plan.h describes the format of a plan. */
function linesOf(
  mode: Mode,
  plan: Plan & Partial<LatencyPlan & ConnectPlan & ReconnectPlan>,
  { port, pids, sharesCores }: Target,
): string[] {
  const orders: [string, number | string | undefined][] = [
    ...pids.map((pid): [string, number] => ["pid", pid]),
    ["core", sharesCores ? -1 : LOADER_CORE],
    ["opening", plan.opening ?? OPENING],
    ["mode", mode],
    ["inflight", plan.inFlight],
    ["warmup", plan.warmUpMs],
    ["measure", plan.measureMs],
    ["rate", plan.rate],
    ["unmeasured", plan.unmeasured],
    ["waves", plan.waves],
  ];
  return [
    ...orders.flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`])),
    // A port line applies to the connections after it.
    ...plan.connections.flatMap((one) => [`port ${one.port ?? port}`, connectionLine(one)]),
    ...(plan.publishers ?? []).map(publisherLine),
  ];
}

export function connectionLine({ script, hears = -1 }: PlannedConnection): string {
  const headers = Object.entries(script.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
  return ["conn", script.path, escaped(headers.join("")), hears, ...script.steps.map(stepText)].join("\t");
}

function stepText(step: Step): string {
  if ("send" in step) return `s:${escaped(step.send)}`;
  if ("sendBinary" in step) return `b:${escaped(step.sendBinary)}`;
  return `e:${escaped(step.expect)}`;
}

function publisherLine({ connection, receivers, frame, first }: PlannedPublisher): string {
  const acks = frame.text.includes("%%") ? 1 : 0;
  const frames = [frame.text, first?.text ?? ""].map(escaped);
  return ["publish", connection, receivers, acks, frame.isBinary ? "b" : "t", ...frames].join("\t");
}

const NAMES: Readonly<Record<string, string>> = { "\r": "\\r", "\n": "\\n", "\t": "\\t", "\\": "\\\\" };
const escaped = (text: string): string => text.replace(/[\r\n\t\\]/g, (character) => NAMES[character] ?? character);
