/** A target for the proxies' own tests: echoes everything, and keeps what it received. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export class Echo {
  received = "";
  connections = 0;
  resets = 0;
  private constructor(
    readonly port: number,
    private readonly stop: () => void,
  ) {}

  /** `greeting`: sent to every client, to distinguish several targets. */
  static async start(greeting = ""): Promise<Echo> {
    const sockets = new Set<Socket>();
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      echo.connections++;
      sockets.add(socket);
      if (greeting) socket.write(greeting);
      socket.on("data", (bytes) => {
        echo.received += bytes.toString("latin1");
        socket.write(bytes);
      });
      socket.on("end", () => socket.end());
      socket.on("error", () => echo.resets++);
      socket.on("close", () => sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const echo = new Echo((server.address() as AddressInfo).port, () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    return echo;
  }

  [Symbol.dispose](): void {
    this.stop();
  }
}

/** The client: what it received, and how the connection ended. */
export class Caller {
  received = "";
  ending: "open" | "end" | "reset" = "open";
  private readonly watchers = new Set<() => void>();

  private constructor(readonly socket: Socket) {
    const wake = (): void => {
      for (const watcher of this.watchers) watcher();
    };
    const ends = (how: "end" | "reset"): void => {
      if (this.ending === "open") this.ending = how;
      wake();
    };
    socket.on("data", (bytes) => {
      this.received += bytes.toString("latin1");
      wake();
    });
    socket.on("end", () => ends("end"));
    socket.on("error", () => ends("reset"));
  }

  static async call(port: number): Promise<Caller> {
    const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
    const caller = new Caller(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    return caller;
  }

  say(text: string): this {
    this.socket.write(text);
    return this;
  }

  async until(fits: (caller: this) => boolean): Promise<void> {
    while (!fits(this)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.watchers.add(resolve);
      await promise;
      this.watchers.delete(resolve);
    }
  }

  hears(text: string): Promise<void> {
    return this.until(({ received }) => received.includes(text));
  }

  ended(): Promise<void> {
    return this.until(({ ending }) => ending !== "open");
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}
