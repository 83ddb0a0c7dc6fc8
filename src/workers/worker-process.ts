/** One worker process, from its start to its end: what it reports, and what is sent to it. */
import type { Subprocess } from "bun";
import { type Activity, activityOf, isAtWork } from "./activity.ts";
import { BUSY_MAX_MS, SILENT_MAX_MS, START_MAX_MS } from "./limits.ts";
import type { Lines } from "./lines.ts";
import type { FromWorker, Ready, StartReport, ToWorker } from "./messages.ts";

export type WorkerLines = Lines<FromWorker, ToWorker>;

/** A worker could not start; `report` is its reason, if it gave one. */
export class WorkerFailed extends Error {
  constructor(
    message: string,
    readonly report?: StartReport,
  ) {
    super(message);
  }
}

export type WorkerState = "starting" | "ready" | "draining" | "ended";

export class WorkerProcess {
  readonly ready: Promise<Ready>;
  /** Resolves when the process is gone, with how it ended. */
  readonly ended: Promise<string>;
  readonly startedMs: number;
  /** When it was last heard of. */
  heardMs: number;
  readyMs: number | undefined;
  /** What it last reported that does not work. */
  report: Readonly<Record<string, string>> = {};
  /** It can hold no more connections. */
  isFull = false;
  /** Its supervisor drains it: its end is expected. One that drains by itself has the state `draining` only. */
  isDismissed = false;
  private current: WorkerState = "starting";
  private readonly started = Promise.withResolvers<Ready>();
  private startReport: StartReport | undefined;
  /** When it was last asked, if it was silent then. */
  private activity: Activity | undefined;
  private lines: WorkerLines | undefined;

  constructor(
    readonly slot: number,
    private readonly child: Subprocess,
    nowMs: number,
  ) {
    this.startedMs = nowMs;
    this.heardMs = nowMs;
    this.ready = this.started.promise;
    // The callers that wait for it get the error; without one it is no unhandled rejection.
    this.ready.catch(() => undefined);
    this.ended = child.exited.then(() => this.exited());
  }

  get state(): WorkerState {
    return this.current;
  }

  get pid(): number {
    return this.child.pid;
  }

  /** Its connection, once it has made one. */
  attach(lines: WorkerLines): void {
    this.lines = lines;
  }

  send(message: ToWorker): void {
    if (this.current !== "ended") this.lines?.send(message);
  }

  becameReady(ready: Ready, nowMs: number): void {
    if (this.current !== "starting") return;
    this.current = "ready";
    this.readyMs = nowMs;
    this.started.resolve(ready);
  }

  failedWith(report: StartReport): void {
    this.startReport = report;
  }

  drain(): void {
    if (this.current === "ended") return;
    this.current = "draining";
    this.isDismissed = true;
    // Before it has connected, there is nothing to drain.
    if (this.lines) this.send({ type: "drain" });
    else this.kill();
  }

  /** It drains by itself, after a signal or an exception: its end is not expected. */
  leaves(): void {
    if (this.current !== "ended") this.current = "draining";
  }

  /** It is silent for too long. To be asked again and again: one that works is given more time. */
  isHanging(nowMs: number): boolean {
    if (this.current === "starting") return nowMs - this.startedMs > START_MAX_MS;
    const silentMs = nowMs - this.heardMs;
    const before = this.activity;
    this.activity = silentMs < SILENT_MAX_MS ? undefined : activityOf(this.pid);
    if (silentMs < SILENT_MAX_MS) return false;
    return silentMs > BUSY_MAX_MS || !isAtWork(this.activity, before);
  }

  kill(): void {
    this.child.kill("SIGKILL");
  }

  private exited(): string {
    this.current = "ended";
    const { exitCode, signalCode } = this.child;
    const how = signalCode === null ? `with exit code ${exitCode}` : `by ${signalCode}`;
    this.started.reject(
      new WorkerFailed(this.startReport?.message ?? `a worker ended ${how} while it started`, this.startReport),
    );
    return how;
  }
}
