/** Has a backup made by another process, and keeps everything as it needs it meanwhile: files of the stores still, bytes of recordings in place. */
import { rmSync } from "node:fs";
import { setPriority } from "node:os";
import type { Subprocess } from "bun";
import { assetPath } from "../../base/assets.ts";
import { Repeating } from "../../base/repeating.ts";
import { childEnvironment, selfCommand } from "../../base/self.ts";
import { HOLD_AGAIN_EVERY_MS, type Removals } from "../../recordings/removals.ts";
import type { HoldStill, StillFiles } from "../../store/contract/still-files.ts";
import { StoreError } from "../../store/contract/store.ts";
import { GO, type Made, type Order, type OrderedTarget, type Progress, type Report } from "./order.ts";
import { stagingOf } from "./staging.ts";

export interface RunParts extends Pick<Order, "parley" | "databaseUrl" | "storage"> {
  /** Absent: the stores are in PostgreSQL. */
  readonly holdStill: HoldStill | undefined;
  /** Absent: no service uses the recordings, so none is removed. */
  readonly removals: Pick<Removals, "hold" | "release"> | undefined;
  readonly nowMs: () => number;
  readonly failed: (error: unknown) => void;
}

export interface BackupWanted {
  readonly withRecordings: boolean;
  /** null: the archive is read from `bytes`. */
  readonly target: OrderedTarget | null;
  readonly progress?: (progress: Progress) => void;
}

export interface RunningBackup {
  /** The archive, if it has no target. To be read to its end, and not to be used unless `done` resolves. */
  readonly bytes: ReadableStream<Uint8Array>;
  /** The moment that it shows, as soon as it is known. */
  readonly at: Promise<number>;
  readonly done: Promise<Made>;
  /** Ends it; `done` rejects then. */
  stop(): void;
}

/** Below what serves people. */
const PRIORITY = 10;
const COMMAND = "make-backup";

/** Runs the same program: where it is no executable, from its sources. */
const command = (): string[] => [...selfCommand({ flags: ["--no-env-file"], main: assetPath("src/main.ts") }), COMMAND];

export function startBackup(parts: RunParts, wanted: BackupWanted): RunningBackup {
  const child = Bun.spawn(command(), {
    env: childEnvironment(COMMAND),
    stdin: "pipe",
    stdout: wanted.target === null ? "pipe" : "ignore",
    stderr: "pipe",
  });
  try {
    setPriority(child.pid, PRIORITY);
  } catch {
    // It has ended already.
  }
  const at = Promise.withResolvers<number>();
  // A caller that does not ask for it learns of a failure by `done`.
  at.promise.catch(() => undefined);
  const run = new Run(parts, wanted, child, at.resolve);
  const done = run.whole().catch((error: unknown) => {
    at.reject(error);
    throw error;
  });
  const empty = new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
  return {
    bytes: child.stdout instanceof ReadableStream ? child.stdout : empty,
    at: at.promise,
    done,
    stop: () => run.stop(),
  };
}

type Child = Subprocess<"pipe", "pipe" | "ignore", "pipe">;

class Run {
  private readonly reports: Reports;
  private isStopped = false;

  constructor(
    private readonly parts: RunParts,
    private readonly wanted: BackupWanted,
    private readonly child: Child,
    private readonly began: (atMs: number) => void,
  ) {
    this.reports = new Reports(child.stderr);
  }

  stop(): void {
    this.isStopped = true;
    this.child.kill("SIGKILL");
  }

  async whole(): Promise<Made> {
    const { parts, child } = this;
    const renewing = new Repeating(HOLD_AGAIN_EVERY_MS, async () => parts.removals?.hold(), parts.failed);
    try {
      // Before the moment of the copies: what they list stays from then on.
      await parts.removals?.hold();
      renewing.start();
      await this.expect("ready");
      const atMs = await this.copied();
      this.began(atMs);
      this.send(GO);
      return await this.expect("done");
    } finally {
      child.kill("SIGKILL");
      await child.exited;
      rmSync(stagingOf(parts.storage.data, child.pid), { recursive: true, force: true });
      await renewing.stop();
      await parts.removals?.release().catch(parts.failed);
    }
  }

  /** Returns the moment of the copies. */
  private async copied(): Promise<number> {
    const { parts } = this;
    if (!parts.holdStill) {
      const atMs = parts.nowMs();
      this.order(atMs, undefined);
      await this.expect("copied");
      return atMs;
    }
    const held = await parts.holdStill();
    try {
      this.order(held.atMs, held);
      await this.expect("copied");
    } catch (error) {
      await held.release();
      throw error;
    }
    if (await held.release()) return held.atMs;
    throw new StoreError(
      "the stores could not be paused long enough to copy them: too much was being written, or the disk is nearly full. Try again when the service is less busy, or free some space",
    );
  }

  private order(atMs: number, still: StillFiles | undefined): void {
    const { parley, databaseUrl, storage } = this.parts;
    const { withRecordings, target } = this.wanted;
    const order: Order = { parley, databaseUrl, storage, atMs, still: still?.files ?? [], withRecordings, target };
    this.send(JSON.stringify(order));
  }

  private send(line: string): void {
    this.child.stdin.write(`${line}\n`);
    this.child.stdin.flush();
  }

  private async expect<K extends Report["kind"]>(kind: K): Promise<Extract<Report, { kind: K }>> {
    for (;;) {
      const report = await this.reports.next();
      if (!report) throw new StoreError(await this.whyEnded());
      if (report.kind === kind) return report as Extract<Report, { kind: K }>;
      if (report.kind === "failed") throw new StoreError(report.why);
      if (report.kind === "progress") this.wanted.progress?.(report);
    }
  }

  private async whyEnded(): Promise<string> {
    if (this.isStopped) return "the backup was stopped";
    const code = await this.child.exited;
    const text = this.reports.otherText.trim();
    return `the process that makes the backup has ended (${this.child.signalCode ?? `exit code ${code}`})${text === "" ? "" : `: ${text}`}`;
  }
}

/** Lines of JSON that the process reports. What is none is kept for the error. */
class Reports {
  private readonly lines: AsyncGenerator<string>;
  private other = "";

  constructor(stream: ReadableStream<Uint8Array>) {
    this.lines = linesOf(stream);
  }

  get otherText(): string {
    return this.other;
  }

  async next(): Promise<Report | undefined> {
    for (;;) {
      const { value, done } = await this.lines.next();
      if (done) return undefined;
      if (value.startsWith('{"kind":')) return JSON.parse(value) as Report;
      if (this.other.length < OTHER_TEXT_MAX_CHARS) this.other += `${value.slice(0, OTHER_TEXT_MAX_CHARS)}\n`;
    }
  }
}

const OTHER_TEXT_MAX_CHARS = 2000;

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    yield* lines;
  }
}
