/** For tests: a command that keeps running. */
import { NO_RUNTIME_FOLDER, parleyCommand } from "../../../test/support/command.ts";
import { until } from "../../../test/support/wait.ts";

export class Running {
  stdout = "";
  stderr = "";
  readonly exited: Promise<number>;
  private readonly child;

  constructor(args: readonly string[], env: Readonly<Record<string, string>>) {
    this.child = Bun.spawn(parleyCommand(...args), {
      env: { PATH: process.env.PATH ?? "", XDG_RUNTIME_DIR: NO_RUNTIME_FOLDER, ...env },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    const read = async (stream: ReadableStream<Uint8Array>, name: "stdout" | "stderr"): Promise<void> => {
      for await (const bytes of stream) this[name] += new TextDecoder().decode(bytes);
    };
    const all = Promise.all([read(this.child.stdout, "stdout"), read(this.child.stderr, "stderr")]);
    this.exited = this.child.exited.then(async (code) => {
      await all;
      return code;
    });
  }

  /** Waits until stdout or stderr has it. */
  async has(name: "stdout" | "stderr", text: string): Promise<void> {
    await until(`${name} has ${text}`, () => {
      if (this[name].includes(text)) return true;
      if (this.child.exitCode !== null) throw new Error(`it ended without ${text}: ${this.stdout}${this.stderr}`);
      return false;
    });
  }

  /** The lines of stdout, each as JSON. */
  get json(): Record<string, unknown>[] {
    return this.stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }

  type(text: string): void {
    this.child.stdin.write(text);
    void this.child.stdin.flush();
  }

  async endInput(): Promise<void> {
    await this.child.stdin.end();
  }

  stop(signal: "SIGINT" | "SIGTERM" | "SIGKILL" = "SIGINT"): Promise<number> {
    this.child.kill(signal);
    return this.exited;
  }
}
