/** The TypeScript side of native/holder.c: processes that hold connections, each from an address of its own. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../../test/support/temp.ts";
import type { Script } from "../contenders/contender.ts";
import { connectionLine, native, splitLines } from "./loader.ts";

export interface HolderPlan {
  readonly scripts: readonly Script[];
  /** The port of each connection, in turns. */
  readonly ports: readonly number[];
  /** Addresses of loopback that connections come from, in turns (see `sourcesFor`). */
  readonly sources: readonly string[];
  /** How many connect at a time. */
  readonly opening: number;
  /** Lost connections come back, as clients do; default: they fail the run. */
  readonly returns?: boolean;
}

export interface Held {
  /** Connections that have played their script and are open. */
  readonly ready: number;
  /** Connections that were lost, and connects that failed. */
  readonly lost: number;
  readonly failed: number;
  /** How long the order took. */
  readonly seconds: number;
  /** From the first loss until the last connection was ready. */
  readonly backSeconds: number;
}

/** An address has some 28,000 ports to a server. The kernel tries every second one first: when these are in use, each connect looks through all of them. */
const PER_SOURCE_MAX = 10_000;

/** The addresses for the connections of a holder; `holder` counts from 0. */
export const sourcesFor = (holder: number, connections: number): string[] =>
  Array.from({ length: Math.ceil(connections / PER_SOURCE_MAX) }, (_, i) => `127.0.${holder + 16}.${i + 1}`);

export class Holder implements AsyncDisposable {
  private constructor(
    private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">,
    private readonly lines: { read(): Promise<{ readonly value?: string | undefined }> },
  ) {}

  /** Resolves when it has read its plan; it has no connections yet. */
  static async start({ scripts, ports, sources, opening, returns = false }: HolderPlan): Promise<Holder> {
    const folder = tempFolder();
    try {
      const file = join(folder, "plan");
      const orders = [`opening ${opening}`, `returns ${Number(returns)}`];
      // Clients that come back try one port after the other, as through a name with several addresses.
      if (returns) orders.push(...ports.map((port) => `alternative ${port}`));
      const connections = scripts.flatMap((script, i) => [
        `port ${ports[i % ports.length]}`,
        `source ${sources[i % sources.length]}`,
        connectionLine({ script }),
      ]);
      writeFileSync(file, [...orders, ...connections].join("\n"));
      const child = Bun.spawn([native("holder"), file], { stdio: ["pipe", "pipe", "inherit"] });
      const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(splitLines()).getReader();
      const holder = new Holder(child, lines);
      await holder.answer();
      return holder;
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  open = (count: number): Promise<Held> => this.ask(`open ${count}`);
  /** Resolves when all connections that were opened are there again. */
  back = (): Promise<Held> => this.ask("back");
  report = (): Promise<Held> => this.ask("report");
  /** Losses are counted from now on. */
  forget = (): Promise<Held> => this.ask("forget");

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }

  private async ask(order: string): Promise<Held> {
    try {
      this.child.stdin.write(`${order}\n`);
      await this.child.stdin.flush();
    } catch {
      // It has ended: its last line says why.
    }
    return await this.answer();
  }

  /** The holder itself gives up after a minute without progress. */
  private async answer(): Promise<Held> {
    const { value } = await this.lines.read();
    if (value === undefined) throw new Error(`a holder ended with ${await this.child.exited} without a message`);
    const found = JSON.parse(value) as Held & { readonly problem?: string };
    if (found.problem) throw new Error(found.problem);
    return found;
  }
}

/** Several holders that act as one, each with a share of the connections. */
export class Holders implements AsyncDisposable {
  private constructor(private readonly all: readonly Holder[]) {}

  static async start(plans: readonly HolderPlan[]): Promise<Holders> {
    await using starting = new AsyncDisposableStack();
    const all: Holder[] = [];
    for (const plan of plans) all.push(starting.use(await Holder.start(plan)));
    starting.move();
    return new Holders(all);
  }

  /** In total. */
  async open(count: number): Promise<Held> {
    return together(await Promise.all(this.all.map((holder, i) => holder.open(share(count, i, this.all.length)))));
  }

  back = async (): Promise<Held> => together(await Promise.all(this.all.map((holder) => holder.back())));
  report = async (): Promise<Held> => together(await Promise.all(this.all.map((holder) => holder.report())));
  forget = async (): Promise<Held> => together(await Promise.all(this.all.map((holder) => holder.forget())));

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.all.map((holder) => holder[Symbol.asyncDispose]()));
  }
}

const share = (count: number, index: number, holders: number): number =>
  Math.floor((count * (index + 1)) / holders) - Math.floor((count * index) / holders);

const together = (all: readonly Held[]): Held => ({
  ready: all.reduce((sum, one) => sum + one.ready, 0),
  lost: all.reduce((sum, one) => sum + one.lost, 0),
  failed: all.reduce((sum, one) => sum + one.failed, 0),
  seconds: Math.max(...all.map(({ seconds }) => seconds)),
  backSeconds: Math.max(...all.map(({ backSeconds }) => backSeconds)),
});
