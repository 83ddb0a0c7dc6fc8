/** For tests: sockets and topics of one node. What is written can be read, and pongs and drains come when the test wants them. */
import type { ServerWebSocket, WebSocketHandler } from "bun";
import type { Clock } from "../clock.ts";
import type { SocketData } from "../gateway.ts";
import type { Broadcast, Socket } from "../socket.ts";

/** All sockets of a node, and which topics they are on. */
export class FakeServer {
  readonly sockets = new Set<FakeSocket>();

  readonly broadcast: Broadcast = (topic, text, except) => {
    let written = text.length;
    for (const socket of [...this.sockets])
      if (socket !== except && socket.topics.has(topic)) written = Math.min(written, socket.send(text));
    return written;
  };

  /** How many are on any topic. */
  get onTopics(): number {
    return [...this.sockets].filter((socket) => socket.topics.size > 0).length;
  }
}

export class FakeSocket implements Socket {
  readonly written: string[] = [];
  readonly topics = new Set<string>();
  readonly pings: string[] = [];
  closed: { readonly code: number; readonly reason: string } | undefined;
  /** How long until a ping is answered; undefined: the test does it, or nobody. */
  pongAfterMs: number | undefined = 1;
  /** It does not read: what is written waits until `read`. */
  stalled = false;
  private buffered = 0;

  constructor(
    private readonly server: FakeServer,
    private readonly handlers: WebSocketHandler<SocketData>,
    private readonly clock: Clock,
    /** The runtime's slot: a grant before the socket opens, a peer afterwards. */
    public data: SocketData,
  ) {
    server.sockets.add(this);
  }

  /** What the runtime tells */

  open(): void {
    this.handlers.open?.(this.asBun);
  }

  message(frame: string | Buffer<ArrayBuffer>): void {
    if (!this.closed) void this.handlers.message?.(this.asBun, frame);
  }

  /** The answer to a ping, the last one if none is named. */
  pong(payload = this.pings.at(-1) ?? ""): void {
    if (!this.closed) this.handlers.pong?.(this.asBun, Buffer.from(payload));
  }

  /** A WebSocket ping of the client's. */
  clientPing(): void {
    if (!this.closed) this.handlers.ping?.(this.asBun, Buffer.alloc(0));
  }

  /** The reader takes what waits for it; while it is stalled, the next write waits again. */
  read(): void {
    this.buffered = 0;
    if (!this.closed) this.handlers.drain?.(this.asBun);
  }

  /** The reader takes so many bytes of what waits for it. The runtime does not always say so. */
  readSome(bytes: number): void {
    this.buffered = Math.max(0, this.buffered - bytes);
  }

  private get asBun(): ServerWebSocket<SocketData> {
    return this as unknown as ServerWebSocket<SocketData>;
  }

  /** Socket */

  send(text: string): number {
    if (this.closed) return 0;
    this.written.push(text);
    if (!this.stalled) return text.length;
    this.buffered += text.length;
    return -1;
  }

  publish(topic: string, text: string): number {
    return this.server.broadcast(topic, text, this);
  }

  ping(payload: string): number {
    if (this.closed) return 0;
    this.pings.push(payload);
    if (this.pongAfterMs !== undefined) this.clock.after(this.pongAfterMs, () => this.pong(payload));
    return 1;
  }

  subscribe(topic: string): void {
    if (!this.closed) this.topics.add(topic);
  }

  unsubscribe(topic: string): void {
    this.topics.delete(topic);
  }

  close(code: number, reason: string): void {
    if (this.closed) return;
    this.closed = { code, reason };
    this.topics.clear();
    this.server.sockets.delete(this);
    this.handlers.close?.(this.asBun, code, reason);
  }

  terminate(): void {
    this.close(1006, "");
  }

  getBufferedAmount(): number {
    return this.buffered;
  }
}
