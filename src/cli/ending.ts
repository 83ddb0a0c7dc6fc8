/**
 * How a server's process ends. A signal: the node drains, exit code 0; the same signal again ends at once. An exception that no
 * boundary has caught: the state of the process is in doubt, so the node drains too and ends with 1, which makes a supervisor
 * (systemd, Docker, Kubernetes) start it again.
 */
import type { Log } from "../telemetry/log.ts";

/** Under `npm start` one Ctrl-C arrives as two signals within a millisecond: only a later one means "at once". */
const SECOND_SIGNAL_MS = 1000;
/** A broken process may throw with everything it does while it drains. */
const FATAL_LINES_MAX = 10;

export interface EndingParts {
  readonly stop: () => Promise<void>;
  readonly log: Pick<Log, "info" | "fatal">;
  /** After an uncaught exception the drain may hang: then it is cut short. */
  readonly drainMaxMs: number;
  readonly exit: (code: number) => void;
}

export class Ending {
  private signalledMs = 0;
  private uncaughtCount = 0;
  private isDraining = false;

  constructor(private readonly parts: EndingParts) {}

  signalled(signal: string): void {
    const nowMs = performance.now();
    if (this.signalledMs > 0) {
      if (nowMs - this.signalledMs >= SECOND_SIGNAL_MS) this.parts.exit(1);
      return;
    }
    this.signalledMs = nowMs;
    this.parts.log.info({ signal }, "stopping; the same signal again ends at once");
    void this.drain();
  }

  /** Of any kind: thrown, or a promise that was rejected. Several of them begin one drain. */
  uncaught(error: unknown): void {
    const { log, drainMaxMs, exit } = this.parts;
    if (++this.uncaughtCount <= FATAL_LINES_MAX)
      log.fatal({ err: error }, "an exception that nothing caught; this node drains and ends with exit code 1");
    if (this.uncaughtCount > 1) return;
    setTimeout(() => exit(1), drainMaxMs).unref();
    void this.drain();
  }

  private async drain(): Promise<void> {
    if (this.isDraining) return;
    this.isDraining = true;
    const { stop, log, exit } = this.parts;
    try {
      await stop();
      log.info("stopped");
    } catch (error) {
      this.uncaughtCount++;
      log.fatal({ err: error }, "the node could not be stopped as it should");
    }
    exit(this.uncaughtCount > 0 ? 1 : 0);
  }
}
