/** For tests: command lines that one process runs one after another, because a process for each would mostly load the program. */
import { join } from "node:path";

/** After the output of a command, which does not contain it: control characters are escaped. */
export const END = "\u0000";

export interface CommandLine {
  readonly args: readonly string[];
  /** Default: that of the command before. */
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

export class Commands {
  private readonly child = Bun.spawn([process.execPath, "--no-env-file", join(import.meta.dir, "many-commands.ts")], {
    env: { PATH: process.env.PATH ?? "" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  private readonly stdout = textsOf(this.child.stdout);
  private readonly stderr = textsOf(this.child.stderr);
  private last: Promise<unknown> = Promise.resolve();

  /** It has no input: commands that read some need a process of their own. */
  run(line: CommandLine): Promise<Ended> {
    const ended = this.last.then(() => this.runNow(line));
    this.last = ended.catch(() => undefined);
    return ended;
  }

  async stop(): Promise<void> {
    await this.child.stdin.end();
    await this.child.exited;
  }

  private async runNow(line: CommandLine): Promise<Ended> {
    this.child.stdin.write(`${JSON.stringify(line)}\n`);
    await this.child.stdin.flush();
    const [stdout, stderr] = await Promise.all([this.stdout.next(), this.stderr.next()]);
    const exitCode = await this.stderr.next();
    if (stdout.done || stderr.done || exitCode.done)
      throw new Error(`the process ended: parley ${line.args.join(" ")}`);
    return { stdout: stdout.value, stderr: stderr.value, exitCode: Number(exitCode.value) };
  }
}

/** What a stream has up to each END. */
async function* textsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true });
    const ended = text.split(END);
    text = ended.pop() ?? "";
    yield* ended;
  }
}
