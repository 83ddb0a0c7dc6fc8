/** A link that can be made to stall, to be slow, or to break: a TCP proxy in front of one target. */
import type { Socket } from "node:net";
import { type Direction, type Link, reset, TcpProxy } from "./tcp-proxy.ts";

export type { Direction } from "./tcp-proxy.ts";

/** Sees all bytes of one direction of one connection, and answers what goes on instead. */
export type Alter = (bytes: Buffer) => Buffer;

export interface WireOptions {
  /** For each connection anew. */
  readonly alter?: Partial<Record<Direction, (link: Link) => Alter>>;
}

const BOTH: readonly Direction[] = ["up", "down"];
/** So much may wait in one direction of a slow or stalled link; then it is the sender who waits, as on a real one. */
const WAITING_MAX_BYTES = 256 * 1024;

export class Wire {
  /** Bytes that came to the other end. */
  readonly bytes: Record<Direction, number> = { up: 0, down: 0 };
  /** Refused while it was cut. */
  refused = 0;
  private readonly lanes = new Set<Lane>();
  private readonly stalled = new Set<Direction>();
  private readonly delays: Record<Direction, number> = { up: 0, down: 0 };
  private isCut = false;
  private proxy: TcpProxy | undefined;

  private constructor(
    private readonly target: number,
    private readonly options: WireOptions,
  ) {}

  static async to(target: number, options: WireOptions = {}): Promise<Wire> {
    const wire = new Wire(target, options);
    wire.proxy = await TcpProxy.listen((client, number, proxy) => wire.take(client, number, proxy));
    return wire;
  }

  get port(): number {
    return this.proxy?.port ?? 0;
  }

  get accepted(): number {
    return this.proxy?.accepted ?? 0;
  }

  /** Connections that are joined at this moment. */
  get open(): number {
    return Math.ceil(this.lanes.size / 2);
  }

  /** No byte passes, and no end; connections stay, new ones are taken and hear nothing. */
  stall(...directions: Direction[]): void {
    for (const direction of directions.length > 0 ? directions : BOTH) this.stalled.add(direction);
    this.refresh();
  }

  /** Everything that waited passes, in order. */
  resume(...directions: Direction[]): void {
    for (const direction of directions.length > 0 ? directions : BOTH) this.stalled.delete(direction);
    this.refresh();
  }

  /** Each byte arrives so much later, in order; 0 = no delay. What is on its way already keeps its time. */
  delay(ms: number, ...directions: Direction[]): void {
    for (const direction of directions.length > 0 ? directions : BOTH) this.delays[direction] = ms;
  }

  /**
   * Resets every connection, and each new one as soon as it comes. The port stays taken, so that nobody else gets it before
   * `mend`; that is why a connect succeeds and then ends, instead of being refused.
   */
  cut(): void {
    this.isCut = true;
    for (const lane of [...this.lanes]) lane.reset();
  }

  /** Undoes `cut`, `stall` and `delay`. */
  mend(): void {
    this.isCut = false;
    this.delay(0);
    this.resume();
  }

  async close(): Promise<void> {
    for (const lane of this.lanes) lane.reset();
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
    const link: Link = { number, client, target };
    this.join(link, "up", client, target);
    this.join(link, "down", target, client);
  }

  private join(link: Link, direction: Direction, from: Socket, to: Socket): void {
    const alter = this.options.alter?.[direction]?.(link);
    const lane: Lane = new Lane(from, to, {
      passed: (bytes) => {
        this.bytes[direction] += bytes;
      },
      alter: alter ?? ((bytes) => bytes),
      delayMs: () => this.delays[direction],
      isStalled: () => this.stalled.has(direction),
      done: () => this.lanes.delete(lane),
    });
    this.lanes.add(lane);
    lane.flow();
  }

  private refresh(): void {
    for (const lane of this.lanes) lane.flow();
  }
}

interface Rules {
  readonly passed: (bytes: number) => void;
  readonly alter: Alter;
  readonly delayMs: () => number;
  readonly isStalled: () => boolean;
  /** Nothing will pass any more. */
  readonly done: () => void;
}

interface Parcel {
  /** An end and a reset wait in line like bytes: on a stalled link nobody hears of them either. */
  readonly what: Buffer | "end" | "reset";
  readonly dueMs: number;
}

/** One direction of one connection. */
class Lane {
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

  /** Passes on what may pass now, and comes back when more may. */
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
