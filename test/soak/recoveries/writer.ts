/** A connection that publishes at a steady rate to channels that it does not subscribe to. */
import type { Checker } from "../../../src/verify/checker.ts";
import { publishFrame, readFrame } from "../../../src/verify/frames.ts";
import { idOf } from "../../../src/verify/retries.ts";
import type { Figures } from "./reader.ts";

export interface WriterContext {
  readonly checker: Checker;
  readonly figures: Figures;
  readonly addressFor: (writer: Writer) => string;
}

const RETRY_MS = 100;

export class Writer {
  tries = 0;
  private socket: WebSocket | undefined;
  private connection: number | undefined;
  private readonly pending = new Map<string, { readonly channel: string; readonly number: number }>();
  private requests = 0;
  private isStopped = false;

  constructor(
    readonly index: number,
    readonly peer: string,
    private readonly context: WriterContext,
  ) {}

  get isIdle(): boolean {
    return this.pending.size === 0;
  }

  connect(): void {
    if (this.isStopped) return;
    const socket = new WebSocket(this.context.addressFor(this));
    this.socket = socket;
    socket.onmessage = ({ data }) => this.handle(String(data));
    socket.onclose = ({ code }) => this.ended(code);
    socket.onerror = () => undefined;
  }

  publish(channel: string): void {
    if (this.connection === undefined) return;
    const number = this.context.checker.publishing(this.connection, channel);
    const mark = { connection: this.connection, number };
    const requestId = String(++this.requests);
    this.pending.set(requestId, { channel, number });
    this.socket?.send(publishFrame(channel, mark, requestId, { id: idOf(mark) }));
  }

  close(): void {
    this.isStopped = true;
    this.socket?.terminate();
  }

  private handle(text: string): void {
    const { checker, figures } = this.context;
    const frame = readFrame(text);
    if (frame.type === "welcome") this.connection = checker.opened(this.peer);
    if (this.connection === undefined || (frame.type !== "ack" && frame.type !== "error")) return;
    const publish = this.pending.get(frame.requestId);
    if (!publish) return;
    this.pending.delete(frame.requestId);
    if (frame.type === "ack") {
      figures.published++;
      const placed = frame.pos === undefined ? undefined : { pos: frame.pos, isDuplicate: frame.isDuplicate };
      checker.published(this.connection, publish.channel, publish.number, "acked", placed);
    } else {
      figures.count(`publish ${frame.code}`);
      const outcome = frame.code === "backend_error" ? "unknown" : "refused";
      checker.published(this.connection, publish.channel, publish.number, outcome);
    }
  }

  private ended(code: number): void {
    if (this.connection !== undefined) this.context.checker.closed(this.connection);
    this.context.figures.count(`close ${code}`);
    this.socket = this.connection = undefined;
    this.pending.clear();
    this.tries++;
    if (!this.isStopped) setTimeout(() => this.connect(), RETRY_MS);
  }
}
