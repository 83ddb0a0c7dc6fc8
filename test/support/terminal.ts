/** A program on a terminal, as a person runs it: its output, and typed input. */
import { NO_RUNTIME_FOLDER } from "./command.ts";

const PROJECT = `${import.meta.dir}/../..`;

export class Terminal {
  private shown = "";
  private isDrained = false;
  private wake: () => void = () => undefined;
  /** Resolves when all output has been read. */
  private readonly drained = Promise.withResolvers<void>();
  private readonly child;

  /** Wide enough that no output wraps: tests would have to match the line breaks. */
  constructor(command: readonly string[], env: Readonly<Record<string, string>> = {}, cols = 500) {
    const decoder = new TextDecoder();
    this.child = Bun.spawn([...command], {
      cwd: PROJECT,
      env: { PATH: process.env.PATH ?? "", TERM: "xterm", XDG_RUNTIME_DIR: NO_RUNTIME_FOLDER, ...env },
      terminal: {
        cols,
        rows: 100,
        data: (_terminal: unknown, bytes: Uint8Array) => {
          this.shown += decoder.decode(bytes, { stream: true });
          this.wake();
        },
        exit: () => {
          this.isDrained = true;
          this.drained.resolve();
          this.wake();
        },
      },
    });
  }

  /** Its exit code, after all its output has been read. */
  get exited(): Promise<number> {
    return Promise.all([this.child.exited, this.drained.promise]).then(([code]) => code);
  }

  /** Waits until the output fits, and returns it. Throws if the program ends before. */
  async shows(pattern: RegExp): Promise<string> {
    for (;;) {
      const text = this.text;
      if (pattern.test(text)) return text;
      if (this.isDrained) throw new Error(`it ended and did not show ${pattern}:\n${text}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      this.wake = resolve;
      await promise;
    }
  }

  /** The output with plain line ends. */
  get text(): string {
    return this.shown.replaceAll("\r\n", "\n");
  }

  type(text: string): void {
    this.child.terminal?.write(text);
  }

  /** As the window is closed: the program gets a SIGHUP, and its terminal is gone. */
  hangUp(): void {
    this.child.terminal?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGTERM");
    await this.child.exited;
    this.child.terminal?.close();
  }
}
