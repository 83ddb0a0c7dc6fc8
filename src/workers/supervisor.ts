/**
 * Runs the workers of a service: starts them, replaces those that end or fall silent, restarts them one after another on request, and
 * stops them. It serves no clients itself. Its process holds the locks of the ports and the embedded stores (service.ts).
 * There is one slot more than workers: a worker is replaced by one in the free slot, which is ready before the old one drains.
 */
import { childEnvironment } from "../base/self.ts";
import type { Loaded } from "../config/load.ts";
import { CALLED_AS, PROGRAM_VARIABLE } from "../config/program.ts";
import type { TeamState } from "../node/parts/team.ts";
import type { Log } from "../telemetry/log.ts";
import { VERSION } from "../version.ts";
import { Gathering } from "./gathering.ts";
import {
  DRAIN_SLACK_MS,
  RESTART_FIRST_WAIT_MS,
  RESTART_WAIT_MAX_MS,
  SILENT_MAX_MS,
  STABLE_AFTER_MS,
  WATCH_EVERY_MS,
} from "./limits.ts";
import { type LineServer, serveLines } from "./lines.ts";
import { type FromWorker, OTHER_VERSION, type Ready, type ToWorker } from "./messages.ts";
import { controlSocket } from "./run-folder.ts";
import { teamState } from "./team-state.ts";
import { type WorkerLines, WorkerProcess } from "./worker-process.ts";

interface SupervisorParts extends Pick<Loaded, "config" | "sources"> {
  readonly nodeId: string;
  readonly count: number;
  /** The folder of the sockets. */
  readonly folder: string;
  /** Runs Parley's command line; the command with its operands is added. */
  readonly command: readonly string[];
  readonly log: Log;
}

export const STILL_STARTING = "the service is still starting. Try again when it is ready";

/** A restart that waits. */
interface Waiting {
  readonly timer: ReturnType<typeof setTimeout>;
}

export class Supervisor {
  /** Bound: one per slot. */
  private readonly workers = new Map<number, WorkerProcess>();
  /** Slots whose next start waits. Bound: one per slot. */
  private readonly waiting = new Map<number, Waiting>();
  /** Failures of a slot in a row, for the wait before the next start. Bound: one per slot. */
  private readonly failures = new Map<number, number>();
  private readonly gathering: Gathering;
  private readonly server: LineServer;
  private readonly watch: ReturnType<typeof setInterval>;
  private watchedMs = performance.now();
  /** Why the last worker could not start, if it is of another version. */
  private misfit: Readonly<Record<string, string>> = {};
  private isComplete = false;
  private isStopping = false;
  private stopped: Promise<void> | undefined;
  private reloading: Promise<number> | undefined;

  constructor(private readonly parts: SupervisorParts) {
    const { nodeId, count, folder } = parts;
    this.gathering = new Gathering({ nodeId, count, workers: () => this.live });
    this.server = serveLines<FromWorker, ToWorker>(controlSocket(folder), (lines) => this.accepted(lines));
    this.watch = setInterval(() => this.killSilent(), WATCH_EVERY_MS);
  }

  /** Resolves with what the first worker has reported when all are ready; rejects with the reason of the first that cannot start. */
  async start(): Promise<Ready> {
    // The first one alone: on an empty store it makes the first start, and if it fails, one sentence says why.
    const first = await this.launch(0).ready;
    await Promise.all(Array.from({ length: this.parts.count - 1 }, (_, at) => this.launch(at + 1).ready));
    this.isComplete = true;
    this.topUp();
    return first;
  }

  /** Replaces all workers, one after another. Resolves with how many; rejects if a new one cannot start, and keeps the others. */
  reload(): Promise<number> {
    this.reloading ??= this.replaceAll().finally(() => {
      this.reloading = undefined;
      this.topUp();
    });
    return this.reloading;
  }

  reloadTls(): void {
    for (const worker of this.live) worker.send({ type: "reload-tls" });
  }

  /** Drains all workers. Resolves when they have ended. */
  stop(): Promise<void> {
    this.stopped ??= this.end();
    return this.stopped;
  }

  private async end(): Promise<void> {
    this.isStopping = true;
    for (const { timer } of this.waiting.values()) clearTimeout(timer);
    this.waiting.clear();
    this.announce();
    const workers = [...this.workers.values()];
    for (const worker of workers) worker.drain();
    await this.within(workers);
    clearInterval(this.watch);
    this.server.close();
  }

  /** Ends all workers at once. */
  kill(): void {
    for (const worker of this.workers.values()) worker.kill();
  }

  private get live(): WorkerProcess[] {
    return [...this.workers.values()].filter(({ state }) => state === "ready" || state === "draining");
  }

  private get state(): TeamState {
    const { count } = this.parts;
    return teamState({ workers: this.live, count, isStopping: this.isStopping, reports: this.misfit });
  }

  private launch(slot: number): WorkerProcess {
    if (this.isStopping) throw new Error("the service is stopping");
    const { command, folder } = this.parts;
    const child = Bun.spawn([...command, "worker", String(slot), folder], {
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
      env: childEnvironment("worker", { ...process.env, [PROGRAM_VARIABLE]: CALLED_AS }),
    });
    const worker = new WorkerProcess(slot, child, performance.now());
    this.workers.set(slot, worker);
    void worker.ended.then((how) => this.hasEnded(worker, how));
    return worker;
  }

  private accepted(lines: WorkerLines): void {
    let worker: WorkerProcess | undefined;
    lines.events = {
      received: (message) => {
        if (worker) return this.received(worker, message);
        if (message.type === "reload") return void this.reloadFor(lines);
        if (message.type !== "hello") return lines.cut();
        const known = this.workers.get(message.slot);
        // A process of an earlier start may still be there.
        if (known?.pid !== message.pid) return lines.cut();
        worker = known;
        worker.attach(lines);
        // First: before it starts anything, it knows which others there are.
        worker.send({ type: "state", ...this.state });
        worker.send(this.beginOf(message.slot));
      },
      // A worker ends when it loses its supervisor, and the end of its process is what counts.
      closed: () => undefined,
    };
  }

  private beginOf(slot: number): ToWorker {
    const { config, sources, nodeId, count } = this.parts;
    return { type: "begin", version: VERSION, config, sources, nodeId: `${nodeId}-${slot}`, slots: count + 1 };
  }

  private received(worker: WorkerProcess, message: FromWorker): void {
    worker.heardMs = performance.now();
    switch (message.type) {
      case "ready": {
        worker.becameReady(message, performance.now());
        this.misfit = {};
        this.parts.log.info({ worker: worker.slot, workerPid: worker.pid }, "worker is ready");
        return this.announce();
      }
      case "failed":
        if (message.code === OTHER_VERSION) this.misfit = { versions: message.message };
        return worker.failedWith(message);
      case "took":
        for (const other of this.live) if (other !== worker) other.send(message);
        return;
      case "report":
        worker.report = message.found;
        return this.announce();
      case "full":
        worker.isFull = message.isFull;
        return this.announce();
      case "gather":
        return void this.gathering.page().then((text) => worker.send({ type: "gathered", id: message.id, text }));
      case "draining":
        return this.leaves(worker);
      case "measured":
        return this.gathering.measured(worker, message.id, message.text);
      case "ending":
        return this.gathering.ending(worker, message.text);
      case "beat":
      case "hello":
      case "reload":
        return;
    }
  }

  private leaves(worker: WorkerProcess): void {
    if (worker.isDismissed) return;
    this.parts.log.warn({ worker: worker.slot, workerPid: worker.pid }, "a worker is draining by itself");
    worker.leaves();
    this.announce();
    this.topUp();
    // It has its slot until it has ended.
    void this.within([worker]);
  }

  private async reloadFor(lines: WorkerLines): Promise<void> {
    try {
      lines.send({ type: "reloaded", workers: await this.reload() });
    } catch (error) {
      lines.send({ type: "refused", message: (error as Error).message });
    }
  }

  private async replaceAll(): Promise<number> {
    if (!this.isComplete) throw new Error(STILL_STARTING);
    const { log, count } = this.parts;
    log.info("replacing the workers one by one");
    const slots = [...this.workers.keys(), ...this.waiting.keys()];
    for (const slot of slots) {
      if (this.isStopping) throw new Error("the service is stopping");
      await this.replace(slot);
    }
    log.info({ workers: count }, "all workers were replaced");
    return slots.length;
  }

  private async replace(slot: number): Promise<void> {
    const free = this.freeSlot();
    if (free === undefined) throw new Error("there is no free slot for a new worker; try again");
    try {
      await this.launch(free).ready;
    } catch (error) {
      throw new Error(`a new worker could not start; the others keep running: ${(error as Error).message}`);
    }
    // The old one may have ended meanwhile, and wait for its own replacement.
    this.cancel(slot);
    const old = this.workers.get(slot);
    if (!old) return;
    old.drain();
    this.announce();
    await this.within([old]);
  }

  private freeSlot(): number | undefined {
    for (let slot = 0; slot <= this.parts.count; slot++)
      if (!this.workers.has(slot) && !this.waiting.has(slot)) return slot;
    return undefined;
  }

  /** How many workers there are or will be, without those that leave. */
  private get kept(): number {
    return [...this.workers.values()].filter(({ state }) => state !== "draining").length + this.waiting.size;
  }

  private hasEnded(worker: WorkerProcess, how: string): void {
    const { slot, pid } = worker;
    const isExpected = worker.isDismissed;
    this.gathering.hasEnded(worker, isExpected);
    if (this.workers.get(slot) === worker) this.workers.delete(slot);
    if (wasStable(worker)) this.failures.delete(slot);
    this.announce();
    if (isExpected) return this.topUp();
    if (this.isStopping || !this.isComplete) return;
    // Enough without it: the worker that it was to replace in a reload still runs, or its own replacement is there already.
    if (this.kept >= this.parts.count) return;
    const waitMs = this.waitOf(slot);
    this.parts.log.error({ worker: slot, workerPid: pid, waitMs }, `a worker ended ${how}; replacing it`);
    this.launchLater(slot, waitMs);
  }

  /** Replaces workers that leave by themselves, or have ended while others were starting or being replaced. */
  private topUp(): void {
    if (this.isStopping || !this.isComplete || this.reloading) return;
    while (this.kept < this.parts.count) {
      const slot = this.freeSlot();
      // The end of one that leaves frees its slot, and leads here again.
      if (slot === undefined) return;
      // `worker` is the slot of its replacement: which one is missing is not known here.
      this.parts.log.error({ worker: slot }, "a worker is missing; replacing it");
      this.launchLater(slot, this.waitOf(slot));
    }
  }

  private launchLater(slot: number, waitMs: number): void {
    const timer = setTimeout(() => {
      this.waiting.delete(slot);
      try {
        this.launch(slot);
      } catch (err) {
        // The system has no memory or no process id left for it.
        this.parts.log.error({ err, worker: slot }, "a worker could not be started; trying again");
        this.launchLater(slot, this.waitOf(slot));
      }
    }, waitMs);
    this.waiting.set(slot, { timer });
  }

  private waitOf(slot: number): number {
    const failures = this.failures.get(slot) ?? 0;
    this.failures.set(slot, failures + 1);
    return failures === 0 ? 0 : Math.min(RESTART_WAIT_MAX_MS, RESTART_FIRST_WAIT_MS * 2 ** (failures - 1));
  }

  private cancel(slot: number): void {
    clearTimeout(this.waiting.get(slot)?.timer);
    this.waiting.delete(slot);
  }

  private killSilent(): void {
    const nowMs = performance.now();
    const lateMs = nowMs - this.watchedMs - WATCH_EVERY_MS;
    this.watchedMs = nowMs;
    for (const worker of this.workers.values()) {
      // This process itself stood still: what was sent meanwhile has not been read.
      if (lateMs > SILENT_MAX_MS / 2) worker.heardMs = nowMs;
      if (!worker.isHanging(nowMs)) continue;
      const silentMs = Math.round(nowMs - worker.heardMs);
      const { slot, pid } = worker;
      this.parts.log.error({ worker: slot, workerPid: pid }, `a worker was silent for ${silentMs} ms; killing it`);
      worker.kill();
    }
  }

  /** Tells all workers how many are ready. */
  private announce(): void {
    const { state } = this;
    for (const worker of this.workers.values()) worker.send({ type: "state", ...state });
  }

  /** Resolves when the workers have ended; those that take too long are killed. */
  private async within(workers: readonly WorkerProcess[]): Promise<void> {
    const maxMs = 2 * this.parts.config.drainSeconds * 1000 + DRAIN_SLACK_MS;
    const timer = setTimeout(() => {
      for (const worker of workers) worker.kill();
    }, maxMs);
    await Promise.all(workers.map(({ ended }) => ended));
    clearTimeout(timer);
  }
}

const wasStable = ({ readyMs }: WorkerProcess): boolean =>
  readyMs !== undefined && performance.now() - readyMs >= STABLE_AFTER_MS;
