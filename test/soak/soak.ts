/**
 * A service under load: three nodes, clients that send, leave and return, kicks, rotations, key edits, uploads, and a restart of
 * a node in each period. The checker gets every message.
 */
import type { Problem } from "../../src/verify/findings.ts";
import { type ChoreFigures, Chores } from "./chores.ts";
import { Crowd } from "./crowd.ts";
import { SoakKeys } from "./keys.ts";
import { Lives, type Memory } from "./lives.ts";
import { type Ending, type Restarted, SoakNodes } from "./nodes.ts";
import { type UploadFigures, UploadWork } from "./uploads.ts";
import { cpuSeconds, machineCpuSeconds } from "./weigh.ts";

export interface SoakOptions {
  readonly minutes: number;
  readonly connections: number;
  /** Messages per second. */
  readonly rate: number;
  /** Members per channel: each message is delivered to all of them. */
  readonly channelSize: number;
  /** A restart, a rotation and an edit in each period. */
  readonly periodSeconds: number;
  /** Milliseconds that each of two writers pauses between two recordings. */
  readonly uploadPauseMs: number;
  /** Processes that serve clients, for each node. With several, one is killed in each period. */
  readonly workers?: number;
  /** A factor for how frequently clients leave and return: for short runs. */
  readonly haste: number;
  readonly print: (line: string) => void;
}

export interface SoakReport {
  readonly violations: readonly string[];
  readonly minutes: number;
  readonly connections: number;
  readonly connects: number;
  readonly messages: { readonly sent: number; readonly acked: number; readonly refused: number; unknown: number };
  readonly messagesPerSecond: number;
  readonly deliveries: number;
  readonly deliveriesPerSecond: number;
  readonly closes: Readonly<Record<string, number>>;
  readonly errors: Readonly<Record<string, number>>;
  readonly restarts: Readonly<Record<Ending, number>>;
  readonly workersKilled: number;
  readonly slowestRestartMs: number;
  readonly chores: ChoreFigures;
  readonly uploads: UploadFigures;
  /** null: the nodes do not have the metric. */
  readonly faults: number | null;
  readonly memory: Memory;
  readonly loadRssMib: number;
  readonly machineCpuPercent: number;
}

const CONNECT_WITHIN_MS = 180_000;
const SETTLE_MS = 90_000;
const SAMPLE_MS = 5000;
const SHOWN_MAX = 20;
/** Every third restart is a kill -9. */
const KILL_EVERY = 3;

export async function soak(options: SoakOptions): Promise<SoakReport> {
  const nodes = await SoakNodes.start(options.workers ?? 1);
  try {
    const app = await nodes.admin.createApp();
    const keys = await SoakKeys.make(nodes.admin, app._id);
    const crowd = new Crowd(nodes, keys, options);
    try {
      return await new Soak(options, nodes, keys, crowd, new UploadWork(nodes, app, options.uploadPauseMs)).run();
    } finally {
      await crowd.close();
    }
  } finally {
    await nodes.stop();
  }
}

class Soak {
  private readonly lives: Lives;
  private readonly chores: Chores;
  private readonly restarts: Restarted[] = [];
  private readonly failures: string[] = [];
  private workersKilled = 0;
  private startedMs = 0;
  private machineAt = 0;
  private machineFirst = 0;
  private shownMs = 0;
  private shownSent = 0;
  private shownDeliveries = 0;
  private selfAt = 0;

  constructor(
    private readonly options: SoakOptions,
    private readonly nodes: SoakNodes,
    keys: SoakKeys,
    private readonly crowd: Crowd,
    private readonly uploads: UploadWork,
  ) {
    this.lives = new Lives(nodes);
    this.chores = new Chores(nodes, crowd, keys, options.haste);
  }

  async run(): Promise<SoakReport> {
    const { print, connections } = this.options;
    const before = performance.now();
    await this.crowd.connectAll(CONNECT_WITHIN_MS);
    print(`${connections} connections open after ${Math.round((performance.now() - before) / 1000)} s`);
    await this.uploads.start();
    this.begin();
    const sampling = setInterval(() => this.sample(), SAMPLE_MS);
    try {
      await this.periods();
    } finally {
      clearInterval(sampling);
    }
    await this.chores.stop();
    await this.uploads.stop();
    this.crowd.hush();
    const problems = await this.crowd.settle(SETTLE_MS);
    await this.lives.count();
    return this.report(problems);
  }

  private begin(): void {
    this.startedMs = this.shownMs = performance.now();
    this.machineAt = this.machineFirst = machineCpuSeconds();
    this.selfAt = cpuSeconds(process.pid);
    this.lives.cpuPercent(1);
    this.crowd.talk();
    this.chores.start();
  }

  private async periods(): Promise<void> {
    const { minutes, periodSeconds } = this.options;
    const periodMs = periodSeconds * 1000;
    const count = Math.max(1, Math.round((minutes * 60) / periodSeconds));
    for (let period = 0; period < count; period++) {
      const endMs = this.startedMs + (period + 1) * periodMs;
      const graceSeconds = Math.min(20, Math.floor(periodSeconds / 3));
      await Promise.all([
        this.guarded("a restart", () => this.restart(period)),
        this.guarded("the end of a worker", () => this.killWorker()),
        this.guarded("a rotation", () => this.chores.rotate(graceSeconds)),
        Bun.sleep(periodMs * 0.7).then(() => this.guarded("an edit", () => this.chores.edit())),
      ]);
      await Bun.sleep(Math.max(0, endMs - performance.now()));
      this.crowd.forget();
      this.show(period + 1, count);
    }
  }

  /** The second and the third node in turn; the elder is never restarted. */
  private async restart(period: number): Promise<void> {
    await Bun.sleep(this.options.periodSeconds * 100);
    await this.lives.count();
    this.lives.sample();
    const ending = period % KILL_EVERY === KILL_EVERY - 1 ? "kill" : "drain";
    this.restarts.push(await this.nodes.restart(1 + (period % 2), ending));
  }

  /** Ends a worker of the elder; its other workers must not notice. */
  private async killWorker(): Promise<void> {
    if ((this.options.workers ?? 1) === 1) return;
    await Bun.sleep(this.options.periodSeconds * 1000 * 0.4);
    await this.nodes.killWorker(0);
    this.workersKilled++;
  }

  private async guarded(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.failures.push(`${what}: ${error}`);
    }
  }

  private sample(): void {
    this.lives.sample();
    void this.lives.count();
  }

  private show(period: number, of: number): void {
    const { crowd, uploads, lives } = this;
    const nowMs = performance.now();
    const seconds = (nowMs - this.shownMs) / 1000;
    const { sent } = crowd.figures;
    const { deliveries } = crowd.checker;
    const [machine, self] = [machineCpuSeconds(), cpuSeconds(process.pid)];
    const last = this.restarts.at(-1);
    this.options.print(
      [
        `${period}/${of}: ${crowd.open} open, ${crowd.listening} listening, ${crowd.connects} connects`,
        `${per(sent - this.shownSent, seconds)} messages/s, ${per(deliveries - this.shownDeliveries, seconds)} deliveries/s`,
        last
          ? `${last.ending} of node ${last.node}: ended in ${sec(last.endedMs)}, back in ${sec(last.backMs)}`
          : "no restart",
        `${uploads.figures.completed} recordings (${uploads.figures.retries} retries)`,
        `RSS ${lives.nowMib.join("/")} MiB`,
        `CPU % nodes ${lives.cpuPercent(seconds).join("/")}, load ${per((self - this.selfAt) * 100, seconds)} (RSS ${loadMib()} MiB), machine ${per((machine - this.machineAt) * 100, seconds)}`,
        `faults ${lives.faults ?? "not counted"}`,
        `violations ${this.violations([]).length}`,
      ].join("; "),
    );
    for (const line of this.violations([]).slice(0, 3)) this.options.print(`  ${line}`);
    [this.shownMs, this.shownSent, this.shownDeliveries] = [nowMs, sent, deliveries];
    [this.machineAt, this.selfAt] = [machine, self];
  }

  /** Confirmed violations, plus those that these problems at rest add. */
  private violations(atRest: readonly Problem[]): string[] {
    const { crowd, chores, uploads, lives, nodes, options } = this;
    const found = atRest.length > 0 ? atRest : [...crowd.checker.certain, ...crowd.violations.problems];
    const faults = lives.faults ?? 0;
    return [
      ...[...found, ...chores.problems, ...uploads.problems].map(
        ({ kind, count, examples }) => `${count} ${kind}: ${examples.join("; ")}`,
      ),
      ...this.failures,
      ...lives.problems(options.minutes),
      ...(faults > 0 ? [`the nodes counted ${faults} faults`] : []),
      ...nodes.errors().map((line) => `a node complained: ${line.slice(0, 400)}`),
    ].slice(0, SHOWN_MAX);
  }

  private report(problems: readonly Problem[]): SoakReport {
    const { crowd, chores, uploads, lives, options, restarts } = this;
    const { sent, acked, refused, unknown, closes, errors, seconds } = crowd.figures;
    const { deliveries } = crowd.checker;
    const elapsed = (performance.now() - this.startedMs) / 1000;
    // If the metric were missing, "no fault was counted" would prove nothing.
    if (lives.faults === undefined) this.failures.push("no node has the metric parley_faults_total");
    return {
      violations: this.violations(problems),
      minutes: options.minutes,
      connections: options.connections,
      connects: crowd.connects,
      messages: { sent, acked, refused, unknown },
      messagesPerSecond: per(sent, seconds),
      deliveries,
      deliveriesPerSecond: per(deliveries, seconds),
      closes,
      errors,
      restarts: {
        drain: restarts.filter(({ ending }) => ending === "drain").length,
        kill: restarts.filter(({ ending }) => ending === "kill").length,
      },
      workersKilled: this.workersKilled,
      slowestRestartMs: Math.round(Math.max(0, ...restarts.map(({ endedMs, backMs }) => endedMs + backMs))),
      chores: chores.figures,
      uploads: uploads.figures,
      faults: lives.faults ?? null,
      memory: lives.memory,
      loadRssMib: loadMib(),
      machineCpuPercent: per((machineCpuSeconds() - this.machineFirst) * 100, elapsed),
    };
  }
}

const loadMib = (): number => Math.round(process.memoryUsage.rss() / 1024 ** 2);
const per = (count: number, seconds: number): number => Math.round(count / seconds);
const sec = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
