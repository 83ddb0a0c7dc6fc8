/** The metrics of all workers as one page: asked of them when a worker is asked, and kept of those that have ended. */
import { Metrics, processMetrics } from "../telemetry/metrics.ts";
import { VERSION } from "../version.ts";
import { MetricsSum } from "./metrics-sum.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** A worker that takes longer is left out: its last page counts. */
const MEASURE_MS = 1000;

interface Asked {
  /** Those that have not answered. Bound: one per worker. */
  readonly left: Set<WorkerProcess>;
  readonly done: () => void;
}

interface GatheringParts {
  readonly nodeId: string;
  /** Those that are ready or drain. */
  readonly workers: () => readonly WorkerProcess[];
  readonly count: number;
}

export class Gathering {
  private readonly own = new Metrics();
  private readonly restarts;
  /** The last page of each worker. Bound: one per worker. */
  private readonly pages = new Map<WorkerProcess, string>();
  /** The counts of workers that have ended. */
  private ended = "";
  /** Bound: one at a time, and at most MEASURE_MS each. */
  private readonly asked = new Map<number, Asked>();
  private lastId = 0;
  private running: Promise<string> | undefined;

  constructor(private readonly parts: GatheringParts) {
    processMetrics(this.own, VERSION, parts.nodeId);
    this.own.gauge("parley_workers", "Worker processes that should run.", () => parts.count);
    this.own.gauge(
      "parley_workers_ready",
      "Worker processes that take connections.",
      () => parts.workers().filter(({ state }) => state === "ready").length,
    );
    this.restarts = this.own.counter(
      "parley_worker_restarts_total",
      "Workers that ended by themselves or were killed.",
    );
  }

  /** Requests at the same time share an answer. */
  page(): Promise<string> {
    this.running ??= this.gather().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  measured(worker: WorkerProcess, id: number, text: string): void {
    this.keep(worker, text);
    const asked = this.asked.get(id);
    if (asked?.left.delete(worker) && asked.left.size === 0) asked.done();
  }

  /** The last page of a worker that drains. */
  ending(worker: WorkerProcess, text: string): void {
    this.keep(worker, text);
  }

  private keep(worker: WorkerProcess, text: string): void {
    // What is read from the socket of a process that is gone would stay in the sums, because it ends only once.
    if (worker.state !== "ended") this.pages.set(worker, text);
  }

  hasEnded(worker: WorkerProcess, isExpected: boolean): void {
    if (!isExpected) this.restarts.inc();
    const text = this.pages.get(worker);
    this.pages.delete(worker);
    for (const { left, done } of this.asked.values()) if (left.delete(worker) && left.size === 0) done();
    if (text === undefined) return;
    const sum = new MetricsSum();
    sum.addEnded(this.ended);
    sum.addEnded(text);
    this.ended = sum.text();
  }

  private async gather(): Promise<string> {
    const workers = this.parts.workers();
    const id = ++this.lastId;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.asked.set(id, { left: new Set(workers), done: resolve });
    const timer = setTimeout(resolve, MEASURE_MS);
    for (const worker of workers) worker.send({ type: "measure", id });
    if (workers.length > 0) await promise;
    clearTimeout(timer);
    this.asked.delete(id);
    const sum = new MetricsSum();
    sum.add({ worker: "supervisor", text: this.own.text() });
    sum.addEnded(this.ended);
    const pages = [...this.pages].toSorted(([one], [other]) => one.slot - other.slot);
    for (const [{ slot }, text] of pages) sum.add({ worker: String(slot), text });
    return sum.text();
  }
}
