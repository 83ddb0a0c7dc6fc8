/**
 * How long processes of a service let a client wait: connections to each of them ask a question that costs nearly nothing, fifty times a
 * second. The longest wait is the longest stall of an event loop, with up to 20 ms less, and what the machine itself adds.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { connectToken } from "./token.ts";
import { WebSocketLine } from "./websocket.ts";

const ASK_EVERY_MS = 20;
const LIFE_SECONDS = 3600;
/** The system chooses the process of each connection: with this number of tries, all of them are found. */
const TRIES_PER_PROCESS = 25;
const SOURCE = "127.0.2.250";

interface Asker {
  readonly line: WebSocketLine;
  /** Which process it is connected to. */
  readonly process: string;
  askedMs: number | undefined;
  isOver: boolean;
}

export interface Waits {
  readonly longestMs: number;
  readonly p99Ms: number;
  readonly asked: number;
}

/** `processes`: how many there are, on all ports together. */
export class Answers {
  /** Bound: one per process. */
  private readonly askers: Asker[] = [];
  private waits: number[] = [];

  static async connect(ports: readonly number[], secretKey: string, processes: number): Promise<Answers> {
    const answers = new Answers();
    for (let i = 0; i < processes * TRIES_PER_PROCESS && answers.askers.length < processes; i++)
      await answers.add(ports[i % ports.length] ?? 0, secretKey, i);
    if (answers.askers.length === processes) return answers;
    const found = answers.askers.length;
    await answers.leave();
    throw new Error(`connections reached only ${found} of ${processes} processes`);
  }

  /** Asks as long as something else is under way. Processes that end meanwhile owe no answer. */
  async during(work: Promise<unknown>): Promise<Waits> {
    this.waits = [];
    let isOver = false;
    const done = work.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      for (const asker of this.askers) this.ask(asker);
      await sleep(ASK_EVERY_MS);
    }
    await done;
    // What is still waited for counts, as long as it has lasted.
    for (const { askedMs, isOver } of this.askers)
      if (askedMs !== undefined && !isOver) this.waits.push(performance.now() - askedMs);
    const sorted = this.waits.toSorted((one, other) => one - other);
    return {
      longestMs: sorted.at(-1) ?? Number.NaN,
      p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN,
      asked: sorted.length,
    };
  }

  async leave(): Promise<void> {
    await Promise.all(this.askers.map(({ line, isOver }) => (isOver ? undefined : line.leave("reset"))));
  }

  /** A second connection to a process is closed. */
  private async add(port: number, secretKey: string, number: number): Promise<void> {
    const welcomed = Promise.withResolvers<string>();
    // One that is lost before it is awaited fails the connect, too.
    welcomed.promise.catch(() => undefined);
    let asker: Asker | undefined;
    const received = (payload: Buffer): void => {
      const frame = JSON.parse(payload.toString()) as { type: string; connection?: string };
      if (frame.type === "welcome") welcomed.resolve(frame.connection?.split("-")[0] ?? "");
      else if (frame.type === "ack" && asker) this.answered(asker);
    };
    const token = connectToken(secretKey, { peerId: `asker-${number}`, peerMetadata: {}, lifeSeconds: LIFE_SECONDS });
    const target = { host: "127.0.0.1", port, source: SOURCE };
    const ended = (): void => {
      if (asker) asker.isOver = true;
      welcomed.reject(new Error("the server ended a connection that asks"));
    };
    const line = await WebSocketLine.connect(target, `/v1?token=${token}`, received, ended);
    const process = await welcomed.promise;
    if (this.askers.some((one) => one.process === process)) {
      await line.leave("reset");
      return;
    }
    asker = { line, process, askedMs: undefined, isOver: false };
    this.askers.push(asker);
  }

  /** One question at a time: a stall counts once, with its whole length. */
  private ask(asker: Asker): void {
    if (asker.askedMs !== undefined || asker.isOver) return;
    asker.askedMs = performance.now();
    asker.line.send({ type: "unsubscribe", channel: "none", requestId: "a" });
  }

  private answered(asker: Asker): void {
    if (asker.askedMs !== undefined) this.waits.push(performance.now() - asker.askedMs);
    asker.askedMs = undefined;
  }
}
