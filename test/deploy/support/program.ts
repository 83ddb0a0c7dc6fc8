/** Third-party programs: run until they exit, or as long as a test needs them. */
import type { Subprocess } from "bun";

export interface Ended {
  readonly code: number;
  readonly output: string;
}

export async function run(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const child = Bun.spawn([...command], {
    env: { ...process.env, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, output: out + err };
}

/** A program that runs until it is stopped. */
export class Running {
  output = "";
  private readonly child: Subprocess<"ignore", "pipe", "pipe">;

  constructor(command: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.child = Bun.spawn([...command], {
      env: { ...process.env, ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    void this.collect(this.child.stdout);
    void this.collect(this.child.stderr);
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  async stop(): Promise<void> {
    this.child.kill("SIGTERM");
    await this.child.exited;
  }

  private async collect(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of stream) this.output += decoder.decode(bytes, { stream: true });
  }
}
