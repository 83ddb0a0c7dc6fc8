/** As shells report a program that Ctrl-C has ended: 128 and the number of the signal. */
export const INTERRUPTED = 130;

/** The first Ctrl-C ends the work of a command, which then reports what it has; the second one ends the process. */
export class Interrupt {
  private readonly controller = new AbortController();
  private readonly abort = (): void => this.controller.abort();

  constructor() {
    process.once("SIGINT", this.abort);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get happened(): boolean {
    return this.signal.aborted;
  }

  /** Resolves after that time, or when it happens. */
  async within(ms: number): Promise<void> {
    if (this.happened) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    clearTimeout(timer);
  }

  [Symbol.dispose](): void {
    process.off("SIGINT", this.abort);
  }
}
