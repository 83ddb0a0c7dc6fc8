/**
 * Mends in a process of its own: a hostile file can make the library loop, or take all memory, and then costs this process only.
 *
 * The process gets nothing of the environment, and a temporary folder, so that it holds no secret. It is killed when it takes too long, too much memory
 * or too much space. It ends by itself when its standard input does, which happens when the service is killed.
 */
import { readFile, stat } from "node:fs/promises";
import { setPriority } from "node:os";
import { dirname } from "node:path";
import type { Subprocess } from "bun";
import { assetPath } from "../../base/assets.ts";
import { childEnvironment, selfCommand, selfFlags } from "../../base/self.ts";
import { plainLine } from "../../telemetry/printable.ts";
import {
  MEND_ANSWER_MAX_BYTES,
  MEND_LIMITS,
  MEND_REASON_MAX_CHARS,
  MEND_WATCH_EVERY_MS,
  type MendLimits,
} from "./limits.ts";
import { type Mended, type Mender, type MenderInput, MendingStopped } from "./mender.ts";

interface ProcessMenderParts {
  /** Runs Parley's command line; the command with its operands is added. */
  readonly command: readonly string[];
  readonly limits?: MendLimits;
}

/** Less memory, for somewhat more time. */
const SMALL = "--smol";

/** The same program as this one: where it is no executable, from its sources, which are beside it in an image and in a package too. */
export const MEND_COMMAND: readonly string[] = selfCommand({
  flags: ["--no-env-file", SMALL],
  main: assetPath("src/main.ts"),
});

type Child = Subprocess<"pipe", "pipe", "ignore">;

/** Below everything that serves people: the priority of a process goes from -20, the highest, to 19. */
const PRIORITY = 15;
/**
 * Where memory runs out, the system kills this process, and not the service. The limit of CPU time ends a process that loops without a
 * pause when the service is gone that would kill it. `exec`: the process keeps the id of the shell.
 */
const LIMITED = 'echo 1000 2>/dev/null >/proc/self/oom_score_adj; ulimit -c 0; ulimit -t "$1"; shift; exec "$@"';

export class ProcessMender implements Mender {
  private readonly limits: MendLimits;
  private child: Child | undefined;
  private isStopped = false;

  constructor(private readonly parts: ProcessMenderParts) {
    this.limits = parts.limits ?? MEND_LIMITS;
  }

  async mend(input: MenderInput, output: string): Promise<Mended> {
    if (input.format === "other") return asItCame("its first bytes are not those of a WebM, MP4 or Ogg file");
    if (this.isStopped) throw new MendingStopped();
    const child = this.start(input, output);
    this.child = child;
    try {
      return await this.outcomeOf(child, input, output);
    } finally {
      child.kill("SIGKILL");
      await child.exited;
      this.child = undefined;
    }
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.child?.kill("SIGKILL");
    await this.child?.exited;
  }

  private start({ path, size }: MenderInput, output: string): Child {
    // A little more than what it is watched for, which gives a better reason.
    const cpuSeconds = Math.ceil(this.limits.cpuMs(size) / 1000) + 2;
    const command = ["/bin/sh", "-c", LIMITED, "sh", String(cpuSeconds), ...this.parts.command, "mend", path, output];
    const child = Bun.spawn(command, {
      cwd: dirname(output),
      env: childEnvironment("mend", selfFlags(SMALL)),
      stdin: "pipe",
      stdout: "pipe",
      stderr: "ignore",
    });
    try {
      setPriority(child.pid, PRIORITY);
    } catch {
      // It has ended already.
    }
    return child;
  }

  private async outcomeOf(child: Child, input: MenderInput, output: string): Promise<Mended> {
    const answer = answerOf(child);
    const overstepped = await this.watch(child, input, output);
    if (this.isStopped) throw new MendingStopped();
    if (overstepped !== undefined) return overstepped;
    const line = await answer;
    const size = await sizeOf(output);
    if (!("durationMs" in line)) return asItCame(line.why, line.isOfFile);
    if (size > this.limits.outputBytes(input.size)) return asItCame(tooLarge(size, input), true);
    return { outcome: "mended", durationMs: line.durationMs, size };
  }

  /**
   * Resolves when the process has ended, or oversteps a limit: then with the reason. Time is that of its CPU: on a busy machine a process of its priority
   * waits for long, and a good file must not be given up for that.
   */
  private async watch(child: Child, input: MenderInput, output: string): Promise<Mended | undefined> {
    const { memoryBytes, outputBytes, wallMs } = this.limits;
    const cpuMs = this.limits.cpuMs(input.size);
    const until = performance.now() + wallMs;
    for (;;) {
      const isOver = await Promise.race([
        child.exited.then(() => true),
        Bun.sleep(MEND_WATCH_EVERY_MS).then(() => false),
      ]);
      // Where the system does not show the CPU time of a running process, the limit of the shell has ended it.
      if (isOver) return cpuMsOf(child) > cpuMs ? asItCame(tooLong(cpuMs), true) : undefined;
      if ((await runningCpuMsOf(child.pid)) > cpuMs) return asItCame(tooLong(cpuMs), true);
      if (performance.now() > until) return asItCame(`it was not done after ${wallMs / 1000} s`);
      const memory = await memoryOf(child.pid);
      if (memory > memoryBytes)
        return asItCame(`it took ${mebibytes(memory)} MiB of memory, and may take ${mebibytes(memoryBytes)}`, true);
      const size = await sizeOf(output);
      if (size > outputBytes(input.size)) return asItCame(tooLarge(size, input), true);
    }
  }
}

type Answer = { readonly durationMs: number } | { readonly why: string; readonly isOfFile?: boolean };

/** Never rejects. */
async function answerOf(child: Child): Promise<Answer> {
  const text = await boundedText(child.stdout).catch(() => "");
  const how = `its process ended with ${(await child.exited) ?? child.signalCode} and without a result`;
  try {
    const { durationMs, why, isOfFile } = JSON.parse(text) as Record<string, unknown>;
    if (typeof durationMs === "number" && durationMs >= 0) return { durationMs };
    if (typeof why !== "string") return { why: how };
    // A reason can quote what is in the file.
    return { why: plainLine(why, MEND_REASON_MAX_CHARS) || how, isOfFile: isOfFile === true };
  } catch {
    return { why: how };
  }
}

/** Reads to the end, so that the process does not wait, and keeps the beginning. */
async function boundedText(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of stream)
    if (text.length < MEND_ANSWER_MAX_BYTES)
      text += decoder.decode(chunk, { stream: true }).slice(0, MEND_ANSWER_MAX_BYTES);
  return text;
}

const asItCame = (why: string, isOfFile = false): Mended => ({
  outcome: "as_it_came",
  why,
  ...(isOfFile && { isOfFile }),
});
const tooLarge = (size: number, input: MenderInput): string =>
  `its output has ${size} bytes and more, from ${input.size} bytes`;
const tooLong = (cpuMs: number): string => `it took more than ${cpuMs / 1000} s of CPU time`;
const mebibytes = (bytes: number): number => Math.round(bytes / 1024 / 1024);

/** The CPU time of a process that has ended. */
const cpuMsOf = (child: Child): number => Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000;

/** Clock ticks per second, in which Linux counts CPU time. */
const TICKS_PER_SECOND = 100;

/** 0 where the system does not say it. */
async function runningCpuMsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // Behind the name, which may have spaces in it: the 12th and 13th field are the time of the process and of the system for it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) || 0) + (Number(fields[12]) || 0)) * (1000 / TICKS_PER_SECOND);
}

/** 0 where the system does not say it. */
async function memoryOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return 1024 * Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0);
}

const sizeOf = async (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );
