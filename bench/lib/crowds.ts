/** The benchmark's side of its crowds: commands go to all of them, each with its share of the peers. */
import { join } from "node:path";
import type { Target } from "./peer.ts";

const CROWD = join(import.meta.dir, "crowd.ts");
const START_MS = 20_000;

/** Peers `from` to `to` (exclusive) of a group, `channelSize` per channel, `inFlight` of them at a time. */
export interface Part {
  readonly group: string;
  readonly from: number;
  readonly to: number;
  readonly channelSize: number;
  readonly inFlight: number;
  /** Additional bytes in each peer's metadata. */
  readonly metadataBytes?: number;
}

type Task =
  | { readonly do: "connect" | "join" | "leave" | "report" | "cycle connections" }
  /** All peers into one channel; those that are not `connected` yet connect first. */
  | { readonly do: "storm"; readonly connected: boolean; readonly withinMs: number }
  | { readonly do: "cycle subscriptions"; readonly cycles: number };

export type Wish = Task & { readonly part: Part };
export type Order = Wish & { readonly target: Target };

export interface Report {
  readonly startedMs: number;
  readonly lastFrameMs: number;
  readonly peers: number;
  /** Peers that know exactly the others of their channel. */
  readonly content: number;
  /** Text frames received by all peers of the group so far, and their bytes. */
  readonly frames: number;
  readonly bytes: number;
  /** A description of one peer's problem. */
  readonly problem: string | undefined;
}

export type Answer = { readonly ready: true } | { readonly done: Report } | { readonly failed: string };

/** A server and its key; each crowd connects from a different address. */
export interface Host {
  readonly url: URL;
  readonly secretKey: string;
}

class Crowd implements AsyncDisposable {
  private answered = Promise.withResolvers<Answer>();
  private readonly child;

  constructor(
    private readonly number: number,
    prefix: readonly string[],
  ) {
    this.child = Bun.spawn([...prefix, process.execPath, "--no-env-file", CROWD], {
      stdio: ["ignore", "inherit", "inherit"],
      ipc: (message: Answer) => this.answered.resolve(message),
      onExit: (_child, code) => this.answered.resolve({ failed: `a crowd ended with code ${code}` }),
    });
  }

  started(): Promise<Answer> {
    return this.within(START_MS);
  }

  async ask(wish: Wish, host: Host, withinMs: number): Promise<Report> {
    this.answered = Promise.withResolvers();
    const { hostname, port } = host.url;
    const source = `127.0.1.${this.number + 1}`;
    const target: Target = { host: hostname, port: Number(port), source, secretKey: host.secretKey };
    this.child.send({ ...wish, target } satisfies Order);
    const answer = await this.within(withinMs);
    if ("done" in answer) return answer.done;
    throw new Error(`${wish.do}: ${"failed" in answer ? answer.failed : "unexpected reply"}`);
  }

  private async within(ms: number): Promise<Answer> {
    const late = Promise.withResolvers<Answer>();
    const timer = setTimeout(() => late.resolve({ failed: `not done within ${ms / 1000} s` }), ms);
    try {
      return await Promise.race([this.answered.promise, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }
}

export class Crowds implements AsyncDisposable {
  private constructor(private readonly crowds: readonly Crowd[]) {}

  /** `prefix` precedes their command, for example to pin them to a core. */
  static async start(count: number, prefix: readonly string[] = []): Promise<Crowds> {
    const crowds = new Crowds(Array.from({ length: count }, (_, i) => new Crowd(i, prefix)));
    const answers = await Promise.all(crowds.crowds.map((crowd) => crowd.started()));
    if (answers.every((answer) => "ready" in answer)) return crowds;
    await crowds[Symbol.asyncDispose]();
    throw new Error("a crowd did not start");
  }

  /** Each crowd does its share, with several hosts each at its own; returns the reports of all of them as one. */
  async ask(wish: Wish, host: Host | readonly [Host, ...Host[]], withinMs: number): Promise<Report> {
    const hosts = "url" in host ? ([host] as const) : host;
    const { from, to } = wish.part;
    const share = Math.ceil((to - from) / this.crowds.length);
    const reports = await Promise.all(
      this.crowds.map((crowd, i) => {
        const start = Math.min(to, from + i * share);
        const part = { ...wish.part, from: start, to: Math.min(to, start + share) };
        return crowd.ask({ ...wish, part }, hosts[i % hosts.length] ?? hosts[0], withinMs);
      }),
    );
    return reports.reduce(together);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.crowds.map((crowd) => crowd[Symbol.asyncDispose]()));
  }
}

const together = (a: Report, b: Report): Report => ({
  startedMs: Math.min(a.startedMs, b.startedMs),
  lastFrameMs: Math.max(a.lastFrameMs, b.lastFrameMs),
  peers: a.peers + b.peers,
  content: a.content + b.content,
  frames: a.frames + b.frames,
  bytes: a.bytes + b.bytes,
  problem: a.problem ?? b.problem,
});
