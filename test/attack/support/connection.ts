/** A TCP connection that sends exactly the given bytes, and keeps what it receives. */
import { connect, type Socket } from "node:net";
import { PATIENCE_MS } from "../../support/wire/wire.ts";

export class RawConnection {
  received = "";
  /** Resolves when the other side has ended the connection, by an end or a reset. */
  readonly ended: Promise<void>;
  isOver = false;
  private readonly watchers = new Set<() => void>();

  private constructor(readonly socket: Socket) {
    this.ended = new Promise((resolve) => {
      const over = (): void => {
        this.isOver = true;
        this.wake();
        resolve();
      };
      socket.on("data", (bytes) => {
        this.received += bytes.toString("latin1");
        this.wake();
      });
      socket.on("end", over);
      socket.on("close", over);
      // A reset counts as an end: an attacker's connection may be reset.
      socket.on("error", over);
    });
  }

  static open(url: string, { halfOpen = false, from = "127.0.0.1" } = {}): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: halfOpen, localAddress: from });
      const connection = new RawConnection(socket);
      socket.once("connect", () => resolve(connection));
      socket.once("error", reject);
    });
  }

  write(bytes: string | Uint8Array): void {
    if (!this.socket.destroyed) this.socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
  }

  /** Half-closes the connection and keeps reading. */
  finish(): void {
    this.socket.end();
  }

  drop(): void {
    this.socket.destroy();
  }

  /** Everything received, as soon as `fits` holds for it or the other side has ended. */
  async hears(fits: (received: string) => boolean, ms = PATIENCE_MS): Promise<string> {
    const deadline = performance.now() + ms;
    while (!fits(this.received) && !this.isOver) {
      const left = deadline - performance.now();
      if (left <= 0)
        throw new Error(`it did not come in time; there is ${JSON.stringify(this.received.slice(0, 500))}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, left);
      this.watchers.add(resolve);
      await promise;
      clearTimeout(timer);
      this.watchers.delete(resolve);
    }
    return this.received;
  }

  /** The status of the first response; 0 if the connection ended without one. */
  async status(ms?: number): Promise<number> {
    const answer = await this.hears((received) => received.includes("\r\n\r\n"), ms);
    return Number(/^HTTP\/1\.[01] (\d{3})/.exec(answer)?.[1] ?? 0);
  }

  private wake(): void {
    for (const watcher of this.watchers) watcher();
  }
}

/** A handshake as text; headers that are undefined are left out. */
export function handshake(
  query: string,
  headers: Readonly<Record<string, string | undefined>> = {},
  requestLine = `GET /v1?${query} HTTP/1.1`,
): string {
  const all: Record<string, string | undefined> = {
    Host: "127.0.0.1",
    Upgrade: "websocket",
    Connection: "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    ...headers,
  };
  const connections = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}\r\n`],
  );
  return `${requestLine}\r\n${connections.join("")}\r\n`;
}
