/** An HTTP proxy as some networks have it: it passes no WebSockets on, ends connections that last, or collects what it passes on. */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";

export interface Hostility {
  /** What becomes of an upgrade: the status of a refusal, or no answer at all. It passes if this is absent. */
  upgrades?: 400 | 403 | "hang";
  /** Collects what the service sends for this long, or until it has come to its end. */
  bufferMs?: number | "whole";
  /** Ends each connection this long after it has begun. */
  cutAfterMs?: number;
  /** Ends a connection when the service sends this text, of which nothing passes. */
  cutBefore?: string;
}

export class HostileProxy {
  /** Upgrades that came, and GETs of `/v1/events`. */
  upgrades = 0;
  streams = 0;
  openStreams = 0;
  /** Connections that it has ended. */
  ended = 0;
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;

  private constructor(
    private readonly target: number,
    /** It may be changed at any time. */
    readonly hostility: Hostility,
  ) {
    this.server = createServer((asked, answer) => this.pass(asked, answer));
    this.server.on("upgrade", (asked: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.upgrade(asked, socket, head),
    );
    this.server.on("connection", (socket: Socket) => this.note(socket));
  }

  static async to(target: number, hostility: Hostility): Promise<HostileProxy> {
    const proxy = new HostileProxy(target, hostility);
    await new Promise<void>((resolve) => proxy.server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Ends every connection. */
  cut(): void {
    for (const socket of this.sockets) this.end(socket);
  }

  private end(socket: Socket): void {
    this.ended++;
    socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.close();
    this.cut();
  }

  private note(socket: Socket): void {
    this.sockets.add(socket);
    const { cutAfterMs } = this.hostility;
    const timer = cutAfterMs === undefined ? undefined : setTimeout(() => this.end(socket), cutAfterMs);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(timer);
      this.sockets.delete(socket);
    });
  }

  private pass(asked: IncomingMessage, answer: ServerResponse): void {
    if (asked.method === "GET" && asked.url?.startsWith("/v1/events")) {
      this.streams++;
      this.openStreams++;
      answer.on("close", () => this.openStreams--);
    }
    const { url: path, method, headers } = asked;
    const call = request({ host: "127.0.0.1", port: this.target, path, method, headers }, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.headers);
      const { bufferMs, cutBefore } = this.hostility;
      if (bufferMs === undefined) answer.flushHeaders();
      if (cutBefore !== undefined) return this.passUpTo(cutBefore, answered, answer);
      if (bufferMs === undefined) return void answered.pipe(answer);
      // Nothing passes at once, not even the head.
      const pieces: Buffer[] = [];
      const isWhole = bufferMs === "whole";
      answered.on("data", (piece) => {
        if (isWhole) pieces.push(piece);
        else setTimeout(() => answer.write(piece), bufferMs);
      });
      answered.on("end", () => {
        if (isWhole) answer.end(Buffer.concat(pieces));
        else setTimeout(() => answer.end(), bufferMs);
      });
      answered.on("error", () => answer.destroy());
    });
    call.on("error", () => answer.destroy());
    answer.on("close", () => call.destroy());
    asked.pipe(call);
  }

  private passUpTo(text: string, answered: IncomingMessage, answer: ServerResponse): void {
    answered.on("data", (piece: Buffer) => {
      const at = piece.indexOf(text);
      if (at < 0) return void answer.write(piece);
      const { socket } = answer;
      answered.removeAllListeners("data");
      answer.write(piece.subarray(0, at), () => socket && this.end(socket));
    });
    answered.on("end", () => answer.end());
  }

  private upgrade(asked: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.upgrades++;
    const { upgrades } = this.hostility;
    if (upgrades === "hang") return;
    if (upgrades !== undefined) return void socket.end(`HTTP/1.1 ${upgrades} No\r\nContent-Length: 0\r\n\r\n`);
    const far = connect(this.target, "127.0.0.1", () => {
      const lines = asked.rawHeaders.flatMap((name, at) =>
        at % 2 === 0 ? [`${name}: ${asked.rawHeaders[at + 1]}`] : [],
      );
      far.write(`${asked.method} ${asked.url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
      far.write(head);
      far.pipe(socket);
      socket.pipe(far);
    });
    for (const [one, other] of [
      [socket, far],
      [far, socket],
    ] as const) {
      one.on("error", () => undefined);
      one.on("close", () => other.destroy());
    }
  }
}
