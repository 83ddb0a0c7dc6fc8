/** For tests: the sockets and topics of one node. What is written can be read, and the test controls pongs and drains. */
import type { ServerWebSocket, WebSocketHandler } from "bun";
import type { Clock } from "../../base/clock.ts";
import type { SocketData } from "../frames/socket-handlers.ts";
import type { Broadcast, Socket } from "../state/socket.ts";

/** All sockets of a node, and which topics they are on. */
export class FakeServer {
  readonly sockets = new Set<FakeSocket>();

  readonly broadcast: Broadcast = (topic, text, except) => {
    let written = text.length;
    for (const socket of [...this.sockets])
      if (socket !== except && socket.topics.has(topic)) written = Math.min(written, socket.send(text));
    return written;
  };

  /** The number of sockets that are on any topic. */
  get onTopics(): number {
    return [...this.sockets].filter((socket) => socket.topics.size > 0).length;
  }
}

export class FakeSocket implements Socket {
  readonly written: string[] = [];
  readonly topics = new Set<string>();
  readonly pings: string[] = [];
  closed: { readonly code: number; readonly reason: string } | undefined;
  /** How long until a ping is answered; undefined: only when the test calls `pong`. */
  pongAfterMs: number | undefined = 1;
  /** The client does not read: what is written waits until `read`. */
  stalled = false;
  private buffered = 0;

  constructor(
    private readonly server: FakeServer,
    private readonly handlers: WebSocketHandler<SocketData>,
    private readonly clock: Clock,
    /** As in the runtime: a grant before the socket opens, a connection afterwards. */
    public data: SocketData,
  ) {
    server.sockets.add(this);
  }

  // Events of the runtime

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

  /** The client sends a WebSocket ping. */
  clientPing(): void {
    if (!this.closed) this.handlers.ping?.(this.asBun, Buffer.alloc(0));
  }

  /** The client reads all that waits for it; while it is stalled, the next write waits again. */
  read(): void {
    this.buffered = 0;
    if (!this.closed) this.handlers.drain?.(this.asBun);
  }

  /** The client reads some of what waits for it. The runtime does not always report that. */
  readSome(bytes: number): void {
    this.buffered = Math.max(0, this.buffered - bytes);
  }

  private get asBun(): ServerWebSocket<SocketData> {
    return this as unknown as ServerWebSocket<SocketData>;
  }

  // What realtime calls

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

  cork(act: () => void): void {
    act();
  }

  getBufferedAmount(): number {
    return this.buffered;
  }
}
