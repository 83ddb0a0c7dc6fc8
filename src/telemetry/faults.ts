/**
 * Faults of our own: exceptions that no code expected. A boundary around timers, socket events and engine callbacks catches
 * them, so that a fault costs one connection or one channel and never the process. Here they are counted and logged.
 */
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";

/** Where a fault was caught. */
export type FaultPlace = "timer" | "socket" | "engine";

/** For code that only reports faults. */
export type FaultLog = Pick<Faults, "caught">;

/** A fault may repeat with every frame: each cause gets so many log lines a minute, then one line with the number of the others. */
const LINES_PER_WINDOW = 5;
const WINDOW_MS = 60_000;
/** Causes that are told apart at the same time; the rest share one entry per place. */
const CAUSES_MAX = 100;
/** An error's text may hold input: it is cut. */
const TEXT_MAX_CHARS = 4000;

interface Window {
  lines: number;
  more: number;
}

export class Faults {
  private readonly counters;
  private readonly windows = new Map<string, Window>();

  constructor(
    private readonly log: Pick<Log, "error">,
    metrics: Metrics,
  ) {
    const counters = metrics.counters("parley_faults_total", "Unexpected exceptions that were caught, by place.");
    this.counters = {
      timer: counters({ where: "timer" }),
      socket: counters({ where: "socket" }),
      engine: counters({ where: "engine" }),
    };
  }

  /** Never throws. */
  caught(where: FaultPlace, error: unknown, context: Readonly<Record<string, unknown>> = {}): void {
    this.counters[where].inc();
    try {
      const window = this.windowOf(where, error);
      if (window.lines < LINES_PER_WINDOW) {
        window.lines++;
        this.log.error({ where, ...context, err: causeOf(error) }, "a fault was caught; everything else goes on");
      } else window.more++;
    } catch {
      // An error that cannot even be described, such as one whose getters throw: it has been counted.
    }
  }

  /** The same callback inside a boundary; one that returns a promise may reject as well. */
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

  private windowOf(where: FaultPlace, error: unknown): Window {
    const own = `${where} ${placeInCode(error)}`;
    const cause = this.windows.has(own) || this.windows.size < CAUSES_MAX ? own : `${where} (others)`;
    const open = this.windows.get(cause);
    if (open) return open;
    const window: Window = { lines: 0, more: 0 };
    this.windows.set(cause, window);
    setTimeout(() => this.close(cause, window), WINDOW_MS).unref();
    return window;
  }

  private close(cause: string, { more }: Window): void {
    this.windows.delete(cause);
    if (more > 0) this.log.error({ cause }, `a fault was caught: and ${more} more like this within a minute`);
  }
}

/** Type and line of code, not the message: that may hold input, and would make every fault a cause of its own. */
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
