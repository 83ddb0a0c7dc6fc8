/**
 * Faults: exceptions that no code expected. Boundaries around timers, socket events and engine callbacks catch them, so that a
 * fault costs one connection or one channel and never the process. This file counts and logs them.
 */
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";

/** Where a fault was caught. */
export type FaultPlace = "timer" | "socket" | "engine" | "history";

/** For code that only reports faults. */
export type FaultLog = Pick<Faults, "caught">;

/** The text of an error may quote input of any length, so it is cut. */
const TEXT_MAX_CHARS = 4000;

export class Faults {
  private readonly counters;

  constructor(
    private readonly log: Pick<Log, "error">,
    metrics: Metrics,
  ) {
    const counters = metrics.counters("parley_faults_total", "Unexpected exceptions that were caught, by place.");
    this.counters = {
      timer: counters({ where: "timer" }),
      socket: counters({ where: "socket" }),
      engine: counters({ where: "engine" }),
      history: counters({ where: "history" }),
    };
  }

  /** Never throws. A fault may repeat with every frame: the log writes a few lines per `cause` and counts the rest. */
  caught(where: FaultPlace, error: unknown, context: Readonly<Record<string, unknown>> = {}): void {
    this.counters[where].inc();
    try {
      const fields = { where, cause: placeInCode(error), ...context, err: causeOf(error) };
      this.log.error(fields, "an unexpected exception was caught; everything else keeps running");
    } catch {
      // An error that cannot be described, such as one whose getters throw. It has been counted.
    }
  }

  /** Wraps a callback so that it neither throws nor rejects. */
  guarded(where: FaultPlace, callback: () => unknown): () => void {
    return () => {
      try {
        const done = callback();
        if (done instanceof Promise) done.catch((error) => this.caught(where, error));
      } catch (error) {
        this.caught(where, error);
      }
    };
  }
}

/** The type and line of code, without the message: that may quote input, and would make every fault a separate cause. */
function placeInCode(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const [frame = ""] = /^\s+at .*$/m.exec(error.stack ?? "") ?? [];
  return `${error.name} ${frame.trim()}`.slice(0, 300);
}

function causeOf(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error).slice(0, TEXT_MAX_CHARS) };
  const { name, message, stack = "" } = error;
  return { type: name, message: message.slice(0, TEXT_MAX_CHARS), stack: stack.slice(0, TEXT_MAX_CHARS) };
}
