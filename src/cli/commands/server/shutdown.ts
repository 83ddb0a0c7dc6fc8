/**
 * How a server process ends. After a signal the node drains and exits with 0; a second signal ends it at once. After an exception
 * that no boundary has caught, the state of the process is unknown: the node drains too and exits with 1, so that a supervisor
 * (systemd, Docker, Kubernetes) restarts it.
 */
import type { Log } from "../../../telemetry/log.ts";

/** Under `npm start` one Ctrl-C arrives as two signals within a millisecond, so only a later signal counts as the second one. */
const SECOND_SIGNAL_MS = 1000;
/** While it drains, a broken process may throw with everything it does. */
const FATAL_LINES_MAX = 10;

interface ShutdownParts {
  readonly stop: () => Promise<void>;
  readonly log: Pick<Log, "info" | "fatal">;
  /** After an uncaught exception the drain may hang, so it has this timeout. */
  readonly drainMaxMs: number;
  readonly exit: (code: number) => void;
}

export class Shutdown {
  private signalledMs = 0;
  private uncaughtCount = 0;
  private isDraining = false;

  constructor(private readonly parts: ShutdownParts) {}

  signalled(signal: string): void {
    const nowMs = performance.now();
    if (this.signalledMs > 0) {
      if (nowMs - this.signalledMs >= SECOND_SIGNAL_MS) this.parts.exit(1);
      return;
    }
    this.signalledMs = nowMs;
    this.parts.log.info({ signal }, "stopping; send the signal again to stop immediately");
    void this.drain();
  }

  /** By a supervisor, which may ask more than once: unlike a second signal, that does not cut a drain short. */
  asked(): void {
    if (!this.isDraining) this.signalled("drain");
  }

  /** For thrown exceptions and rejected promises. Only the first one starts a drain. */
  uncaught(error: unknown): void {
    const { log, drainMaxMs, exit } = this.parts;
    if (++this.uncaughtCount <= FATAL_LINES_MAX)
      log.fatal({ err: error }, "uncaught exception; this node is draining and will exit with code 1");
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
      log.fatal({ err: error }, "the node could not be stopped cleanly");
    }
    exit(this.uncaughtCount > 0 ? 1 : 0);
  }
}
