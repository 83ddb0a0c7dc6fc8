/** Starts programs as a user would, and waits for what they print. */
import type { Subprocess } from "bun";
import { NO_RUNTIME_FOLDER } from "../../support/command.ts";
import { PROJECT } from "./page.ts";

export interface ChildOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Timeout of `run`. */
  readonly patienceMs?: number;
}

/** A timeout for busy machines; without a failure nothing here takes that long. */
const PATIENCE_MS = 30_000;

const running = new Set<Subprocess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

export class Child {
  /** Standard output and standard error, in the order in which they arrived. */
  output = "";
  readonly exited: Promise<number>;
  private readonly child: Subprocess<"pipe", "pipe", "pipe">;
  private readonly watchers = new Set<() => void>();
  private readTo = 0;
  private over = false;

  constructor(command: readonly string[], { cwd = PROJECT, env = {} }: ChildOptions = {}) {
    this.child = Bun.spawn([...command], {
      cwd,
      env: { ...bare(), ...env },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    running.add(this.child);
    const read = Promise.all([this.collect(this.child.stdout), this.collect(this.child.stderr)]);
    this.exited = this.child.exited.then(async (code) => {
      running.delete(this.child);
      await read;
      this.over = true;
      for (const wake of this.watchers) wake();
      return code;
    });
  }

  say(line: string): void {
    this.child.stdin.write(`${line}\n`);
    this.child.stdin.flush();
  }

  hangUp(): void {
    this.child.stdin.end();
  }

  /** Resolves with the next match in the output; everything before it counts as read. */
  async writes(pattern: RegExp, patienceMs = PATIENCE_MS): Promise<RegExpExecArray> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const found = pattern.exec(this.output.slice(this.readTo));
      if (found) {
        this.readTo += found.index + found[0].length;
        return found;
      }
      if (this.over) throw new Error(`it ended without writing ${pattern}:\n${this.output}`);
      await this.more(deadline, pattern);
    }
  }

  async stop(signal: NodeJS.Signals = "SIGKILL"): Promise<number> {
    this.child.kill(signal);
    return this.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  private async more(deadline: number, pattern: RegExp): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const late = (): void => reject(new Error(`it did not write ${pattern} in time:\n${this.output}`));
    const timer = setTimeout(late, Math.max(0, deadline - performance.now()));
    this.watchers.add(resolve);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.watchers.delete(resolve);
    }
  }

  private async collect(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      this.output += decoder.decode(bytes, { stream: true });
      for (const wake of this.watchers) wake();
    }
  }
}

/** Runs a program to its end, with standard output and standard error separate. */
export async function run(
  command: readonly string[],
  { cwd = PROJECT, env = {}, patienceMs = PATIENCE_MS }: ChildOptions = {},
): Promise<{ code: number; out: string; err: string }> {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...bare(), ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  running.add(child);
  const timer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  clearTimeout(timer);
  running.delete(child);
  return { code, out, err };
}

/** The environment without PARLEY_ variables: those of the developer must not affect the tests. */
const bare = (): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || name.startsWith("PARLEY_") ? [] : [[name, value]],
    ),
  ),
  XDG_RUNTIME_DIR: NO_RUNTIME_FOLDER,
  // Contexts of who runs the tests.
  XDG_CONFIG_HOME: "/nonexistent",
});
