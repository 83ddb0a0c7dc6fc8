/** Work in the background at an interval, one run at a time. What it throws goes to `failed`, and the next run comes as usual. */
export class Repeating {
  private timer: ReturnType<typeof setInterval> | undefined;
  private running: Promise<void> | undefined;

  constructor(
    private readonly everyMs: number,
    private readonly work: () => void | Promise<void>,
    private readonly failed: (error: unknown) => void,
  ) {}

  start(): void {
    // No boundary: it catches and reports what its work throws.
    this.timer = setInterval(() => this.runNow(), this.everyMs);
  }

  /** Besides the interval, unless it is running. */
  runNow(): void {
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
  }

  /** Resolves when nothing runs any more. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }

  private async run(): Promise<void> {
    try {
      await this.work();
    } catch (error) {
      this.failed(error);
    }
  }
}
