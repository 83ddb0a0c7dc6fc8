/**
 * A TCP proxy for tests: accepts connections on its own port and joins each to a target. What passes in between is decided by
 * network-proxy.ts and round-robin.ts.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** `up` is from the client to the target. */
export type Direction = "up" | "down";

/** One connection and its two sockets; both may be half-closed. */
export interface ProxiedConnection {
  /** From 1, in the order they were accepted. */
  readonly number: number;
  readonly client: Socket;
  readonly target: Socket;
}

/** Resets a connection, as a crashed machine would. */
export function reset(socket: Socket): void {
  if (!socket.destroyed) socket.resetAndDestroy();
}

export class TcpProxy {
  accepted = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  /** The client's bytes are not read until `onClient` resumes it. */
  static async listen(onClient: (client: Socket, number: number, proxy: TcpProxy) => void): Promise<TcpProxy> {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true });
    const proxy = new TcpProxy(server);
    server.on("connection", (client) => {
      proxy.own(client);
      onClient(client, ++proxy.accepted, proxy);
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
    await promise;
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** A connection to a target; calls `failed` if the target is unreachable. */
  dial(port: number, failed: () => void): Socket {
    const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true, noDelay: true });
    socket.pause();
    let isConnected = false;
    socket.once("connect", () => {
      isConnected = true;
    });
    socket.once("error", () => {
      if (!isConnected) failed();
    });
    return this.own(socket);
  }

  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.server.close(() => resolve());
    for (const socket of [...this.sockets]) socket.destroy();
    await promise;
  }

  private own(socket: Socket): Socket {
    this.sockets.add(socket);
    socket.on("close", () => this.sockets.delete(socket));
    // The other side of the link is closed by the "close" event that follows.
    socket.on("error", () => undefined);
    return socket;
  }
}
