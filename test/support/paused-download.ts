/** A download whose reader has taken the beginning, and nothing more until the test says so: what comes then was on its way already. */
import { connect, type Socket } from "node:net";

export class PausedDownload {
  private bytes = 0;
  private readonly ended: Promise<void>;

  private constructor(
    private readonly socket: Socket,
    readonly head: string,
  ) {
    socket.on("error", () => undefined);
    this.ended = new Promise((resolve) => socket.once("close", () => resolve()));
  }

  /** Resolves when the response has begun. */
  static begin(url: string, path: string, headers: Readonly<Record<string, string>>): Promise<PausedDownload> {
    const { hostname, port, host } = new URL(url);
    const lines = Object.entries({ Host: host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`),
      );
      socket.once("error", reject);
      socket.once("data", (bytes) => {
        socket.pause();
        socket.off("error", reject);
        resolve(new PausedDownload(socket, bytes.toString("latin1").split("\r\n\r\n")[0] ?? ""));
      });
    });
  }

  /** Reads on, until the connection is cut; resolves with the number of bytes that came. */
  async rest(): Promise<number> {
    this.socket.on("data", (bytes) => {
      this.bytes += bytes.length;
    });
    this.socket.resume();
    await this.ended;
    return this.bytes;
  }

  drop(): void {
    this.socket.destroy();
  }
}
