/** A TCP proxy in front of one target whose connections can be stalled, delayed or cut. */
import type { Socket } from "node:net";
import { type Direction, type ProxiedConnection, reset, TcpProxy } from "./tcp-proxy.ts";

export type { Direction } from "./tcp-proxy.ts";

/** Gets all bytes of one direction of one connection, and returns the bytes to pass on instead. */
export type Alter = (bytes: Buffer) => Buffer;

export interface NetworkProxyOptions {
  /** Called once per connection. */
  readonly alter?: Partial<Record<Direction, (link: ProxiedConnection) => Alter>>;
}

const BOTH: readonly Direction[] = ["up", "down"];
/** The most that may wait in one direction of a slow or stalled link; beyond it the sender has to wait, as on a real link. */
const WAITING_MAX_BYTES = 256 * 1024;

export class NetworkProxy {
  /** Bytes that have reached the other end. */
  readonly bytes: Record<Direction, number> = { up: 0, down: 0 };
  /** Connections refused while the link was cut. */
  refused = 0;
  private readonly pipes = new Set<Pipe>();
  private readonly stalled = new Set<Direction>();
  private readonly delays: Record<Direction, number> = { up: 0, down: 0 };
  private isCut = false;
  private proxy: TcpProxy | undefined;

  private constructor(
    private target: number,
    private readonly options: NetworkProxyOptions,
  ) {}

  static async to(target: number, options: NetworkProxyOptions = {}): Promise<NetworkProxy> {
    const link = new NetworkProxy(target, options);
    link.proxy = await TcpProxy.listen((client, number, proxy) => link.take(client, number, proxy));
    return link;
  }

  get port(): number {
    return this.proxy?.port ?? 0;
  }

  get accepted(): number {
    return this.proxy?.accepted ?? 0;
  }

  /** Connections that are open now. */
  get open(): number {
    return Math.ceil(this.pipes.size / 2);
  }

  /** New connections lead to this port; those that are open stay where they are. */
  lead(target: number): void {
    this.target = target;
  }

  /** Passes neither bytes nor ends; connections stay open, new ones are accepted and receive nothing. */
  stall(...directions: Direction[]): void {
    for (const direction of directions.length > 0 ? directions : BOTH) this.stalled.add(direction);
    this.refresh();
  }

  /** Passes everything that waited, in order. */
  resume(...directions: Direction[]): void {
    for (const direction of directions.length > 0 ? directions : BOTH) this.stalled.delete(direction);
    this.refresh();
  }

  /** Delays each byte by `ms`, in order; 0 = no delay. Bytes already on their way keep their time. */
  delay(ms: number, ...directions: Direction[]): void {
    for (const direction of directions.length > 0 ? directions : BOTH) this.delays[direction] = ms;
  }

  /**
   * Resets every connection, and each new one as soon as it is accepted. The proxy keeps its port, so that no other process takes
   * it before `mend`; that is why a connect succeeds and then ends, instead of being refused.
   */
  cut(): void {
    this.isCut = true;
    for (const pipe of [...this.pipes]) pipe.reset();
  }

  /** Undoes `cut`, `stall` and `delay`. */
  mend(): void {
    this.isCut = false;
    this.delay(0);
    this.resume();
  }

  async close(): Promise<void> {
    for (const pipe of this.pipes) pipe.reset();
    await this.proxy?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private take(client: Socket, number: number, proxy: TcpProxy): void {
    if (this.isCut) {
      this.refused++;
      reset(client);
      return;
    }
    const target = proxy.dial(this.target, () => reset(client));
    const link: ProxiedConnection = { number, client, target };
    this.join(link, "up", client, target);
    this.join(link, "down", target, client);
  }

  private join(link: ProxiedConnection, direction: Direction, from: Socket, to: Socket): void {
    const alter = this.options.alter?.[direction]?.(link);
    const pipe: Pipe = new Pipe(from, to, {
      passed: (bytes) => {
        this.bytes[direction] += bytes;
      },
      alter: alter ?? ((bytes) => bytes),
      delayMs: () => this.delays[direction],
      isStalled: () => this.stalled.has(direction),
      done: () => this.pipes.delete(pipe),
    });
    this.pipes.add(pipe);
    pipe.flow();
  }

  private refresh(): void {
    for (const pipe of this.pipes) pipe.flow();
  }
}

interface Rules {
  readonly passed: (bytes: number) => void;
  readonly alter: Alter;
  readonly delayMs: () => number;
  readonly isStalled: () => boolean;
  /** Nothing more will pass. */
  readonly done: () => void;
}

interface Parcel {
  /** An end and a reset wait in the queue like bytes: on a stalled link they do not arrive either. */
  readonly what: Buffer | "end" | "reset";
  readonly dueMs: number;
}

/** One direction of one connection. */
class Pipe {
  private readonly waiting: Parcel[] = [];
  private waitingBytes = 0;
  private timer: Timer | undefined;

  constructor(
    private readonly from: Socket,
    private readonly to: Socket,
    private readonly rules: Rules,
  ) {
    from.on("data", (bytes: Buffer) => this.enter(bytes));
    from.on("end", () => this.enter("end"));
    from.once("close", () => {
      if (!from.readableEnded) this.enter("reset");
    });
    to.on("drain", () => this.flow());
    from.pause();
  }

  reset(): void {
    this.finish();
    reset(this.from);
    reset(this.to);
  }

  /** Passes on what is due, and sets a timer for the rest. */
  flow(): void {
    clearTimeout(this.timer);
    if (this.rules.isStalled()) {
      this.from.pause();
      return;
    }
    for (;;) {
      const next = this.waiting[0];
      if (!next || (this.to.writableNeedDrain && !this.to.destroyed)) break;
      const leftMs = next.dueMs - performance.now();
      if (leftMs > 0) {
        this.timer = setTimeout(() => this.flow(), leftMs);
        break;
      }
      this.waiting.shift();
      this.pass(next.what);
    }
    if (this.waitingBytes < WAITING_MAX_BYTES && !this.to.writableNeedDrain) this.from.resume();
    else this.from.pause();
  }

  private enter(what: Parcel["what"]): void {
    this.waiting.push({ what, dueMs: performance.now() + this.rules.delayMs() });
    if (typeof what !== "string") this.waitingBytes += what.length;
    this.flow();
  }

  private pass(what: Parcel["what"]): void {
    if (typeof what === "string") {
      this.finish();
      if (what === "end") this.to.end();
      else reset(this.to);
      return;
    }
    this.waitingBytes -= what.length;
    if (this.to.destroyed) return;
    this.rules.passed(what.length);
    const altered = this.rules.alter(what);
    if (altered.length > 0) this.to.write(altered);
  }

  private finish(): void {
    clearTimeout(this.timer);
    this.waiting.length = 0;
    this.rules.done();
  }
}
