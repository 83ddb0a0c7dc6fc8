/** `parley make-backup`: the process that src/durable/backup/run.ts starts. */
import { makeBackup } from "../../../durable/backup/make.ts";
import type { Report } from "../../../durable/backup/order.ts";
import type { Input } from "../../line/input.ts";

export async function makeBackupCommand(_: Input): Promise<undefined> {
  const lines = new Lines();
  const report = (one: Report): void => void process.stderr.write(`${JSON.stringify(one)}\n`);
  try {
    await makeBackup({ line: () => lines.next(), report, write });
  } catch (error) {
    report({ kind: "failed", why: error instanceof Error ? error.message : String(error) });
  }
  // Standard input is still open: the service waits for the end of this process.
  process.exit(0);
}

/** Resolves when the reader has taken it, so that nothing piles up here. */
async function write(bytes: Uint8Array): Promise<void> {
  if (process.stdout.write(bytes)) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  process.stdout.once("drain", resolve);
  await promise;
}

/** Lines of standard input. When it ends and no line is waited for, the service was killed, and the backup is not wanted any more. */
class Lines {
  /** Bound: an order and a word. */
  private readonly ready: string[] = [];
  private waiting: ((line: string | undefined) => void) | undefined;
  private text = "";

  constructor() {
    const end = (): void => {
      if (!this.waiting) process.exit(1);
      this.waiting(undefined);
    };
    process.stdin.setEncoding("utf8");
    process.stdin
      .on("data", (chunk: string) => this.add(chunk))
      .on("end", end)
      .on("error", end);
  }

  async next(): Promise<string | undefined> {
    const line = this.ready.shift();
    if (line !== undefined) return line;
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.waiting = resolve;
    return promise;
  }

  private add(chunk: string): void {
    const lines = (this.text + chunk).split("\n");
    this.text = lines.pop() ?? "";
    for (const line of lines) {
      const { waiting } = this;
      this.waiting = undefined;
      if (waiting) waiting(line);
      else this.ready.push(line);
    }
  }
}
