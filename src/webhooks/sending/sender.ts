/**
 * Sends requests in a process of its own: the runtime has a fixed number of requests per process, and endpoints that hang would take all of those that
 * the service needs itself. The process is started with the first request, again when it has died, and ends when nothing is sent for a while.
 *
 * What was under way when it died was not judged by the receiver, as far as we know: the result is "lost", and is no attempt.
 */
import type { Subprocess } from "bun";
import { assetPath } from "../../base/assets.ts";
import type { Clock } from "../../base/clock.ts";
import { childEnvironment, selfCommand, selfFlags } from "../../base/self.ts";
import type { GuardRules } from "../../net/guard.ts";
import type { PinnedAnswer, PinnedRequest } from "../../net/pinned.ts";
import { REQUESTS_AT_ONCE_MAX, SENDER_IDLE_MS, SENDER_RESTART_MS, SENDER_WAITING_MAX } from "../limits.ts";
import { linesOf, type Order, type Report, type Setup } from "./protocol.ts";

/** Less memory, for somewhat more time. */
const SMALL = "--smol";

/** The same program as this one: where it is no executable, from its sources. */
const SEND_COMMAND: readonly string[] = [
  ...selfCommand({ flags: ["--no-env-file", SMALL], main: assetPath("src/main.ts") }),
  "send-webhooks",
];

/** What it gets of the environment: certificates that the operator has added to those of the system. */
const INHERITED: readonly string[] = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "TZ"];

export interface Sent {
  readonly answer: PinnedAnswer;
  readonly tookMs: number;
}
/** The process has ended before there was a result. */
export type SendLost = "lost";

interface SenderParts {
  readonly rules: GuardRules;
  readonly clock: Pick<Clock, "monotonicMs" | "after">;
  readonly command?: readonly string[];
  readonly idleMs?: number;
  /** The process has ended by itself. */
  readonly died?: (how: string) => void;
}

type Child = Subprocess<"pipe", "pipe", "ignore">;

interface Pending {
  readonly child: Child;
  readonly resolve: (result: Sent | SendLost) => void;
}

export class Sender {
  private child: Child | undefined;
  private startedMs = Number.NEGATIVE_INFINITY;
  private usedMs = 0;
  private nextId = 1;
  private isStopped = false;
  /** Bound: REQUESTS_AT_ONCE_MAX. */
  private readonly pending = new Map<number, Pending>();
  /** Bound: SENDER_WAITING_MAX. */
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly parts: SenderParts) {}

  /** The id of its process; undefined: none runs. */
  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Requests under way. */
  get size(): number {
    return this.pending.size;
  }

  async send(request: PinnedRequest): Promise<Sent | SendLost> {
    if (this.isStopped || this.waiting.length >= SENDER_WAITING_MAX) return "lost";
    if (this.pending.size >= REQUESTS_AT_ONCE_MAX)
      await new Promise<void>((resolve) => void this.waiting.push(resolve));
    const child = this.isStopped ? undefined : this.running();
    // A process that ends at once would be started without end.
    if (!child) return "lost";
    const { promise, resolve } = Promise.withResolvers<Sent | SendLost>();
    const id = this.nextId++;
    this.pending.set(id, { child, resolve });
    this.usedMs = this.parts.clock.monotonicMs();
    write(child, { id, ...request } satisfies Order);
    return promise;
  }

  /** Gives up what is under way. */
  async stop(): Promise<void> {
    this.isStopped = true;
    const { child } = this;
    child?.kill("SIGKILL");
    await child?.exited;
  }

  /** undefined: it has just died, and is not started again yet. */
  private running(): Child | undefined {
    if (this.child) return this.child;
    const { clock, rules } = this.parts;
    if (clock.monotonicMs() - this.startedMs < SENDER_RESTART_MS) return undefined;
    this.startedMs = clock.monotonicMs();
    const child = Bun.spawn([...(this.parts.command ?? SEND_COMMAND)], {
      env: childEnvironment("send-webhooks", { ...inherited(), ...selfFlags(SMALL) }),
      stdin: "pipe",
      stdout: "pipe",
      stderr: "ignore",
    });
    this.child = child;
    void this.read(child);
    write(child, { rules } satisfies Setup);
    this.endWhenIdle(child);
    return child;
  }

  /** Never rejects. */
  private async read(child: Child): Promise<void> {
    try {
      for await (const line of linesOf(child.stdout)) this.report(JSON.parse(line) as Report);
    } catch {
      // It wrote something else: it is ended, and started again with the next request.
      child.kill("SIGKILL");
    }
    const code = await child.exited;
    const isCurrent = this.child === child;
    if (isCurrent) this.child = undefined;
    for (const [id, one] of this.pending) if (one.child === child) this.finish(id, "lost");
    if (isCurrent && !this.isStopped) this.parts.died?.(String(child.signalCode ?? `exit code ${code}`));
  }

  private report({ id, answer, tookMs }: Report): void {
    this.finish(id, { answer, tookMs });
  }

  private finish(id: number, result: Sent | SendLost): void {
    const one = this.pending.get(id);
    if (!one) return;
    this.pending.delete(id);
    one.resolve(result);
    this.waiting.shift()?.();
  }

  private endWhenIdle(child: Child): void {
    const { clock, idleMs = SENDER_IDLE_MS } = this.parts;
    clock.after(idleMs, () => {
      if (this.child !== child) return;
      if (this.pending.size > 0 || clock.monotonicMs() - this.usedMs < idleMs) return this.endWhenIdle(child);
      this.child = undefined;
      // It may be started again at once.
      this.startedMs = Number.NEGATIVE_INFINITY;
      child.stdin.end();
    });
  }
}

function write(child: Child, message: Order | Setup): void {
  try {
    child.stdin.write(`${JSON.stringify(message)}\n`);
    child.stdin.flush();
  } catch {
    // It has ended; its requests are lost, which `read` says.
  }
}

const inherited = (): Record<string, string> =>
  Object.fromEntries(INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));
